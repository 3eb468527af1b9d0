package enis

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
)

// TestRangesOfOldVPCsAreRemoved checks that old ranges of VPCs do not stay in the cache.
func TestRangesOfOldVPCsAreRemoved(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1700000000, 0))
	p := &ENIs{Client: &sdk.Client{Config: sdk.Config{Clock: clock}}}
	p.Reset()
	for n := range 10 {
		p.cacheVPCRanges(fmt.Sprint("vpc-", n), vpcRanges{invisible: true, readAt: clock.Now()})
		clock.SetTime(clock.Now().Add(durations.CacheRetention))
	}
	if len(p.ranges) > 1 {
		t.Errorf("the ranges of %d VPCs are cached", len(p.ranges))
	}
}
