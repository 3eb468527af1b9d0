package tree

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// ActionsText returns actions as text. It names the target groups of the stack by ID.
func (c *Comparer) ActionsText(actions []model.Action) string {
	return finding.EscapeNonPrintable(plan.ActionsText(c.withTargetGroupIDs(actions)))
}

// SameActions reports whether two lists of actions have the same effect. It ignores the order of target groups, which AWS
// does not preserve.
func (c *Comparer) SameActions(x, y []model.Action) bool {
	ordered := func(actions []model.Action) string {
		out := c.withTargetGroupIDs(actions)
		slices.SortFunc(model.ForwardedTargetGroups(out), func(x, y model.WeightedTargetGroup) int {
			return cmp.Or(cmp.Compare(x.Group.ID, y.Group.ID), cmp.Compare(x.Group.ARN, y.Group.ARN), cmp.Compare(x.Group.Name, y.Group.Name))
		})
		return plan.ActionsText(out)
	}
	return ordered(x) == ordered(y)
}

// withTargetGroupIDs returns a deep copy of actions that names the target groups of the stack by ID instead of ARN.
func (c *Comparer) withTargetGroupIDs(actions []model.Action) []model.Action {
	return model.WithReplacedTargetGroups(actions, func(g model.TargetGroupRef) model.TargetGroupRef {
		if id := c.targetGroupIDs[g.ARN]; id != "" {
			return model.TargetGroupRef{ID: id}
		}
		return g
	})
}

// TargetGroupsOf returns the target groups to which actions forward. A target group of the stack is named by its ID, any
// other by its ARN or name.
func (c *Comparer) TargetGroupsOf(actions []model.Action) []string {
	var out []string
	for _, g := range model.ForwardedTargetGroups(actions) {
		out = append(out, cmp.Or(c.targetGroupIDs[g.Group.ARN], g.Group.ID, g.Group.ARN, g.Group.Name))
	}
	return out
}
