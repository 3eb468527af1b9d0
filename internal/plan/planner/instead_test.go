package planner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// TestRuleOverLimitsIsCreatedWithFewerValues checks that a held rule that exceeds a limit of AWS is not changed if it
// exists, and is otherwise created with fewer conditions, which AWS accepts.
func TestRuleOverLimitsIsCreatedWithFewerValues(t *testing.T) {
	large := forwardRule("/large", "g1")
	large.Conditions = append(large.Conditions, model.SourceIP{CIDRs: []string{"10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8", "13.0.0.0/8", "14.0.0.0/8"}})
	live := converge(t, withFinalizers(stackWithRules(large, forwardRule("/*", "g2"))), observed.Stack{Facts: testFacts()})
	held := large
	held.Held, held.Actions, held.PlaceholderConditions = model.HeldInvalid, nil, large.Conditions[:1]
	if p := planUntilNoQuestions(t, withFinalizers(stackWithRules(held, forwardRule("/*", "g2"))), &live, func(string) string { return "healthy" }); !p.Empty() {
		t.Errorf("the live rule is touched:\n%s", p.Text())
	}
	fresh := converge(t, withFinalizers(stackWithRules(held, forwardRule("/*", "g2"))), observed.Stack{Facts: testFacts()})
	got := fresh.LiveLoadBalancer(model.LoadBalancerID).Listeners[0].Rules[0]
	if diff := cmp.Diff(held.PlaceholderConditions, got.Conditions); diff != "" || !equal.SameActions([]model.Action{plan.HeldResponse}, got.Actions, nil) {
		t.Errorf("actions %v, conditions (-want +got):\n%s", got.Actions, diff)
	}
}
