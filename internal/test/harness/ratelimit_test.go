package harness

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// latency is the duration of an AWS call in tests of rate limits.
const latency = 30 * time.Millisecond

// creationResult is the result of createLoadBalancers.
type creationResult struct {
	took             time.Duration // time until the last successful mutating call
	calls, throttled int
}

// createLoadBalancers creates n load balancers at once. limits are the rate limits of the emulated AWS.
func createLoadBalancers(t *testing.T, n int, limits fault.Limits, opt Options) (c creationResult) {
	synctest.Test(t, func(t *testing.T) {
		r := New(t, opt)
		r.Emulator.Store().Lock()
		r.Emulator.Store().Config.Quotas["application-load-balancers"] = 1000
		r.Emulator.Store().Unlock()
		r.Emulator.Faults().SetLimits(limits)
		r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: latency} })
		applyManyIngresses(t, r, n)
		start := time.Now()
		r.runFor(20 * time.Minute)
		var last time.Time
		for _, e := range r.Emulator.Calls().Entries() {
			if e.Fault == "throttled" {
				c.throttled++
			}
			if e.Mutating && e.Code == "" {
				last = e.Time
			}
		}
		if got := len(r.Emulator.Store().Partition(Account, Region).ELB.LoadBalancers); got != n {
			t.Errorf("%d load balancers, want %d", got, n)
		}
		c.took, c.calls = last.Sub(start), r.Emulator.Calls().Total()
	})
	return c
}

// throttledShare returns the share of all calls that AWS throttled, from 0 to 1.
func (c creationResult) throttledShare() float64 { return float64(c.throttled) / float64(c.calls) }

// TestRateLimits compares the time to create load balancers with the minimum that AWS's documented token buckets allow.
// In one case, another client uses half of each bucket. With a bucket of 10 that is refilled at 0.2 per second, n load
// balancers take at least (n-10)/0.2 seconds.
func TestRateLimits(t *testing.T) {
	const n = 30
	for _, c := range []struct {
		name            string
		other           float64
		goal, tolerable float64 // ratios of the minimum time to the measured time; the test fails below tolerable
		throttled       float64 // maximum share of throttled calls
	}{
		{"AWS's buckets", 0, 0.95, 0.9, 0.01},
		{"what another client leaves of AWS's buckets", 0.5, 0.9, 0.85, 1},
	} {
		for _, workers := range []int{0, 3} {
			limits := fault.DocumentedLimits(1)
			limits.OtherClient = c.other
			made := createLoadBalancers(t, n, limits, Options{Workers: workers})
			left := 1 - c.other
			bound := time.Duration((n - 10*left) / (0.2 * left) * float64(time.Second))
			ratio := bound.Seconds() / made.took.Seconds()
			t.Logf("BENCH creating %d with %d workers: %v, %s alone impose %v: ratio %.3f, goal %g; %d of %d calls throttled, %.1f%%, goal %g%%",
				n, max(workers, 1), made.took.Round(time.Millisecond), c.name, bound, ratio, c.goal, made.throttled, made.calls, 100*made.throttledShare(), 100*c.throttled)
			if ratio < c.tolerable {
				t.Errorf("creation is too slow: ratio %.3f", ratio)
			}
			if made.throttledShare() > c.throttled {
				t.Errorf("%.1f%% of the calls are throttled", 100*made.throttledShare())
			}
		}
	}
}

// TestRateLimitsBeyondTheDocumentedLimits checks that creation takes at most 1.5 times as long as with a client without
// rate limiter if AWS admits more calls than documented.
func TestRateLimitsBeyondTheDocumentedLimits(t *testing.T) {
	for _, n := range slices.Compact([]int{50, measurementSize(150, 50)}) { // 150 is more than the token bucket holds at ten times AWS's limits
		for _, limits := range []fault.Limits{fault.DocumentedLimits(10), {}} {
			name := "no limits"
			if limits.Name != "" {
				name = "ten times AWS's buckets"
			}
			unlimited := createLoadBalancers(t, n, limits, Options{Workers: 3, Cloud: func(c *cloud.Config) { c.TokenBuckets = []ratelimit.TokenBucket{} }})
			made := createLoadBalancers(t, n, limits, Options{Workers: 3})
			ratio := made.took.Seconds() / unlimited.took.Seconds()
			t.Logf("BENCH creating %d at %s: %v, a client without limits of its own %v: ratio %.2f, goal 1.5; %d of %d calls throttled, %.1f%%, goal 1%% (%.1f%%)",
				n, name, made.took.Round(time.Millisecond), unlimited.took.Round(time.Millisecond), ratio, made.throttled, made.calls, 100*made.throttledShare(), 100*unlimited.throttledShare())
			if ratio > 1.5 {
				t.Errorf("creation takes %.2f times as long", ratio)
			}
			if made.throttledShare() > 0.01 {
				t.Errorf("%.1f%% of the calls are throttled", 100*made.throttledShare())
			}
		}
	}
}
