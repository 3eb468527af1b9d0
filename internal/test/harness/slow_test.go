package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// waitUntilServed advances time until Ingress "shop/web" has a rule for all paths, three registered targets and a
// hostname in its status. It returns how long that took, and fails the test after limit.
func (r *Harness) waitUntilServed(limit time.Duration) time.Duration {
	begun := time.Now()
	for time.Since(begun) < limit {
		r.advanceTime(5 * time.Second)
		if hasRule(r.State(), "/*") && len(statusHostnames(r, "web")) > 0 && len(r.activeTargetHealth()) == 3 {
			return time.Since(begun)
		}
	}
	r.T.Fatalf("not served after %s: %v, warnings %v", limit, r.Emulator.Calls().Counts(), warningsByObject(r))
	return limit
}

// TestIngressIsServedWithSlowAWS checks that an Ingress is served, and its edit takes effect, if each call to AWS takes
// up to 50 seconds.
func TestIngressIsServedWithSlowAWS(t *testing.T) {
	t.Parallel()
	for _, slow := range []time.Duration{11 * time.Second, 25 * time.Second, 50 * time.Second} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Workers: 3})
				r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: slow} })
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				took := r.waitUntilServed(30 * slow)
				t.Logf("BENCH served after %s where each of %d calls takes %s", took, r.Emulator.Calls().Total(), slow)
				r.Apply(webIngress("", "/=web", "/new=web"))
				begun := time.Now()
				for !hasRule(r.State(), "/new") {
					if r.advanceTime(5 * time.Second); time.Since(begun) > 10*slow {
						t.Fatalf("the edit has not taken effect after %s", time.Since(begun))
					}
				}
				if got := unansweredEvents(r, "web"); len(got) > 1 {
					t.Errorf("slow calls are reported as unanswered more than once: %q", got)
				}
			})
		})
	}
}

// documentedRate returns the refill rate per second of the token bucket that AWS documents for an operation, or 1 if
// there is none.
func documentedRate(service, operation string) float64 {
	for _, b := range fault.DocumentedLimits(1).Buckets {
		for _, pattern := range b.Operations {
			if b.Service == service && !b.Shared && !b.UnfilteredOnly && (pattern == "*" || pattern == operation ||
				strings.HasSuffix(pattern, "*") && strings.HasPrefix(operation, strings.TrimSuffix(pattern, "*"))) {
				return b.Refill
			}
		}
	}
	return 1
}

// TestIngressIsServedWithOneTenthOfTheRateLimit checks that an Ingress is served although AWS throttles nine of ten
// calls of each operation. This takes at most three times as long as the necessary calls at a tenth of the documented
// rates.
func TestIngressIsServedWithOneTenthOfTheRateLimit(t *testing.T) {
	t.Parallel()
	serve := func(t *testing.T, admits func(fault.Call) bool) (took time.Duration, calls map[string]int) {
		synctest.Test(t, func(t *testing.T) {
			r := shopWith(t, Options{Workers: 3})
			r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action { return fault.Action{Throttle: !admits(c), Latency: latency} })
			r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
			took, calls = r.waitUntilServed(time.Hour), r.Emulator.Calls().Counts()
		})
		return took, calls
	}
	_, needed := serve(t, func(fault.Call) bool { return true })
	var floor time.Duration
	for op, n := range needed {
		service, operation, _ := strings.Cut(op, ":")
		floor += time.Duration(float64(n) * 10 / documentedRate(service, operation) * float64(time.Second))
	}
	took, calls := serve(t, func(c fault.Call) bool { return c.Number%10 == 0 })
	t.Logf("BENCH served after %s with a tenth of the calls admitted, floor %s: %v", took, floor, calls)
	if took > 3*floor {
		t.Errorf("served after %s, more than three times %s", took, floor)
	}
}

// TestHangingServiceDelaysNoOtherStack checks that an edit of an Ingress takes effect within 40 seconds although AWS
// WAF does not answer the calls for twelve other load balancers. These calls must not occupy all workers.
func TestHangingServiceDelaysNoOtherStack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Workers: 3})
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		r.waitUntilServed(5 * time.Minute)
		r.Emulator.Faults().Add(fault.Rule{Service: "waf*", Action: fault.Action{Hang: true}})
		for i := range 12 {
			doc := webIngress(ingressAnnotations("wafv2-acl-arn", r.Seeded.WebACL), "/=web")
			r.Apply(strings.Replace(doc, "name: web\n", fmt.Sprintf("name: hangs%d\n", i), 1))
		}
		for n := range 20 {
			r.advanceTime(time.Minute)
			path := fmt.Sprintf("/new%d", n)
			r.Apply(webIngress("", "/=web", path+"=web"))
			begun := time.Now()
			for !hasRule(r.State(), path) {
				if r.advanceTime(time.Second); time.Since(begun) > 40*time.Second {
					t.Fatalf("edit %d has not taken effect after %s", n, time.Since(begun))
				}
			}
		}
	})
}
