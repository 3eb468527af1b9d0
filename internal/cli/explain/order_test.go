package explain

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// TestOrderOfTargetGroupsIsIgnored checks that two weighted forward actions are equal if only the order of their target
// groups differs, because AWS does not preserve the order. A changed weight is a difference.
func TestOrderOfTargetGroupsIsIgnored(t *testing.T) {
	weighted := func(refs []model.TargetGroupRef, weights ...int32) []model.Action {
		var f model.Forward
		for i, r := range refs {
			f.Groups = append(f.Groups, model.WeightedTargetGroup{Group: r, Weight: &weights[i]})
		}
		return []model.Action{f}
	}
	desired := weighted([]model.TargetGroupRef{{ID: "a"}, {ID: "b"}, {ARN: "arn:others"}}, 70, 20, 10)
	groups := []observed.TargetGroup{{ARN: "arn:a", ResourceID: "a"}, {ARN: "arn:b", ResourceID: "b"}}
	c := tree.NewComparer(engine.Draft{Have: observed.Stack{TargetGroups: groups}}, observed.Facts{}, tree.ClusterTargets{})
	for name, test := range map[string]struct {
		live []model.Action
		same bool
	}{
		"the same order": {weighted([]model.TargetGroupRef{{ARN: "arn:a"}, {ARN: "arn:b"}, {ARN: "arn:others"}}, 70, 20, 10), true},
		"another order":  {weighted([]model.TargetGroupRef{{ARN: "arn:others"}, {ARN: "arn:b"}, {ARN: "arn:a"}}, 10, 20, 70), true},
		"other weights":  {weighted([]model.TargetGroupRef{{ARN: "arn:b"}, {ARN: "arn:a"}, {ARN: "arn:others"}}, 70, 20, 10), false},
	} {
		l := resolved.Listener{Live: &observed.Listener{Default: test.live}}
		if now := (&answerCollector{}).currentAnswer(l, c, desired); (now == "") != test.same {
			t.Errorf("%s: currentAnswer returned %q", name, now)
		}
	}
	if got, want := c.ActionsText(desired), plan.ActionsText(desired); got != want {
		t.Errorf("the desired actions are shown as %q, want %q", got, want)
	}
}
