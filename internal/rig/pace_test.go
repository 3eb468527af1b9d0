package rig

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// latency is how long AWS takes for a call in the pace tests.
const latency = 30 * time.Millisecond

// TestPace measures, in virtual time and with AWS's documented token buckets, how close creation
// comes to what the buckets alone impose. Creating n load balancers at 0.2 a second with a bucket
// of 10 takes (n-10)/0.2 seconds.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 30
		r := New(t, Options{})
		crowd(t, r, n)
		r.Emulator.Faults().SetLimits(fault.Documented(1))
		throttled := 0
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action { return fault.Action{Latency: latency} })
		start := time.Now()
		if failed := r.Settle(10 * time.Minute); len(failed) > 0 {
			t.Fatal(failed)
		}
		var last time.Time
		for _, e := range r.Emulator.Calls().Entries() {
			if e.Fault == "throttled" {
				throttled++
			}
			if e.Mutating {
				last = e.Time
			}
		}
		total := r.Emulator.Calls().Total()
		bound := time.Duration(float64(n-10)/0.2) * time.Second
		took := last.Sub(start)
		t.Logf("BENCH creating %d: %v, AWS's buckets alone impose %v: ratio %.3f, goal 0.95 (0.83); %d of %d calls throttled, %.1f%%, goal 1%% (8%%)",
			n, took.Round(time.Millisecond), bound, bound.Seconds()/took.Seconds(), throttled, total, 100*float64(throttled)/float64(total))
		if ratio := bound.Seconds() / took.Seconds(); ratio < 0.9 {
			t.Errorf("creation is paced badly: %.3f", ratio)
		}
		if throttled*100 > total {
			t.Errorf("more than one call in a hundred is throttled")
		}
	})
}
