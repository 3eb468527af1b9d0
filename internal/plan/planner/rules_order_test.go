package planner_test

import (
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
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
