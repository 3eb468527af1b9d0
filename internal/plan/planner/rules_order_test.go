package planner_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

// comesAfter reports whether a step is carried out only after the step first.
func comesAfter(p plan.Plan, s plan.Step, first plan.StepID) bool {
	var reaches func(ids []plan.StepID) bool
	reaches = func(ids []plan.StepID) bool {
		return slices.ContainsFunc(ids, func(id plan.StepID) bool { return id == first || reaches(p.Joins[id]) })
	}
	return reaches(s.After)
}

// TestRuleChangesAfterTheNewRuleHasMovedInFront checks that a rule whose action changes is modified only after a new rule
// has moved before it, and not at all if AWS refuses the move. Until then the rule answers the requests of the new rule.
func TestRuleChangesAfterTheNewRuleHasMovedInFront(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/x/*", "g1"), forwardRule("/z", "g2"))), observed.Stack{Facts: testFacts()})
	off := forwardRule("/x/*", "g1")
	off.Actions = []model.Action{model.FixedResponse{Status: "410", ContentType: "text/plain"}}
	p := planUntilNoQuestions(t, withFinalizers(stackWithRules(forwardRule("/x/y", "g2"), off, forwardRule("/z", "g2"))), &have, func(string) string { return "healthy" })
	var order plan.StepID
	found := false
	for _, s := range p.Steps {
		switch s.Do.(type) {
		case plan.SetPriorities:
			order = s.ID
		case plan.ModifyRule:
			found = true
			if order == "" || !comesAfter(p, s, order) {
				t.Errorf("%s does not need %q in\n%s", s.ID, order, p.Text())
			}
		}
	}
	if !found {
		t.Errorf("no rule changes:\n%s", p.Text())
	}
}

// checkAnswerStays checks that a request has the same answer after each step of a plan as before.
func checkAnswerStays(t *testing.T, have observed.Stack, p plan.Plan, q request) {
	t.Helper()
	before, steps := outcome(have, q), stepsInOrder(p)
	for i := range steps {
		if now := outcome(plantest.Simulate(have, p.KnownIDs, steps[:i+1]), q); now != before {
			t.Fatalf("%q answers after %s, before %q\n%s", now, steps[i].ID, before, p.Text())
		}
	}
}

// TestDeletedRuleDoesNotPassStagedRule checks that a rule that is deleted does not move before a rule that an earlier run
// has staged and that answers some of its requests, although both wait for the targets of a second edit.
func TestDeletedRuleDoesNotPassStagedRule(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/a/x", "g1"), forwardRule("/a/*", "g2"), forwardRule("/*", "g1"))), observed.Stack{Facts: testFacts()})
	staged := have.LoadBalancers[0].Listeners[0].Rules
	staged[1].Priority, staged[2].Priority = 40000, 40001
	have.Facts.Health = map[string]observed.Health{}
	p := planUntilNoQuestions(t, withFinalizers(stackWithRules(forwardRule("/a/*", "g3"))), &have, func(arn string) string {
		return map[bool]string{true: "initial", false: "healthy"}[strings.Contains(arn, "g3")]
	})
	checkAnswerStays(t, have, p, request{80, "a.example.com", "/a/y"})
}

// TestDefaultActionStaysWhileRuleCannotBeCreated checks that, while AWS refuses to reorder rules, the default action still
// answers requests for a new rule that has no free priority, and no requests of a rule that is not desired any more.
func TestDefaultActionStaysWhileRuleCannotBeCreated(t *testing.T) {
	first := withFinalizers(stackWithRules(forwardRule("/a/*", "g1"), forwardRule("/gone", "g1"), forwardRule("/keep", "g2")))
	first.LoadBalancer.Listeners[0].Default = forwardRule("", "g2").Actions
	have := converge(t, first, observed.Stack{Facts: testFacts()})
	second := withFinalizers(stackWithRules(forwardRule("/*/x", "g1"), forwardRule("/a/*", "g1"), forwardRule("/keep", "g2")))
	second.LoadBalancer.Listeners[0].OrderHeld = model.HeldRefused
	p := planUntilNoQuestions(t, second, &have, func(string) string { return "healthy" })
	after := plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
	for _, path := range []string{"/z/x", "/gone"} {
		q := request{80, "a.example.com", path}
		if was, is := outcome(have, q), outcome(after, q); was != is {
			t.Errorf("%s is answered by %q, before by %q\n%s", path, is, was, p.Text())
		}
	}
}

// TestRetainedDeletedRuleMovesNoOtherRule checks that a rule keeps its priority before the staged rules although a deleted
// rule stays behind one of them.
func TestRetainedDeletedRuleMovesNoOtherRule(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/a/*", "g2"), forwardRule("/*/y", "g3"), forwardRule("/a/b", "g1"))), observed.Stack{Facts: testFacts()})
	live := have.LoadBalancers[0].Listeners[0].Rules
	live[0].Priority, live[1].Priority, live[2].Priority = 40000, 40001, 3
	slices.SortFunc(live, func(a, b observed.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	have.Facts.Health = map[string]observed.Health{}
	p := planUntilNoQuestions(t, withFinalizers(stackWithRules(forwardRule("/a/*", "g2"), forwardRule("/q/y", "g1"), forwardRule("/a/b", "g1"))), &have, func(arn string) string {
		return map[bool]string{true: "initial", false: "healthy"}[strings.Contains(arn, "g2")]
	})
	if p.Empty() {
		t.Fatal("nothing is planned")
	}
	checkAnswerStays(t, have, p, request{80, "a.example.com", "/a/b"})
}

// TestKeptDefaultActionGivesWay checks that, while AWS refuses to reorder rules, a default action that stays for the rule of
// its member does not stay if the default action of another namespace is desired.
func TestKeptDefaultActionGivesWay(t *testing.T) {
	first := withFinalizers(stackWithRules(forwardRule("/a/*", "g1"), forwardRule("/gone", "g1"), forwardRule("/keep", "g2")))
	first.LoadBalancer.Listeners[0].Default = forwardRule("", "g2").Actions
	have := converge(t, first, observed.Stack{Facts: testFacts()})
	second := withFinalizers(stackWithRules(forwardRule("/*/x", "g1"), forwardRule("/a/*", "g1"), forwardRule("/keep", "g2")))
	l := &second.LoadBalancer.Listeners[0]
	l.OrderHeld, l.Default, l.DefaultOf.Object = model.HeldRefused, forwardRule("", "g1").Actions, finding.Ref{Kind: "Ingress", Namespace: "other", Name: "web"}
	p := planUntilNoQuestions(t, second, &have, func(string) string { return "healthy" })
	request := request{80, "a.example.com", "/none"}
	was, is := outcome(have, request), outcome(plantest.Simulate(have, p.KnownIDs, stepsInOrder(p)), request)
	if was != "target-group/g2" || is != "target-group/g1" {
		t.Errorf("answered by %q, before by %q\n%s", is, was, p.Text())
	}
}
