package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// maxForwardGroups is how many target groups a forward action may have.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const maxForwardGroups = 5

// traffic moves requests from some target groups to others, by the health of their targets.
type traffic struct{ *targetGroups }

// shift says what the actions are to be now, on the way from the live ones to the desired ones, and
// which target groups this waits for: while a new target group has no healthy target and the old ones
// have, the new one is attached with weight 0, so that AWS checks its targets, and traffic stays. It
// waits for none where the desired actions can be set as they are.
func (t *traffic) shift(want, have []model.Action) (now []model.Action, pending []model.GroupRef) {
	w, h := forwardOf(want), forwardOf(have)
	if w == nil || h == nil {
		return want, nil
	}
	carried := map[string]bool{}
	var old []string
	for _, g := range h.Groups {
		if weight(g.Weight) > 0 || len(h.Groups) == 1 {
			carried[g.Group.ARN] = true
			old = append(old, g.Group.ARN)
		}
	}
	var fresh []model.WeightedGroup
	for _, g := range w.Groups {
		arn := t.arn(g.Group)
		if arn != "" && carried[arn] || weight(g.Weight) == 0 {
			continue
		}
		if !t.ready(arn) {
			pending = append(pending, g.Group)
		}
		if arn == "" || !slices.ContainsFunc(h.Groups, func(x model.WeightedGroup) bool { return x.Group.ARN == arn }) {
			fresh = append(fresh, g)
		}
	}
	if len(pending) == 0 || len(h.Groups)+len(fresh) > maxForwardGroups || t.healthKnown(pending) && !t.serving(old) {
		return want, nil
	}
	staged := model.Forward{Stickiness: h.Stickiness}
	for _, g := range h.Groups {
		n := weight(g.Weight)
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

// shiftRule is the shift of a rule's actions, which waits no longer than until its deadline.
func (ro *ruleRollout) shiftRule(w *ruleChange, have []model.Action) ([]model.Action, Wait) {
	now, pending := ro.shift(w.plan.desired.Actions, have)
	if len(pending) == 0 {
		return now, Wait{}
	}
	wait := ro.ruleWait(w, pending)
	if wait.For == "" {
		return w.plan.desired.Actions, Wait{}
	}
	return now, wait
}

// shiftDefault is the shift of a listener's default action.
func (t *traffic) shiftDefault(l *listenerPlan) ([]model.Action, Wait) {
	now, pending := t.shift(l.defaults, l.live.Default)
	if len(pending) == 0 {
		return now, Wait{}
	}
	what := fmt.Sprintf("default action of port %d", l.desired.Port)
	deadline := t.targetsDeadline(pending)
	wait := t.wait(waitKey("default", fmt.Sprint(l.desired.Port), ActionsText(l.defaults)), "healthy targets in "+refTexts(pending), deadline)
	if wait.For == "" {
		t.expired(l.desired.DefaultOf, l.desired.Members, what, pending, deadline)
		return l.defaults, Wait{}
	}
	return now, wait
}

func forwardOf(as []model.Action) *model.Forward {
	if len(as) == 0 {
		return nil
	}
	f, ok := as[len(as)-1].(model.Forward)
	if !ok {
		return nil
	}
	return &f
}

// ready reports whether a target group can take traffic: it has a healthy target, and none that is
// still on its way. A target group that is not made yet is not.
func (t *traffic) ready(arn string) bool {
	if arn == "" {
		return false
	}
	h, asked := t.have.Facts.Health[arn]
	if !asked {
		if !t.unavailableHealth(arn) {
			t.ask(model.AskHealth{ARN: arn})
		}
		return false
	}
	return h.Count("healthy") > 0 && h.Count("initial") == 0
}

// healthKnown reports whether it is known of target groups that they are not ready. Others are not asked
// for their health until it is.
func (t *traffic) healthKnown(groups []model.GroupRef) bool {
	for _, g := range groups {
		if arn := t.arn(g); arn != "" {
			if _, asked := t.have.Facts.Health[arn]; !asked && !t.unavailableHealth(arn) {
				return false
			}
		}
	}
	return true
}

// maxHealthAsked is how many target groups are asked whether there is something to lose. Of more,
// one is taken to serve.
const maxHealthAsked = 5

// serving reports whether one of the target groups has a healthy target, so that there is something
// to lose. While this is not known it is assumed.
func (t *traffic) serving(arns []string) bool {
	var unknown []string
	for _, arn := range arns {
		h, asked := t.have.Facts.Health[arn]
		if !asked && !slices.Contains(unknown, arn) {
			unknown = append(unknown, arn)
		}
		if h.Count("healthy") > 0 {
			return true
		}
	}
	if len(unknown) <= maxHealthAsked {
		for _, arn := range unknown {
			if !t.unavailableHealth(arn) {
				t.ask(model.AskHealth{ARN: arn})
			}
		}
	}
	return len(unknown) > 0
}

func refText(r model.GroupRef) string { return r.ID + r.Name + r.ARN }

func actionText(a model.Action) string {
	switch a := a.(type) {
	case model.Forward:
		var gs []string
		for _, g := range a.Groups {
			s := refText(g.Group)
			if g.Weight != nil && len(a.Groups) > 1 {
				s += fmt.Sprintf(" (%d)", *g.Weight)
			}
			gs = append(gs, s)
		}
		return "forward to " + strings.Join(gs, ", ")
	case model.Redirect:
		n := normalRedirect(a)
		return fmt.Sprintf("redirect %s to %s://%s:%s%s?%s", a.Status, n.Protocol, n.Host, n.Port, n.Path, n.Query)
	case model.FixedResponse:
		return "answer " + a.Status
	case model.AuthOIDC:
		return "authenticate by OIDC at " + a.Issuer
	case model.AuthCognito:
		return "authenticate by Cognito"
	case model.ValidateJWT:
		return "validate tokens of " + a.Issuer
	}
	return fmt.Sprintf("%T", a)
}
