package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// usage notes what the planning of load balancers, listeners and rules means for the target groups that
// are live, and for members that leave.
type usage struct {
	kept       map[string]bool          // ARNs of target groups that held rules use, and so must not be deleted
	freedBy    map[string][]StepID      // steps after which nothing forwards to a target group, by its ARN
	ruleOwners map[string][]finding.Ref // of live rules that go, by ARN
}

func newUsage() *usage {
	return &usage{kept: map[string]bool{}, freedBy: map[string][]StepID{}, ruleOwners: map[string][]finding.Ref{}}
}

// keep notes the target groups that live actions forward to.
func (u *usage) keep(actions []model.Action) {
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				if g.Group.ARN != "" {
					u.kept[g.Group.ARN] = true
				}
			}
		}
	}
}

// freed notes a step after which nothing forwards any more to the target groups of live actions, as
// far as it is about them.
func (u *usage) freed(actions []model.Action, by StepID) {
	f := forwardOf(actions)
	if f == nil {
		return
	}
	for _, g := range f.Groups {
		if arn := g.Group.ARN; arn != "" && !slices.Contains(u.freedBy[arn], by) {
			u.freedBy[arn] = append(u.freedBy[arn], by)
		}
	}
}

func (u *usage) freedListener(l observed.Listener, by StepID) {
	u.freed(l.Default, by)
	for _, r := range l.Rules {
		u.freed(r.Actions, by)
	}
}
