package bindings_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// TestCachedRulesMatchAFreshComputation changes bindings, their pods and the addresses that AWS returns at random. After
// each binding has run, a new process computes the rules of all bindings. It must not add a rule. It may remove rules only
// in two cases: if an address was unknown, because no rule is removed then, or if the process was restarted, because only a
// computation for all bindings removes rules from before the restart.
func TestCachedRulesMatchAFreshComputation(t *testing.T) {
	loose, strict := 0, 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := rulesHarness(t)
		lost := false
		for step := range 8 {
			lost = w.makeRandomChanges(r) || lost
			for _, i := range r.Perm(3) {
				_, _ = w.reconciler.Reconcile(t.Context(), keyOf(ruleBindings[i])) // a failed run is retried below
			}
			for range 3 { // more runs, for example to finish a deletion
				w.now = w.now.Add(2 * time.Minute)
				for _, i := range r.Perm(3) {
					w.run(ruleBindings[i])
				}
			}
			w.aws.takeLog()
			if err := bindings.New(w.conf).SyncRules(t.Context()); err != nil {
				t.Fatal(err)
			}
			left := w.aws.takeLog()
			switch {
			case strings.Contains(left, "authorize") || !lost && left != "":
				t.Fatalf("seed %d, step %d: a computation for all bindings leads to: %s", seed, step, left)
			case lost:
				loose++
			default:
				strict++
			}
			lost = !w.hasAllENIAddresses()
		}
	}
	if loose < 20 || strict < 20 {
		t.Errorf("rules might stay in %d steps, and not in %d", loose, strict)
	}
}

// TestRulesOfAllBindingsAreComputedOnce checks for how many instances the ENIs are read. Only the first run after a start
// reads the ENIs for the pods of other bindings.
func TestRulesOfAllBindingsAreComputedOnce(t *testing.T) {
	w := rulesHarness(t)
	pods := func(name string, k int, numbers ...int) {
		var all []pod
		for _, i := range numbers {
			all = append(all, pod{name: fmt.Sprintf("%s-%d", name, i), ip: ruleAddress(k, i), node: []string{"n1", "n2"}[i%2]})
		}
		w.putObjects(podDocs("s"+name, all...))
	}
	asked := func(name string) int {
		w.aws.largestENIQuery = 0
		w.run(name)
		return w.aws.largestENIQuery
	}
	pods("a", 0, 0)
	pods("b", 1, 1)
	checkEqual(t, "nodes at the first run", 2, asked("a"))
	checkEqual(t, "nodes at the first run of another", 1, asked("b"))
	w.setAddressesVisible(0, false)
	pods("a", 0, 0, 2)
	out := w.run("a")
	checkEqual(t, "retry while addresses are not known", 15*time.Second, out.RetryAfter)
	if len(out.Findings) != 2 {
		t.Errorf("findings %v", out.Findings)
	}
	checkEqual(t, "nodes while addresses are not known", 1, asked("a"))
	w.setAddressesVisible(0, true)
	checkEqual(t, "retry once they are known", false, w.run("a").RetryAfter == 15*time.Second)
	w.putObjects(bindingDoc("b", "sb", "ip", 9090))
	checkEqual(t, "nodes after another port", 1, asked("b"))
	checkEqual(t, "rules", "tcp 8080-8080 sg-b|tcp 9090-9090 sg-b", w.aws.rulesOf("sg-node")+"|"+w.aws.rulesOf("sg-other"))
}

var ruleBindings = []string{"a", "b", "c"}

// rulesHarness returns a test harness with three bindings and two nodes, each in another security group.
func rulesHarness(t *testing.T) *harness {
	w := newHarness(t)
	// A merged port range from before a change could cover a rule that the next process would authorize.
	w.conf.UnmergedRules = true
	w.restart()
	w.aws.targetsByGroup["arn/c"] = nil
	w.aws.rules["sg-other"] = nil
	for i, name := range ruleBindings {
		w.putObjects(serviceDoc("s"+name, "ClusterIP"), bindingDoc(name, "s"+name, "ip", 8080+i))
	}
	for n := range 2 {
		w.setAddressesVisible(n, true)
	}
	return w
}

// setAddressesVisible sets whether AWS returns the addresses of the pods of a node (0 or 1).
func (w *harness) setAddressesVisible(node int, on bool) {
	eni := network.ENI{ID: fmt.Sprintf("eni-%d", node), SecurityGroups: []network.ENISecurityGroup{{ID: []string{"sg-node", "sg-other"}[node]}}}
	for k := range ruleBindings {
		for i := range 6 {
			if on && i%2 == node {
				eni.Addresses = append(eni.Addresses, ruleAddress(k, i))
			}
		}
	}
	w.aws.enis[fmt.Sprintf("i-%d", node+1)] = []network.ENI{eni}
}

func (w *harness) hasAllENIAddresses() bool {
	return len(w.aws.enis["i-1"][0].Addresses) > 0 && len(w.aws.enis["i-2"][0].Addresses) > 0
}

func ruleAddress(binding, pod int) string { return fmt.Sprintf("10.0.%d.%d", 3+binding, pod) }

// makeRandomChanges makes one to three random changes, and reports whether a rule that no binding needs may remain
// afterwards.
func (w *harness) makeRandomChanges(r *rand.Rand) bool {
	lost := !w.hasAllENIAddresses()
	for range 1 + r.IntN(3) {
		k := r.IntN(3)
		name := ruleBindings[k]
		switch r.IntN(8) {
		case 0: // another port
			if w.binding(name) == nil || w.binding(name).DeletionTimestamp == nil {
				w.putObjects(bindingDoc(name, "s"+name, "ip", 8080+r.IntN(4)))
			}
		case 1:
			if b := w.binding(name); b != nil && b.DeletionTimestamp == nil {
				w.deleteObject(cluster.KindBinding, name)
			}
		case 2:
			w.restart()
			lost = true
		case 3, 4:
			w.setAddressesVisible(r.IntN(2), r.IntN(3) > 0)
		default:
			pods := randomPods(r)
			for i := range pods {
				pods[i].gate, pods[i].name = "", name+pods[i].name
				pods[i].ip = ruleAddress(k, int(pods[i].name[len(pods[i].name)-1]-'0'))
			}
			w.putObjects(podDocs("s"+name, pods...))
		}
		lost = lost || !w.hasAllENIAddresses()
	}
	return lost
}
