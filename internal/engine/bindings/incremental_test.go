package bindings_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestMemoryDoesNotAffectTheResult changes nodes, pods and Services at random. It checks that a process that runs all the
// time and a process that restarts before each run produce the same targets, rules and checkpoints. There is one exception:
// while AWS does not return an address, the restarted process revokes no rule, but the other process revokes the rules that
// it knows not to be needed.
func TestMemoryDoesNotAffectTheResult(t *testing.T) {
	strict, loose := 0, 0
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 12))
		old, fresh := newHarnessWithManyBindings(t), newHarnessWithManyBindings(t)
		for _, w := range []*harness{old, fresh} {
			w.conf.UnmergedRules = true // an unneeded rule must not be merged with a needed one
			w.restart()
		}
		for step := range 25 {
			event := randomEvent(r)
			for _, w := range []*harness{old, fresh} {
				event(w)
				w.now = w.now.Add(3 * time.Second)
			}
			if r.IntN(3) == 0 {
				continue // make more changes before the next run
			}
			order := r.Perm(6)
			for _, w := range []*harness{old, fresh} {
				for range 2 {
					for _, i := range order {
						if w == fresh {
							w.restart()
						}
						_, _ = w.reconciler.Reconcile(t.Context(), keyOf(fmt.Sprintf("b%d", i))) // a failed run is retried
					}
					w.now = w.now.Add(10 * time.Second) // after this time, missing objects and addresses count as absent
				}
			}
			a, b := stateOf(old), stateOf(fresh)
			if a != b {
				t.Fatalf("seed %d, step %d: by memory\n%s\nwithout\n%s", seed, step, a, b)
			}
			if strings.Contains(b, "FailedNetworkReconcile") {
				loose++
				for _, group := range []string{"sg-node", "sg-other"} {
					for _, rule := range old.aws.rules[group] {
						if !slices.Contains(fresh.aws.rules[group], rule) {
							t.Fatalf("seed %d, step %d: %v in %s stays by memory alone", seed, step, rule, group)
						}
					}
				}
				continue
			}
			strict++
			if a, b := rulesState(old), rulesState(fresh); a != b {
				t.Fatalf("seed %d, step %d: by memory\n%s\nwithout\n%s", seed, step, a, b)
			}
		}
	}
	if strict < 50 || loose < 50 {
		t.Errorf("rules were the same in %d steps, and might stay in %d", strict, loose)
	}
}

func rulesState(w *harness) string {
	return w.aws.rulesOf("sg-node") + "\n" + w.aws.rulesOf("sg-other") + "\n"
}

// newHarnessWithManyBindings returns a test harness with six bindings: four of nodes with different ports and node
// selectors, and two of pods.
func newHarnessWithManyBindings(t *testing.T) *harness {
	w := newHarness(t)
	clear(w.aws.targetsByGroup)
	for i := range 6 {
		name, service := fmt.Sprintf("b%d", i), fmt.Sprintf("s%d", i)
		w.aws.targetsByGroup["arn/"+name] = nil
		typ, kind := "instance", "NodePort"
		if i > 3 {
			typ, kind = "ip", "ClusterIP"
		}
		doc := bindingDoc(name, service, typ, 8000+i)
		if i == 2 {
			doc += "  nodeSelector: {matchLabels: {pool: a}}\n"
		}
		w.putObjects(withNodePort(serviceDoc(service, kind), 30080+i), doc, podDocs(service, p1))
	}
	return w
}

func withNodePort(service string, port int) string {
	return strings.ReplaceAll(service, "30080", fmt.Sprint(port))
}

// randomEvent returns a random change of a node, a Service or pods. The change can be made in several harnesses.
func randomEvent(r *rand.Rand) func(w *harness) {
	i := r.IntN(8)
	name, instance := fmt.Sprintf("m%d", i), fmt.Sprintf("i-m%d", i)
	pool, ready := []string{"a", "b"}[r.IntN(2)], []string{"True", "True", "False"}[r.IntN(3)]
	service, port := fmt.Sprintf("s%d", r.IntN(4)), 30080+r.IntN(5)
	groups := []network.ENISecurityGroup{{ID: "sg-node"}}
	if i == 7 {
		groups = []network.ENISecurityGroup{{ID: "sg-other"}}
	}
	pods := randomPods(r)
	switch r.IntN(6) {
	case 0:
		return func(w *harness) {
			if err := w.store.Delete(cluster.Ref{Kind: cluster.KindNode, Name: name}); err != nil && !strings.Contains(err.Error(), "not found") {
				w.t.Fatal(err)
			}
		}
	case 1:
		return func(w *harness) { w.putObjects(withNodePort(serviceDoc(service, "NodePort"), port)) }
	case 2:
		return func(w *harness) { w.putObjects(podDocs("s4", pods...)) }
	}
	return func(w *harness) {
		w.aws.rules["sg-other"] = slices.Clip(w.aws.rules["sg-other"])
		w.aws.enis[instance] = []network.ENI{{ID: "eni-" + name, SecurityGroups: groups}}
		w.putObjects(fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata: {name: %s, creationTimestamp: "2026-01-01T00:00:00Z", labels: {pool: %s}}
spec: {providerID: aws:///a/%s}
status: {conditions: [{type: Ready, status: %q}]}
`, name, pool, instance, ready))
	}
}

// stateOf returns the targets, Ready conditions and checkpoints of all bindings.
func stateOf(w *harness) string {
	var b strings.Builder
	for i := range 6 {
		name := fmt.Sprintf("b%d", i)
		fmt.Fprintln(&b, name, w.aws.targetsOf("arn/"+name), w.readyStatus(name), w.binding(name).Annotations[targets.CheckpointAnnotation])
	}
	return b.String()
}
