package planner_test

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

// planWithHealthyTargets plans with healthy targets until the plan has no question.
func planWithHealthyTargets(t *testing.T, want model.Stack, have *observed.Stack, opt plan.Options, memory plan.Memory) plan.Plan {
	t.Helper()
	for range 10 {
		p, _ := planner.Make(want, *have, opt, memory)
		if len(p.Questions) == 0 {
			return p
		}
		answerQuestions(have, p.Questions, func(string) string { return "healthy" })
	}
	t.Fatal("the plan keeps asking")
	return plan.Plan{}
}

func deletesTargets(s plan.Step) bool {
	switch s.Do.(type) {
	case plan.DeleteBinding, plan.DeleteTargetGroup:
		return true
	}
	return false
}

func TestTargetsStayUntilAllNodesForwardByTheNewRules(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/*", "g1"))), observed.Stack{Facts: testFacts()})
	want := withFinalizers(stackWithRules(forwardRule("/*", "g2")))
	opt := testOptions
	opt.Propagation = 10 * time.Second
	rerouted, memory := false, plan.Memory{}
	for {
		have.Facts.Health = map[string]observed.Health{}
		p := planWithHealthyTargets(t, want, &have, opt, memory)
		steps := stepsInOrder(p)
		if len(steps) == 0 {
			break
		}
		for _, s := range steps {
			if deletesTargets(s) {
				t.Fatalf("%s is carried out too early:\n%s", s.ID, p.Text())
			}
			if plan.ChangesRouting(s.Do) {
				rerouted, memory.RemainingPropagation = true, 10*time.Second
			}
		}
		have = plantest.Simulate(have, p.KnownIDs, steps)
	}
	if !rerouted {
		t.Fatal("the rule does not lead to the new targets")
	}
	memory.RemainingPropagation = 4 * time.Second
	p := planWithHealthyTargets(t, want, &have, opt, memory)
	waiting := 0
	for _, s := range p.Steps {
		if deletesTargets(s) && s.Wait.RetryAfter == 4*time.Second {
			waiting++
		}
	}
	if waiting == 0 || len(stepsInOrder(p)) > 0 {
		t.Errorf("want the end of the old targets to wait 4s:\n%s", p.Text())
	}
	memory.RemainingPropagation = 0
	if p := planWithHealthyTargets(t, want, &have, opt, memory); len(stepsInOrder(p)) == 0 || !deletesTargets(stepsInOrder(p)[0]) {
		t.Errorf("want the end of the old targets:\n%s", p.Text())
	}
}

func TestDeletionOfLoadBalancerDoesNotWaitForPropagation(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/*", "g1"))), observed.Stack{Facts: testFacts()})
	gone := model.Stack{ID: testStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}
	opt := testOptions
	opt.Propagation = 10 * time.Second
	for _, s := range planWithHealthyTargets(t, gone, &have, opt, plan.Memory{RemainingPropagation: opt.Propagation}).Steps {
		if s.Wait.For == targetgroups.StopForwardingText {
			t.Errorf("%s waits %s", s.ID, s.Wait.RetryAfter)
		}
	}
}
