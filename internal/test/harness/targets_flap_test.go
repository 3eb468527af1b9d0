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

// AWS may show a change of targets late. Targets follow pods that become ready and unready at once all the same, and
// nobody is said to have changed what was written from here.
func TestTargetsFollowPodsWithPropagationDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := driftShop(t, Options{Drift: true, Workers: 3})
		r.Apply(fullIngress(r, "/=web"), pods("web", podAddresses[:2]...))
		r.during(10 * time.Minute)
		arn := forwardsOn(80, "shop.example.com")(r)[0]
		r.Emulator.Faults().KeepHistory(time.Minute)
		var now atomic.Bool // of what this test reads itself
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
			r.Apply(pods("web", want...))
			r.during(time.Duration(6+i%5*7) * time.Second)
			now.Store(true)
			got := strings.Split(registered(t, r, Account, arn), " ")
			now.Store(false)
			if !slices.Equal(got, want) {
				t.Errorf("change %d: targets %s, want %s", i, got, want)
			}
		}
		r.during(time.Hour)
		if reported := driftEvents(r, "DriftRepaired"); len(reported) > 0 {
			t.Errorf("drift without a change by others: %q", reported)
		}
	})
}
