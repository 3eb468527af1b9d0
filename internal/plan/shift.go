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

// shift says what the actions are to be now, on the way from the live ones to the wish: while a
// new target group has no healthy target and the old ones have, the new group is attached with
// weight 0, so that AWS checks its targets, and traffic stays. The wait is empty when the wish
// can be set as it is.
func (b *builder) shift(want, have []model.Action) (now []model.Action, wait string) {
	w, h := forwardOf(want), forwardOf(have)
	if w == nil || h == nil {
		return want, ""
	}
	carried := map[string]bool{}
	var old []string
	for _, g := range h.Groups {
		if weight(g.Weight) > 0 || len(h.Groups) == 1 {
			carried[g.Group.ARN] = true
			old = append(old, g.Group.ARN)
		}
	}
	var pending []string
	var fresh []model.WeightedGroup
	for _, g := range w.Groups {
		arn := b.arn(g.Group)
		if arn != "" && carried[arn] || weight(g.Weight) == 0 {
			continue
		}
		if !b.ready(arn) {
			pending = append(pending, refText(g.Group))
		}
		if arn == "" || !slices.ContainsFunc(h.Groups, func(x model.WeightedGroup) bool { return x.Group.ARN == arn }) {
			fresh = append(fresh, g)
		}
	}
	if len(pending) == 0 || len(h.Groups)+len(fresh) > maxForwardGroups || !b.serving(old) {
		return want, ""
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
	return now, "healthy targets in " + strings.Join(pending, " and ")
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

// ready says whether a target group can take traffic: it has a healthy target, and none that is
// still on its way. A group that is not made yet is not.
func (b *builder) ready(arn string) bool {
	if arn == "" {
		return false
	}
	h, asked := b.have.Facts.Health[arn]
	if !asked {
		if !b.unreadHealth(arn) {
			b.ask(model.AskHealth{ARN: arn})
		}
		return false
	}
	return h.Count("healthy") > 0 && h.Count("initial") == 0
}

// serving says whether one of the groups has a healthy target, so that there is something to lose.
// While this is not known it is assumed.
func (b *builder) serving(arns []string) bool {
	known := true
	for _, arn := range arns {
		h, asked := b.have.Facts.Health[arn]
		if !asked {
			if !b.unreadHealth(arn) {
				b.ask(model.AskHealth{ARN: arn})
			}
			known = false
		}
		if h.Count("healthy") > 0 {
			return true
		}
	}
	return !known
}

func refText(r model.GroupRef) string { return r.ID + r.Name + r.ARN }

// ActionsText describes actions for people.
func ActionsText(actions []model.Action) string { return actionsText(actions) }

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
