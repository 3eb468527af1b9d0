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

// maxForwardGroups is how many target groups a forward action may have.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const maxForwardGroups = 5

// Traffic moves requests from some target groups to others, by the health of their targets.
type Traffic struct{ *owners.TargetGroups }

// New returns what moves requests between the target groups of a stack.
func New(tg *owners.TargetGroups) *Traffic { return &Traffic{tg} }

// Shift returns what the actions are to be now, on the way from the live ones to the desired ones, and
// which target groups this waits for: while a new target group has no healthy target and the old ones
// have, the new one is attached with weight 0, so that AWS checks its targets, and traffic stays. It
// waits for none where the desired actions can be set as they are.
func (t *Traffic) Shift(want, have []model.Action) (now []model.Action, pending []model.GroupRef) {
	w, h := equal.ForwardOf(want), equal.ForwardOf(have)
	if w == nil || h == nil {
		return want, nil
	}
	carried := map[string]bool{}
	var old []string
	for _, g := range h.Groups {
		if equal.Weight(g.Weight) > 0 || len(h.Groups) == 1 {
			carried[g.Group.ARN] = true
			old = append(old, g.Group.ARN)
		}
	}
	var fresh []model.WeightedGroup
	for _, g := range w.Groups {
		arn := t.ARN(g.Group)
		if arn != "" && carried[arn] || equal.Weight(g.Weight) == 0 {
			continue
		}
		if !t.Ready(arn) {
			pending = append(pending, g.Group)
		}
		if arn == "" || !slices.ContainsFunc(h.Groups, func(x model.WeightedGroup) bool { return x.Group.ARN == arn }) {
			fresh = append(fresh, g)
		}
	}
	sticky, byApplication := t.sticky(w, h)
	if len(pending) == 0 || len(h.Groups)+len(fresh) > maxForwardGroups || byApplication || t.HealthKnown(pending) && !t.Serving(old) {
		return want, nil
	}
	staged := model.Forward{Stickiness: h.Stickiness}
	if on := staged.Stickiness != nil && staged.Stickiness.Enabled != nil && *staged.Stickiness.Enabled; sticky && !on {
		staged.Stickiness = briefStickiness()
	}
	for _, g := range h.Groups {
		n := equal.Weight(g.Weight)
		staged.Groups = append(staged.Groups, model.WeightedGroup{Group: g.Group, Weight: &n})
	}
	for _, g := range fresh {
		zero := int32(0)
		staged.Groups = append(staged.Groups, model.WeightedGroup{Group: g.Group, Weight: &zero})
	}
	if len(fresh) == 0 {
		staged.Groups = h.Groups
	}
	now = append(slices.Clone(have[:len(have)-1]), staged)
	return now, pending
}

// Attributes of target groups that keep a client on a target.
const (
	stickyAttribute     = "stickiness.enabled"
	stickyTypeAttribute = "stickiness.type"
	byApplication       = "app_cookie"
)

// briefStickiness keeps a client on a target group as shortly as AWS can. It demands it of several target groups of which one keeps
// clients on targets. https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-target-group-attributes.html
func briefStickiness() *model.GroupStickiness {
	on, second := true, int32(1)
	return &model.GroupStickiness{Enabled: &on, Duration: &second}
}

// sticky reports whether a target group of forward actions keeps clients on targets, by what is desired or live, and whether one does
// so by a cookie of the application, which AWS takes of no rule with several target groups.
func (t *Traffic) sticky(forwards ...*model.Forward) (any, application bool) {
	for _, f := range forwards {
		for _, g := range f.Groups {
			for _, a := range t.attributesOf(g.Group) {
				if a[stickyAttribute] == "true" {
					any, application = true, application || a[stickyTypeAttribute] == byApplication
				}
			}
		}
	}
	return any, application
}

// attributesOf returns the desired and the live attributes of a target group, as far as they are known.
func (t *Traffic) attributesOf(g model.GroupRef) (out []map[string]string) {
	if w := t.DesiredGroups[g.ID]; w != nil {
		out = append(out, w.Attributes)
	}
	arn := t.ARN(g)
	for _, live := range t.Have.TargetGroups {
		if live.ARN == arn {
			out = append(out, live.Attributes)
		}
	}
	for id, of := range t.GroupARN {
		if w := t.DesiredGroups[id]; of == arn && w != nil {
			out = append(out, w.Attributes)
		}
	}
	return out
}

// CannotShare reports whether AWS takes no rule that forwards to the target groups of both actions, so that requests cannot move
// within one.
func (t *Traffic) CannotShare(want, have []model.Action) bool {
	w, h := equal.ForwardOf(want), equal.ForwardOf(have)
	if w == nil || h == nil {
		return false
	}
	_, application := t.sticky(w, h)
	return application && !equal.SameActions(want, have, t.ARN)
}

// ShiftDefault returns the shift of a listener's default action.
func (t *Traffic) ShiftDefault(l *resolved.Listener) ([]model.Action, plan.Wait) {
	now, pending := t.Shift(l.DefaultActions, l.Live.Default)
	if len(pending) == 0 {
		return now, plan.Wait{}
	}
	what := fmt.Sprintf("default action of port %d", l.Desired.Port)
	deadline := t.TargetsDeadline(pending)
	wait := t.Wait(draft.WaitKey("default", fmt.Sprint(l.Desired.Port), plan.ActionsText(l.DefaultActions)), "healthy targets in "+plan.TargetGroupNames(pending), deadline)
	if wait.For == "" {
		t.ReportExpired(l.Desired.DefaultOf, l.Desired.Members, what, pending, deadline)
		return l.DefaultActions, plan.Wait{}
	}
	return now, wait
}
