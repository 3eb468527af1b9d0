package traffic

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// A listener of a network load balancer sends all new connections to its target groups. If the live and the desired target
// groups have the same protocol and address type, AWS accepts both in one forward action, and the desired target group is
// first attached with weight 0, as for an ALB. Otherwise AWS does not check the new targets before the listener forwards to
// them, so that the change waits until targets are registered.

// ForwardsToALB reports whether actions forward to a target group of type alb.
func (t *Traffic) ForwardsToALB(actions []model.Action) bool {
	return slices.ContainsFunc(model.ForwardedGroups(actions), func(g model.WeightedGroup) bool {
		w := t.DesiredTargetGroups[g.Group.ID]
		return w != nil && w.Type == model.ALBTargets
	})
}

// FitsInOneAction reports whether AWS accepts the live and the desired target groups of a listener in one forward action.
// Target groups that do not belong to the stack are assumed to fit.
func (t *Traffic) FitsInOneAction(l *resolved.Listener) bool {
	type kind struct {
		protocol string
		address  model.AddressType
	}
	kinds := map[kind]bool{}
	for _, g := range model.ForwardedGroups(l.DefaultActions) {
		if w := t.DesiredTargetGroups[g.Group.ID]; w != nil {
			kinds[kind{w.Protocol, w.AddressType}] = true
		}
	}
	equal.EachForwardedARN([]observed.Listener{{Default: l.Live.Default}}, func(arn string) {
		for _, g := range t.Have.TargetGroups {
			if g.ARN == arn {
				kinds[kind{g.Protocol, g.AddressType}] = true
			}
		}
	})
	return len(kinds) <= 1
}

// ShiftAfterRegistration returns the default action to set now. The live default action is retained as long as a desired
// target group has no registered targets and a live one has healthy targets.
func (t *Traffic) ShiftAfterRegistration(l *resolved.Listener) ([]model.Action, plan.Wait) {
	var old []string
	equal.EachForwardedARN([]observed.Listener{{Default: l.Live.Default}}, func(arn string) { old = append(old, arn) })
	pending := t.PendingTargetGroups(l.DefaultActions, old, t.hasRegisteredTarget)
	if len(pending) == 0 || t.IsHealthKnown(pending) && !t.HasServingTargetGroup(old) {
		return l.DefaultActions, plan.Wait{}
	}
	wait := t.defaultActionWait("register", "targets", l, pending)
	if wait.For == "" {
		return l.DefaultActions, plan.Wait{}
	}
	return l.Live.Default, wait
}
