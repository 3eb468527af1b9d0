package traffic

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// maxForwardTargetGroups is AWS's limit of target groups in a forward action.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const maxForwardTargetGroups = 5

// Traffic decides which actions a rule or listener gets in this run. The decision depends on the health of targets.
type Traffic struct{ *owners.TargetGroups }

// Shift returns the actions to set in this run, and the desired target groups that are not ready. The parameter want is the
// desired actions, and have is the current actions. While a new target group is not ready and a current target group has a
// healthy target, Shift returns the current actions and attaches the new target group with weight 0, so that AWS checks its
// targets. If the desired actions can be set immediately, it returns want and no target groups.
func (t *Traffic) Shift(want, have []model.Action) (now []model.Action, pending []model.TargetGroupRef) {
	w, h := equal.ForwardOf(want), equal.ForwardOf(have)
	if w == nil || h == nil {
		return want, nil
	}
	currentARNs := map[string]bool{}
	var old []string
	for i, g := range h.Groups {
		if equal.EffectiveWeight(h.Groups, i) > 0 {
			currentARNs[g.Group.ARN] = true
			old = append(old, g.Group.ARN)
		}
	}
	var fresh []model.WeightedTargetGroup
	for i, g := range w.Groups {
		arn := t.TargetGroupARN(g.Group)
		if arn != "" && currentARNs[arn] || equal.EffectiveWeight(w.Groups, i) == 0 {
			continue
		}
		if !t.IsReady(arn) {
			pending = append(pending, g.Group)
		}
		if arn == "" || !slices.ContainsFunc(h.Groups, func(x model.WeightedTargetGroup) bool { return x.Group.ARN == arn }) {
			fresh = append(fresh, g)
		}
	}
	sticky, byApplication := t.stickinessOf(w, h)
	cannotShare := byApplication || t.needsOtherActionsRemoved(want, have)
	if len(pending) == 0 || len(h.Groups)+len(fresh) > maxForwardTargetGroups || cannotShare || t.IsHealthReadDone(pending) && !t.HasServingTargetGroup(old) {
		return want, nil
	}
	staged := model.Forward{Stickiness: h.Stickiness}
	if on := staged.Stickiness != nil && staged.Stickiness.Enabled != nil && *staged.Stickiness.Enabled; sticky && !on {
		staged.Stickiness = shortestStickiness()
	}
	for i, g := range h.Groups {
		n := equal.EffectiveWeight(h.Groups, i)
		staged.Groups = append(staged.Groups, model.WeightedTargetGroup{Group: g.Group, Weight: &n})
	}
	for _, g := range fresh {
		zero := int32(0)
		staged.Groups = append(staged.Groups, model.WeightedTargetGroup{Group: g.Group, Weight: &zero})
	}
	if len(fresh) == 0 {
		staged.Groups = h.Groups
	}
	now = append(slices.Clone(have[:len(have)-1]), staged)
	return now, pending
}

// Target group attributes for sticky sessions. applicationCookie is the type of sessions with a cookie of the application.
const (
	stickyAttribute     = "stickiness.enabled"
	stickyTypeAttribute = "stickiness.type"
	applicationCookie   = "app_cookie"
)

// shortestStickiness returns target group stickiness with the shortest duration, one second. AWS requires target group
// stickiness in a forward action with several target groups if one of them has sticky sessions.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-target-group-attributes.html
func shortestStickiness() *model.TargetGroupStickiness {
	on, second := true, int32(1)
	return &model.TargetGroupStickiness{Enabled: &on, Duration: &second}
}

// stickinessOf reports whether a target group of the forward actions has sticky sessions, and whether these sessions use a
// cookie of the application. It reads the desired and the current attributes. AWS refuses a rule with several target groups
// if one of them uses a cookie of the application.
func (t *Traffic) stickinessOf(forwards ...*model.Forward) (any, application bool) {
	for _, f := range forwards {
		for _, g := range f.Groups {
			for _, a := range t.attributesOf(g.Group) {
				if a[stickyAttribute] == "true" {
					any, application = true, application || a[stickyTypeAttribute] == applicationCookie
				}
			}
		}
	}
	return any, application
}

// attributesOf returns the known desired and current attributes of a target group.
func (t *Traffic) attributesOf(g model.TargetGroupRef) (out []map[string]string) {
	if w := t.DesiredTargetGroups[g.ID]; w != nil {
		out = append(out, w.Attributes)
	}
	arn := t.TargetGroupARN(g)
	for _, live := range t.Have.TargetGroups {
		if live.ARN == arn {
			out = append(out, live.Attributes)
		}
	}
	for id, of := range t.LiveTargetGroupARNs {
		if w := t.DesiredTargetGroups[id]; of == arn && w != nil {
			out = append(out, w.Attributes)
		}
	}
	return out
}

// NeedsHTTPS reports whether actions forward to a target group of the stack with protocol version HTTP2 or GRPC. AWS accepts
// such a target group only on HTTPS listeners, and only in a rule without other actions.
func (t *Traffic) NeedsHTTPS(actions []model.Action) bool {
	return slices.ContainsFunc(model.ForwardedTargetGroups(actions), func(g model.WeightedTargetGroup) bool {
		version := ""
		if w := t.DesiredTargetGroups[g.Group.ID]; w != nil {
			version = w.ProtocolVersion
		}
		arn := t.TargetGroupARN(g.Group)
		for _, live := range t.Have.TargetGroups {
			if live.ARN == arn {
				version = live.ProtocolVersion
			}
		}
		return version == "HTTP2" || version == "GRPC"
	})
}

// needsOtherActionsRemoved reports whether have contains actions, such as an authentication, that AWS does not accept in one
// rule with the target groups of want.
func (t *Traffic) needsOtherActionsRemoved(want, have []model.Action) bool {
	return len(have) > 1 && t.NeedsHTTPS(want)
}

// CannotShareRule reports whether AWS refuses a rule that forwards to the target groups of both want and have. AWS refuses
// it if one of the target groups uses a cookie of the application, or if have contains actions that are not accepted in one
// rule with the target groups of want. In this case, traffic cannot be shifted with weights in one rule.
func (t *Traffic) CannotShareRule(want, have []model.Action) bool {
	w, h := equal.ForwardOf(want), equal.ForwardOf(have)
	if w == nil || h == nil {
		return false
	}
	_, application := t.stickinessOf(w, h)
	return (application || t.needsOtherActionsRemoved(want, have)) && !equal.SameActions(want, have, t.TargetGroupARN)
}

// ShiftDefault returns the default actions of a listener to set in this run, and the wait for the desired default actions.
// See Shift.
func (t *Traffic) ShiftDefault(l *resolved.Listener) ([]model.Action, plan.Wait) {
	now, pending := t.Shift(l.DefaultActions, l.Live.Default)
	if len(pending) == 0 {
		return now, plan.Wait{}
	}
	wait := t.defaultActionWait("default", "healthy targets", l, pending)
	if wait.For == "" {
		return l.DefaultActions, plan.Wait{}
	}
	return now, wait
}

// defaultActionWait returns the wait of the desired default actions of a listener for the pending target groups. See
// AwaitTargets for key and state.
func (t *Traffic) defaultActionWait(key, state string, l *resolved.Listener, pending []model.TargetGroupRef) plan.Wait {
	key = draft.WaitKey(key, fmt.Sprint(l.Desired.Port), plan.ActionsText(l.DefaultActions))
	return t.AwaitTargets(key, state, pending, l.Desired.DefaultOf, l.Desired.Members, fmt.Sprintf("default action of port %d", l.Desired.Port))
}
