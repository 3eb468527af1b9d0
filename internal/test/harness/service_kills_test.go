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

// serviceEdits are versions of a Service, each of which differs from the previous one.
var serviceEdits = []string{
	exposedService("mail", "", "{name: a, port: 80, targetPort: 8080, nodePort: 30080}, {name: b, port: 53, targetPort: 8080, nodePort: 30053, protocol: UDP}"),
	exposedService("mail", ipTargets, "{name: a, port: 80, targetPort: 8080, nodePort: 30080}, {name: b, port: 53, targetPort: 8080, nodePort: 30053}"),
	exposedService("mail", ipTargets+`, service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing`, "{name: a, port: 80, targetPort: 8080, nodePort: 30080}"),
}

// TestServicesSurviveKillAtAnyCall checks that the next process completes the work for a Service when a process dies
// at any mutating call or does not receive its response.
func TestServicesSurviveKillAtAnyCall(t *testing.T) {
	t.Parallel()
	var want []string
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		want = mailLifecycle(t, func(c fault.Call) fault.Action { countMutation(c, &calls); return fault.Action{} }, nil)
	})
	if calls < 30 {
		t.Fatalf("the lifecycle of the Service takes %d calls only", calls)
	}
	interruptEach(t, want, calls, seeds.Step(8), mailLifecycle)
}

// mailLifecycle returns the state after all edits of a Service, and checks that nothing remains after its deletion. A
// hook sees all calls.
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

// interruptEach repeats a lifecycle for each mutating call, or for every step-th one. The process dies at the call or
// its response is lost. The result must be the same as without an interruption.
func interruptEach(t *testing.T, want []string, calls, step int, live func(*testing.T, func(fault.Call) fault.Action, func(*Harness)) []string) {
	first := map[string]int{"killed": 1, "the answer lost": 1 + step/2} // offsets the two ways, so that together they cover twice as many calls
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

// countMutation counts mutating calls, and reports whether c is one.
func countMutation(c fault.Call, n *int) bool {
	if c.Mutating {
		*n++
	}
	return c.Mutating
}

// settleWithRestarts advances time, and starts another process if one dies.
func (r *Harness) settleWithRestarts(d time.Duration) {
	r.Settle(d)
	if r.IsDead() {
		r.Start()
		r.Settle(d)
	}
}
