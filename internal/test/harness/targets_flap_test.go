package harness

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// TestTargetsFollowPodsWithPropagationDelay checks that targets are registered and deregistered within seconds,
// although AWS shows changes of targets with a delay of 30 seconds. The changes of the controller are not reported as
// drift.
func TestTargetsFollowPodsWithPropagationDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSettledShop(t, Options{Drift: true, Workers: 3})
		r.Apply(fullIngress(r, "/=web"), readyPods("web", podAddresses[:2]...))
		r.advanceTime(10 * time.Minute)
		arn := targetGroupsForHost(80, "shop.example.com")(r)[0]
		r.Emulator.Faults().RetainHistory(time.Minute)
		var now atomic.Bool // whether the test reads targets, without delay
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			if c.Operation == "DescribeTargetHealth" && !now.Load() {
				return fault.Action{Stale: 30 * time.Second}
			}
			return fault.Action{}
		})
		for i := range 20 {
			want := podAddresses[:2]
			if i%2 == 0 {
				want = podAddresses[:1]
			}
			r.Apply(readyPods("web", want...))
			r.advanceTime(time.Duration(6+i%5*7) * time.Second)
			now.Store(true)
			got := strings.Split(activeTargets(t, r, Account, arn), " ")
			now.Store(false)
			if !slices.Equal(got, want) {
				t.Errorf("change %d: targets %s, want %s", i, got, want)
			}
		}
		r.advanceTime(time.Hour)
		if reported := driftEvents(r, "DriftRepaired"); len(reported) > 0 {
			t.Errorf("drift reported without a change outside the controller: %q", reported)
		}
	})
}
