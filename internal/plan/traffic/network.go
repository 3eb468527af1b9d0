package traffic

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// The default action of an NLB listener receives all new connections. If the current and the desired target groups have the
// same protocol and address type, AWS accepts both in one forward action. The desired target group is then first attached
// with weight 0, as for an ALB. If AWS does not accept both, it does not check the new targets before the listener forwards
// to them, and the change waits until targets are registered.

// ForwardsToALB reports whether actions forward to a desired target group of type "alb".
func (t *Traffic) ForwardsToALB(actions []model.Action) bool {
	return slices.ContainsFunc(model.ForwardedTargetGroups(actions), func(g model.WeightedTargetGroup) bool {
		w := t.DesiredTargetGroups[g.Group.ID]
		return w != nil && w.Type == model.ALBTargets
	})
}

// FitsInOneAction reports whether AWS accepts the current and the desired target groups of a listener in one forward action.
// Target groups that do not belong to the stack are assumed to fit.
func (t *Traffic) FitsInOneAction(l *resolved.Listener) bool {
	type kind struct {
		protocol string
		address  model.AddressType
	}
	kinds := map[kind]bool{}
	for _, g := range model.ForwardedTargetGroups(l.DefaultActions) {
		if w := t.DesiredTargetGroups[g.Group.ID]; w != nil {
			kinds[kind{w.Protocol, w.AddressType}] = true
		}
	}
	for _, g := range t.Have.TargetGroups {
		if plan.ForwardsTo(l.Live.Default, g.ARN) {
			kinds[kind{g.Protocol, g.AddressType}] = true
		}
	}
	return len(kinds) <= 1
}

// ShiftAfterRegistration returns the default actions to set in this run, and the wait for the desired default actions. It
// retains the current default actions while a desired target group has no registered targets and a current target group has
// healthy targets.
func (t *Traffic) ShiftAfterRegistration(l *resolved.Listener) ([]model.Action, plan.Wait) {
	var old []string
	for _, g := range model.ForwardedTargetGroups(l.Live.Default) {
		old = append(old, g.Group.ARN)
	}
	pending := t.PendingTargetGroups(l.DefaultActions, old, t.hasRegisteredTarget)
	if len(pending) == 0 || t.IsHealthReadDone(pending) && !t.HasServingTargetGroup(old) {
		return l.DefaultActions, plan.Wait{}
	}
	wait := t.defaultActionWait("register", "targets", l, pending)
	if wait.For == "" {
		return l.DefaultActions, plan.Wait{}
	}
	return l.Live.Default, wait
}
