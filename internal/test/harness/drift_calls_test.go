package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// admittedReadsPerSecond is the number of read calls per second that the documented rate limits of AWS permit.
const admittedReadsPerSecond = 50

// TestDriftCalls checks that drift detection does not exceed its share of AWS's rate limits in an hour without
// changes, for different numbers of load balancers.
func TestDriftCalls(t *testing.T) {
	t.Parallel()
	for _, n := range []int{measurementSize(100, 10), measurementSize(1000, 40)} {
		t.Run(fmt.Sprint(n, " load balancers"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := harnessWithLoadBalancers(t, n, Options{Workers: 3, Drift: true})
				r.advanceTime(30 * time.Minute)
				r.Emulator.Calls().Reset()
				r.advanceTime(time.Hour)
				logCalls(t, r, "an hour", n)
				counts, total := r.Emulator.Calls().Counts(), r.Emulator.Calls().Total()
				cycle := func(operation string, of int) time.Duration {
					for op, calls := range counts {
						if strings.HasSuffix(op, operation) {
							return time.Duration(float64(time.Hour) * float64(of) / float64(max(calls, 1))).Round(time.Second)
						}
					}
					return 0
				}
				t.Logf("BENCH looking for drift of %d load balancers with 2 target groups each: %d calls an hour, %.2f%% of the reading calls that AWS admits (goal: at most 5%%); listeners every %s, rules every %s, targets every %s",
					n, total, 100*float64(total)/(3600*admittedReadsPerSecond), cycle("DescribeListeners", n), cycle("DescribeRules", n), cycle("DescribeTargetHealth", 2*n))
				if most := int(3600 * admittedReadsPerSecond * drift.CallShare); total > most {
					t.Errorf("%d calls, the share is %d", total, most)
				}
				if m := r.Emulator.Calls().CountMutating(); m > 0 {
					t.Errorf("%d calls change something", m)
				}
				if reported := driftEvents(r, "DriftRepaired"); len(reported) > 0 {
					t.Errorf("drift is reported without a change by another user: %q", reported)
				}
			})
		})
	}
}

// TestOwnChangesAreNoDrift checks that the controller does not report its changes as drift if AWS shows them late and
// Ingresses, attributes, tags and pods change often.
func TestOwnChangesAreNoDrift(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSettledShop(t, Options{Drift: true, Workers: 3, Checkpoints: true})
		// Some responses are ten seconds old, because AWS is eventually consistent.
		r.Emulator.Faults().RetainHistory(time.Minute)
		r.Emulator.Faults().Add(fault.Rule{Service: "elasticloadbalancing", Operation: "DescribeTargetHealth", Action: fault.Action{Stale: 10 * time.Second}})
		r.Emulator.Faults().Add(fault.Rule{Service: "elasticloadbalancing", Operation: "DescribeTags", Action: fault.Action{Stale: 10 * time.Second}})
		paths := []string{"/=web", "/api=api", "/v2=api", "/v3=web", "/v4=api"}
		for i := range seeds.Amount(40, 80) {
			doc := fullIngress(r, paths[:1+i%len(paths)]...)
			doc = strings.Replace(doc, "timeout_seconds=77", fmt.Sprintf("timeout_seconds=%d", 60+i%7), 1)
			doc = strings.Replace(doc, "timeout_seconds=33", fmt.Sprintf("timeout_seconds=%d", 30+i%5), 1)
			doc = strings.Replace(doc, "team=shop", fmt.Sprintf("team=shop%d", i%3), 1)
			r.Apply(doc, readyPods("web", podAddresses[i%2:2+i%2]...))
			r.advanceTime(time.Duration(1+i*i%180) * time.Second)
		}
		r.advanceTime(time.Hour)
		if reported := driftEvents(r, "DriftRepaired"); len(reported) > 0 {
			t.Errorf("drift is reported without a change by another user: %q", reported)
		}
	})
}
