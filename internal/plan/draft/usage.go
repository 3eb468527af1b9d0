package draft

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// Usage notes what the planning of load balancers, listeners and rules means for the target groups that
// are live, and for members that leave.
type Usage struct {
	Kept       map[string]bool          // ARNs of target groups that held rules use, and so must not be deleted
	FreedBy    map[string][]plan.StepID // steps after which nothing forwards to a target group, by its ARN
	RuleOwners map[string][]finding.Ref // of live rules that go, by ARN
}

func NewUsage() *Usage {
	return &Usage{Kept: map[string]bool{}, FreedBy: map[string][]plan.StepID{}, RuleOwners: map[string][]finding.Ref{}}
}

// Keep notes the target groups that live actions forward to.
func (u *Usage) Keep(actions []model.Action) {
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				if g.Group.ARN != "" {
					u.Kept[g.Group.ARN] = true
				}
			}
		}
	}
}

// Freed notes a step after which nothing forwards any more to the target groups of live actions, as
// far as it is about them.
func (u *Usage) Freed(actions []model.Action, by plan.StepID) {
	f := equal.ForwardOf(actions)
	if f == nil {
		return
	}
	for _, g := range f.Groups {
		if arn := g.Group.ARN; arn != "" && !slices.Contains(u.FreedBy[arn], by) {
			u.FreedBy[arn] = append(u.FreedBy[arn], by)
		}
	}
}

func (u *Usage) FreedListener(l observed.Listener, by plan.StepID) {
	u.Freed(l.Default, by)
	for _, r := range l.Rules {
		u.Freed(r.Actions, by)
	}
}
