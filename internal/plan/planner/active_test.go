package planner_test

import (
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// TestGatewayIsPlannedAgainUntilItsLoadBalancerIsActive checks that the stack of a Gateway is planned again until AWS
// reports its load balancer as active, because the status of the Gateway shows this. The load balancer is created even if no
// route is attached yet.
func TestGatewayIsPlannedAgainUntilItsLoadBalancerIsActive(t *testing.T) {
	want := withFinalizers(stackWithRules())
	want.ID.Kind = model.ALBGateway
	want.LoadBalancer.Listeners, want.TargetGroups = nil, nil
	have := observed.Stack{Facts: testFacts()}
	p, _ := planner.Make(want, have, testOptions, plan.Memory{})
	answerQuestions(&have, p.Questions, func(string) string { return "healthy" })
	p, _ = planner.Make(want, have, testOptions, plan.Memory{})
	if p.RetryAfter == 0 || !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { _, ok := s.Do.(plan.CreateLoadBalancer); return ok }) {
		t.Fatalf("steps %v, again %s", p.Steps, p.RetryAfter)
	}
	have = observedStateOf(want)
	have.LoadBalancers[0].State = observed.LoadBalancerProvisioning
	p, _ = planner.Make(want, have, testOptions, plan.Memory{})
	if p.RetryAfter == 0 || !slices.Contains(p.Questions, model.Question(model.AskState{ARN: have.LoadBalancers[0].ARN})) {
		t.Errorf("provisioning: asks %v, again %s", p.Questions, p.RetryAfter)
	}
	have.LoadBalancers[0].State = "active"
	if p, _ = planner.Make(want, have, testOptions, plan.Memory{}); p.RetryAfter != 0 {
		t.Errorf("active: again %s", p.RetryAfter)
	}
}
