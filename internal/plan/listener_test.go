package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

func TestGroupsGivenByNameReachTheStepsAsARNs(t *testing.T) {
	named := []model.Action{model.Forward{Groups: []model.WeightedGroup{{Group: model.GroupRef{Name: "external"}}}}}
	rule := ruleTo("/a", "")
	rule.Actions = named
	want := wishOf(rule)
	want.TargetGroups = nil
	want.ALB.Listeners[0].Default, want.ALB.Listeners[0].DefaultOf = named, rule.Origin
	have := observed.Stack{Facts: testFacts()}
	have.Facts.TargetGroups = map[string]string{"external": "arn:external"}

	p, found := Make(claimed(want), have, testOptions)
	if len(found) > 0 {
		t.Fatalf("findings: %v", found)
	}
	resolved := []model.Action{model.Forward{Groups: []model.WeightedGroup{{Group: model.GroupRef{ARN: "arn:external"}}}}}
	seen := 0
	for _, s := range p.Steps {
		var got []model.Action
		switch do := s.Do.(type) {
		case CreateListener:
			got = do.Settings.Default
		case CreateRule:
			got = do.Rule.Actions
		default:
			continue
		}
		seen++
		if diff := cmp.Diff(resolved, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.ID, diff)
		}
	}
	if seen != 2 {
		t.Errorf("%d steps with actions, want a listener and a rule:\n%s", seen, stepIDs(p))
	}
	if diff := cmp.Diff(model.GroupRef{Name: "external"}, named[0].(model.Forward).Groups[0].Group); diff != "" {
		t.Errorf("the wish was changed (-want +got):\n%s", diff)
	}
}
