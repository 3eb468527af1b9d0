package bindings_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// randomPods returns pods with random states. The pod with a number always has the same name and address.
func randomPods(r *rand.Rand) []pod {
	var out []pod
	for i := range 6 {
		if r.IntN(3) == 0 {
			continue
		}
		p := pod{name: fmt.Sprintf("p%d", i), ip: fmt.Sprintf("10.0.3.%d", i), node: []string{"n1", "n2"}[i%2]}
		switch r.IntN(5) {
		case 0:
			p.notReady = true
		case 1:
			p.hasUnreadyContainers = true
		case 2:
			p.terminating = true
		}
		if r.IntN(2) == 0 {
			p.gate = "a"
		}
		out = append(out, p)
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// desiredTargets returns the targets of the pods if all nodes are ready.
func desiredTargets(pods []pod) string {
	var out []string
	for _, p := range pods {
		if !p.hasUnreadyContainers && !p.terminating {
			out = append(out, p.ip+":8080")
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func randomHarness(t *testing.T) *harness {
	w := ipHarness(t)
	for id, enis := range w.aws.enis {
		for i := range 6 {
			enis[0].Addresses = append(enis[0].Addresses, fmt.Sprintf("10.0.3.%d", i))
		}
		w.aws.enis[id] = enis
	}
	return w
}

// TestRunsConvergeAndThenMakeNoCalls checks that after any change of the pods, one run registers and deregisters targets
// until they match the desired state. After all targets are healthy and a run has read that, the next run makes no call.
func TestRunsConvergeAndThenMakeNoCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		w := randomHarness(t)
		for range 4 {
			pods := randomPods(r)
			w.putObjects(podDocs("web", pods...))
			w.run("a")
			checkEqual(t, "targets", desiredTargets(pods), w.aws.targetsOf("arn/a"))
			w.aws.setAllStates("arn/a", "healthy")
			w.run("a")
			w.aws.takeLog()
			if out := w.run("a"); !out.Deferred {
				t.Fatalf("not at rest: %+v with %+v", out, pods)
			}
			checkEqual(t, "calls at rest", "", w.aws.takeLog())
			if r.IntN(2) == 0 {
				w.restart()
			}
		}
	}
}

// TestRunsSurviveFailedCalls checks that failed calls and restarts between runs do not affect the final state.
func TestRunsSurviveFailedCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		w := randomHarness(t)
		w.aws.targetsByGroup["arn/a"] = []*observed.Target{{ID: "10.0.9.9", Port: 8080, State: "healthy"}}
		pods := randomPods(r)
		w.putObjects(podDocs("web", pods...))
		class := []failure.Class{failure.Throttled, failure.Unknown, failure.Denied, failure.Invalid}[r.IntN(4)]
		for _, p := range pods {
			if r.IntN(3) == 0 {
				w.aws.refusedItems[p.ip] = class
			}
		}
		if r.IntN(3) == 0 {
			w.aws.refusedItems["sg-b"] = class
		}
		for range 3 {
			_, _ = w.reconciler.Reconcile(t.Context(), keyOf("a")) // a failed run is retried
			if r.IntN(2) == 0 {
				w.restart()
			}
		}
		clear(w.aws.refusedItems)
		w.now = w.now.Add(time.Minute)
		w.run("a")
		checkEqual(t, "targets", desiredTargets(pods), w.aws.targetsOf("arn/a"))
		rules := "tcp 8080-8080 sg-b"
		if desiredTargets(pods) == "" {
			rules = ""
		}
		checkEqual(t, "rules", rules, w.aws.rulesOf("sg-node"))
	}
}

// TestOrderOfBindingsMakesNoDifference checks that the result does not depend on the order in which bindings run.
func TestOrderOfBindingsMakesNoDifference(t *testing.T) {
	end := func(order ...string) string {
		w := newHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("np", "NodePort"), podDocs("web", p1, p2),
			bindingDoc("a", "web", "ip", 8080), bindingDoc("b", "np", "instance", 30080))
		for _, name := range order {
			w.run(name)
		}
		return w.aws.targetsOf("arn/a") + "|" + w.aws.targetsOf("arn/b") + "|" + w.aws.rulesOf("sg-node")
	}
	checkEqual(t, "end", end("a", "b"), end("b", "a"))
	checkEqual(t, "end", end("a", "b"), end("b", "a", "b", "a"))
}
