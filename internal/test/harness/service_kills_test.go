package harness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// serviceEdits are the versions of Service "shop/mail" that mailLifecycle applies one after the other.
var serviceEdits = []string{
	nlbService("mail", "", "{name: a, port: 80, targetPort: 8080, nodePort: 30080}, {name: b, port: 53, targetPort: 8080, nodePort: 30053, protocol: UDP}"),
	nlbService("mail", ipTargets, "{name: a, port: 80, targetPort: 8080, nodePort: 30080}, {name: b, port: 53, targetPort: 8080, nodePort: 30053}"),
	nlbService("mail", ipTargets+`, service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing`, "{name: a, port: 80, targetPort: 8080, nodePort: 30080}"),
}

// TestServicesSurviveKillAtAnyCall checks that the result for a Service is the same if the process is killed at a
// mutating call, or does not receive the response. Each run interrupts one call.
func TestServicesSurviveKillAtAnyCall(t *testing.T) {
	t.Parallel()
	var want []string
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		want = mailLifecycle(t, func(c fault.Call) fault.Action { countMutation(c, &calls); return fault.Action{} }, nil)
	})
	if calls < 30 {
		t.Fatalf("the lifecycle of the Service makes only %d mutating calls", calls)
	}
	interruptEach(t, want, calls, seeds.Step(8), mailLifecycle)
}

// mailLifecycle applies serviceEdits and then deletes the Service. It fails the test if the deletion leaves resources
// in AWS. It returns State before the deletion, and the number of bindings after it. hook is the fault hook for the
// calls to AWS. with, if not nil, is called with the new harness.
func mailLifecycle(t *testing.T, hook func(fault.Call) fault.Action, with func(*Harness)) []string {
	t.Helper()
	r := shopWith(t, Options{Checkpoints: true})
	if with != nil {
		with(r)
	}
	r.Apply(readyPods("mail", podAddresses[:3]...))
	before := r.State()
	r.Emulator.Faults().SetHook(hook)
	for _, doc := range serviceEdits {
		r.Apply(doc)
		r.settleWithRestarts(time.Hour)
	}
	out := r.State()
	r.deleteObject(cluster.KindService, "shop", "mail")
	r.settleWithRestarts(time.Hour)
	if d := cmp.Diff(before, r.State()); d != "" {
		t.Fatalf("left behind (-before +after):\n%s", d)
	}
	return append(out, fmt.Sprint(len(r.Store.All(cluster.KindBinding)), " bindings"))
}

// interruptEach runs a lifecycle again and again. In each run, the process is killed at one mutating call, or the
// response to that call is lost. calls is the number of mutating calls without an interruption, and step is the
// distance between two interrupted calls. live runs the lifecycle with a fault hook and returns its result, which must
// equal want.
func interruptEach(t *testing.T, want []string, calls, step int, live func(*testing.T, func(fault.Call) fault.Action, func(*Harness)) []string) {
	first := map[string]int{"killed": 1, "the answer lost": 1 + step/2} // the first call; it differs, so that both ways together cover more calls
	for name, does := range map[string]func(*Harness) fault.Action{
		"killed":          func(r *Harness) fault.Action { r.Kill(); return fault.Action{} },
		"the answer lost": func(*Harness) fault.Action { return fault.Action{Lose: true} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := first[name]; at <= calls; at += step {
				synctest.Test(t, func(t *testing.T) {
					n, reported := 0, ""
					var r *Harness
					got := live(t, func(c fault.Call) fault.Action {
						if !countMutation(c, &n) || n != at {
							return fault.Action{}
						}
						reported = c.Operation
						return does(r)
					}, func(made *Harness) { r = made })
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("%s at call %d, %s (-without +with):\n%s", name, at, reported, d)
					}
				})
			}
		})
	}
}

// countMutation increases n if c is a mutating call, and reports whether it is one.
func countMutation(c fault.Call, n *int) bool {
	if c.Mutating {
		*n++
	}
	return c.Mutating
}

// settleWithRestarts settles the controller for the duration d. If the controller is killed meanwhile, it starts
// another process and settles it.
func (r *Harness) settleWithRestarts(d time.Duration) {
	r.Settle(d)
	if r.WasKilled() {
		r.Start()
		r.Settle(d)
	}
}
