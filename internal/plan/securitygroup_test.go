package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/plantest"
)

func TestTheSharedGroupGetsDefaultTagsAndLosesNone(t *testing.T) {
	desired := claimed(desiredOf(ruleTo("/*", "g1")))
	desired.BackendGroup.Tags = map[string]string{"team": "a"}
	have := converge(t, desired, observed.Stack{Facts: testFacts()})
	have.Facts.BackendGroup.Tags["foreign"] = "x"
	if p, _ := plan.Make(desired, have, testOptions); !p.Empty() {
		t.Errorf("want no steps, got\n%s", p.Text())
	}
	desired.BackendGroup.Tags = map[string]string{"team": "b", "cost": "1", "elsewhere": "set"}
	opt := testOptions
	opt.ExternalTags = []string{"elsewhere"}
	p, _ := plan.Make(desired, have, opt)
	have = plantest.Simulate(have, p.Known, p.Steps)
	want := map[string]string{"team": "b", "cost": "1", "foreign": "x", "elbv2.k8s.aws/cluster": "rig", "elbv2.k8s.aws/resource": model.BackendGroupTag}
	if d := cmp.Diff(want, have.Facts.BackendGroup.Tags); d != "" || len(p.Steps) != 1 {
		t.Errorf("%s\n%s", d, p.Text())
	}
}

// While the desired target groups do not exist, what is live of groups and of the rules that go with them
// stays, and everything else goes on.
func TestGroupsThatDoNotExistKeepTheLiveOnes(t *testing.T) {
	have := converge(t, claimed(desiredOf(ruleTo("/*", "g1"))), observed.Stack{Facts: testFacts()})
	desired := claimed(desiredOf(ruleTo("/*", "g1"), ruleTo("/b", "g2")))
	desired.LoadBalancer.SecurityGroups = model.GroupsGiven{Refs: []string{"no-such"}}
	have.Facts.Health = map[string]observed.Health{}
	p := settled(t, desired, &have, func(string) string { return "healthy" })
	for _, s := range p.Steps {
		switch s.Do.(type) {
		case plan.SetSecurityGroups, plan.ChangeIngress, plan.DeleteSecurityGroup:
			t.Errorf("want no %s", s.ID)
		case plan.PutBinding:
			if s.Verb != plan.Create {
				t.Errorf("want no %s", s.ID)
			}
		}
	}
	if !has(p, "create target-group/g2") {
		t.Errorf("want g2 to be made, got\n%s", p.Text())
	}
}

// has reports whether a plan has a step.
func has(p plan.Plan, id plan.StepID) bool {
	for _, s := range p.Steps {
		if s.ID == id {
			return true
		}
	}
	return false
}
