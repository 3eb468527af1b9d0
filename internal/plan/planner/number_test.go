package planner_test

import (
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// TestIndexTagsChangeAfterNewRulesAreCreated checks that existing rules whose index changes get a tag with the new index only
// after the new rule before them was created. If AWS refuses the new rule, no calls are wasted on tags. A change of a user
// tag does not wait for the new rule.
func TestIndexTagsChangeAfterNewRulesAreCreated(t *testing.T) {
	t.Parallel()
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/a", "g1"), forwardRule("/b", "g1"))), observed.Stack{Facts: testFacts()})
	desired := withFinalizers(stackWithRules(forwardRule("/new", "g1"), forwardRule("/a", "g1"), forwardRule("/b", "g1")))
	desired.LoadBalancer.Listeners[0].Rules[2].Tags = map[string]string{"team": "a"}
	p, _ := planner.Make(desired, have, testOptions, plan.Memory{})
	var created plan.StepID
	tagged := 0
	for _, s := range p.Steps {
		switch do := s.Do.(type) {
		case plan.CreateRule:
			created = s.ID
		case plan.SetTags:
			tagged++
			if waits, user := slices.Contains(stepsBefore(p, s), created), do.Put["team"] != ""; waits == user {
				t.Errorf("%s sets %v and waits for the new rule: %v\n%s", s.ID, do.Put, waits, p.Text())
			}
		}
	}
	if created == "" || tagged != 2 {
		t.Errorf("a rule to be made and two to be tagged are expected:\n%s", p.Text())
	}
}

// stepsBefore returns the IDs of the steps that must precede a step, including the steps of joins (plan.Plan.Joins).
func stepsBefore(p plan.Plan, s plan.Step) []plan.StepID {
	out := slices.Clone(s.After)
	for _, id := range s.After {
		out = append(out, p.Joins[id]...)
	}
	return out
}
