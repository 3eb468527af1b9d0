package cli

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The order in which AWS lists the target groups of a weighted action is no difference.
func TestTargetGroupsOfAnActionHaveNoOrder(t *testing.T) {
	c := &comparer{groups: map[string]string{"arn:z": "shop/web:80", "arn:a": "shop/api:80"}}
	weight := func(n int32) *int32 { return &n }
	desired := []model.Action{model.Forward{Groups: []model.WeightedGroup{
		{Group: model.GroupRef{ID: "shop/web:80"}, Weight: weight(20)}, {Group: model.GroupRef{ID: "shop/api:80"}, Weight: weight(80)},
	}}}
	live := []model.Action{model.Forward{Groups: []model.WeightedGroup{
		{Group: model.GroupRef{ARN: "arn:a"}, Weight: weight(80)}, {Group: model.GroupRef{ARN: "arn:z"}, Weight: weight(20)},
	}}}
	if want, have := c.actions(desired), c.actions(live); want != have {
		t.Errorf("desired %q, live %q", want, have)
	}
}
