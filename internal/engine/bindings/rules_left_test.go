package bindings_test

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// untaggedHarness returns a harness with a binding whose rule is in the security group "sg-node", which does not have the
// tag of the cluster. The process that added the rule has ended. AWS also has security groups of other clusters with rules
// that have the same description.
func untaggedHarness(t *testing.T) *harness {
	w := ipHarness(t, p1)
	ruleFrom := func(source string) model.IngressRule {
		return model.IngressRule{Protocol: "tcp", From: 80, To: 80, Group: source, Description: network.SharedRuleDescription}
	}
	own := ruleFrom("sg-b")
	own.Description = "of an administrator"
	w.aws.untaggedSecurityGroups = map[string]bool{"sg-node": true, "sg-other": true, "sg-both": true}
	w.aws.rules["sg-other"] = []model.IngressRule{ruleFrom("sg-c")}
	w.aws.rules["sg-both"] = []model.IngressRule{ruleFrom("sg-c"), own}
	w.run("a")
	w.restart()
	w.aws.ruleSearches = 0
	return w
}

// checkOtherRules checks that the rules of other clusters remain, and which rules are in "sg-node".
func checkOtherRules(t *testing.T, w *harness, what, node string) {
	t.Helper()
	checkEqual(t, what+": rules", node, w.aws.rulesOf("sg-node"))
	checkEqual(t, what+": rules of others", "tcp 80-80 sg-c|tcp 80-80 sg-b, tcp 80-80 sg-c", w.aws.rulesOf("sg-other")+"|"+w.aws.rulesOf("sg-both"))
}

// TestDeletedBindingLeavesNoRuleOfAnEarlierProcess checks that the rule of a binding is revoked if no run in this process has
// determined it, and that rules from other sources remain.
func TestDeletedBindingLeavesNoRuleOfAnEarlierProcess(t *testing.T) {
	for name, before := range map[string]func(*harness){
		"no run before":           func(*harness) {},
		"a run without endpoints": func(w *harness) { w.run("a") },
	} {
		t.Run(name, func(t *testing.T) {
			w := untaggedHarness(t)
			w.putObjects(podDocs("web"))
			before(w)
			checkOtherRules(t, w, "before", "tcp 8080-8080 sg-b")
			w.deleteObject(cluster.KindBinding, "a")
			w.run("a")
			checkOtherRules(t, w, "after", "")
			if w.binding("a") != nil {
				t.Error("the binding is still there")
			}
			if err := w.reconciler.SyncRules(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkOtherRules(t, w, "after a comparison of all security groups", "")
			checkEqual(t, "searches", 1, w.aws.ruleSearches)
			checkEqual(t, "security groups that are still read by their ID", 0, len(w.aws.securityGroupIDs))
		})
	}
}

// TestRulesAreSearchedOnlyIfTheyMayBeUnknown checks that there is no search if the binding has had rules in this process, or
// names no security group.
func TestRulesAreSearchedOnlyIfTheyMayBeUnknown(t *testing.T) {
	w := untaggedHarness(t)
	w.putObjects(podDocs("web", p1, p2)) // without a change, the first run after a start does nothing
	w.run("a")
	w.putObjects(podDocs("web"))
	w.run("a")
	w.deleteObject(cluster.KindBinding, "a")
	w.run("a")
	checkOtherRules(t, w, "a binding that has had rules", "")
	w.putObjects(strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "securityGroup: {groupID: sg-b}", "ipBlock: {cidr: 10.0.0.0/8}"))
	w.run("b")
	w.restart()
	w.deleteObject(cluster.KindBinding, "b")
	w.run("b")
	checkEqual(t, "searches", 0, w.aws.ruleSearches)
}

// TestFailedSearchIsRepeated checks that a binding is not deleted before the search for its rules has succeeded.
func TestFailedSearchIsRepeated(t *testing.T) {
	w := untaggedHarness(t)
	w.putObjects(podDocs("web"))
	w.aws.refusedItems["search"] = failure.Throttled
	w.deleteObject(cluster.KindBinding, "a")
	if _, err := w.reconciler.Reconcile(t.Context(), keyOf("a")); err == nil || w.binding("a") == nil {
		t.Fatalf("error %v, binding %v", err, w.binding("a"))
	}
	delete(w.aws.refusedItems, "search")
	w.run("a")
	checkOtherRules(t, w, "after", "")
	if w.binding("a") != nil {
		t.Error("the binding is still there")
	}
}
