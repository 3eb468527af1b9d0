package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// What is held is said by want.Held, and by Held of rules and default actions. The frontend and the engine
// set it, and resolve adds what cannot be resolved: nothing else decides that something is held.

// notFound answers what no rule of anybody matches.
var notFound = model.FixedResponse{Status: "404", ContentType: "text/plain"}

// unavailable stands in for a rule that cannot be built and is not live, so that requests meant
// for it do not fall through to a rule that was never meant for them.
var unavailable = model.FixedResponse{Status: "503", ContentType: "text/plain", Body: "Rule is held because its configuration is not valid"}

// An accepted rule beats a held one: what is held for one member never blocks, replaces or precedes
// what another wants with the same conditions. So a held rule with the conditions of one that is not
// held is left out, and a live rule with such conditions is not kept for a held one.

// holds reports whether a rule of the listener is held.
func (l *listenerPlan) holds() bool {
	return slices.ContainsFunc(l.rules, func(p rulePlan) bool { return p.held() })
}

// leaveOut takes the held rules out of a listener whose conditions an accepted rule has, and reports
// them.
func (lr *listenerResolver) leaveOut(l *listenerPlan) {
	if !l.holds() {
		return
	}
	accepted := acceptedRules(l)
	var rest []rulePlan
	for i := range l.rules {
		p := &l.rules[i]
		in, ok := accepted[p.conditions()]
		if !ok && p.desired.Instead != nil {
			in, ok = accepted[conditionsKey(p.desired.Instead)]
		}
		if !p.desired.Held.Has(model.HeldInvalid) || !ok {
			rest = append(rest, *p)
			continue
		}
		l.leftOut = append(l.leftOut, *p)
		lr.found.Add(finding.Finding{
			Object: p.desired.Member, Field: p.desired.Origin.Field, Reason: finding.HeldRuleLeftOut, Blocks: finding.BlocksRule,
			Message: fmt.Sprintf("%s is held; %s has the same conditions and serves these requests", p.desired.Text(l.desired.Port), in.Origin),
			Fix:     "correct what the other finding about this rule names, or remove the rule",
		})
	}
	l.rules = rest
}

// acceptedRules are the rules that are not held, by their conditions; the first of several.
func acceptedRules(l *listenerPlan) map[string]model.Rule {
	out := map[string]model.Rule{}
	for i := range l.rules {
		p := &l.rules[i]
		key := p.conditions()
		if _, taken := out[key]; !p.held() && !taken {
			out[key] = p.desired
		}
	}
	return out
}

// holdRules finds for each held rule the live one that it keeps, and returns what is spoken for.
// Nothing live says whose it is: the same conditions come first, and then the order of the rules with
// the same hosts and paths.
func (lr *listenerResolver) holdRules(l *listenerPlan) map[string]bool {
	if !l.holds() && len(lr.want.Held.Members) == 0 {
		return nil
	}
	taken := lr.ownRules(l)
	var live []observed.Rule
	if l.live != nil {
		live = l.live.Rules
	}
	// Live rules by a key, in order.
	byKey := func(key func(r *observed.Rule) string, fits func(r *observed.Rule) bool) map[string][]*observed.Rule {
		out := map[string][]*observed.Rule{}
		for j := range live {
			if r := &live[j]; !taken[r.ARN] && fits(r) {
				out[key(r)] = append(out[key(r)], r)
			}
		}
		return out
	}
	keep := func(rules map[string][]*observed.Rule, key func(p *rulePlan) string) {
		for i := range l.rules {
			p := &l.rules[i]
			if !p.held() || p.kept != nil {
				continue
			}
			of := rules[key(p)]
			if at := slices.IndexFunc(of, func(r *observed.Rule) bool { return lr.mayBeOf(p.desired.Member, *r) }); at >= 0 {
				r := of[at]
				taken[r.ARN] = true
				rules[key(p)] = slices.Delete(of, at, at+1)
				p.keep(r)
			}
		}
	}
	if l.holds() {
		isReal := func(r *observed.Rule) bool { return !isPlaceholder(r) }
		keep(byKey(lr.keys.of, isReal), (*rulePlan).conditions)
		keep(byKey(placeOfLive, isReal), func(p *rulePlan) string { return placeKey(p.desired.Conditions) })
		keep(byKey(lr.keys.of, isPlaceholder), func(p *rulePlan) string { return conditionsKey(p.placeholder()) })
	}
	for i := range l.rules {
		if p := &l.rules[i]; p.held() && p.kept == nil {
			p.standIn()
		}
	}
	l.rules = slices.DeleteFunc(l.rules, func(p rulePlan) bool {
		absent := p.kept == nil && p.desired.Held.Has(model.HeldRefused)
		if absent {
			l.leftOut = append(l.leftOut, p)
		}
		return absent
	})
	return taken
}

// conditions identify the conditions of a rule.
func (p *rulePlan) conditions() string {
	if p.key == "" {
		p.key = conditionsKey(p.desired.Conditions)
	}
	return p.key
}

// Refuses reports whether actions are the 503 of a held rule.
func Refuses(actions []model.Action) bool {
	return len(actions) == 1 && actions[0] == model.Action(unavailable)
}

// OnlyRefuses reports whether actions do nothing but refuse requests, which needs no right.
func OnlyRefuses(actions []model.Action) bool {
	if len(actions) != 1 {
		return false
	}
	a, ok := actions[0].(model.FixedResponse)
	return ok && a.Body == "" && (strings.HasPrefix(a.Status, "4") || strings.HasPrefix(a.Status, "5")) || Refuses(actions)
}

// ForwardsTo reports whether actions forward to a target group.
func ForwardsTo(actions []model.Action, arn string) bool {
	f := forwardOf(actions)
	return f != nil && slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool { return g.Group.ARN == arn })
}

// isPlaceholder reports whether a live rule is the 503 of a held rule, which is worth less than any
// other live rule.
func isPlaceholder(r *observed.Rule) bool {
	return len(r.Transforms) == 0 && Refuses(r.Actions)
}

// ownRules are the live rules that belong to rules which are not held: those with their conditions.
// Where AWS only refuses to make or change a rule of the same conditions, they are those that are just
// what is desired, or on their way there.
func (lr *listenerResolver) ownRules(l *listenerPlan) map[string]bool {
	out := map[string]bool{}
	if l.live == nil {
		return out
	}
	refused := map[string]bool{}
	for i := range l.rules {
		if p := &l.rules[i]; p.desired.Held == model.HeldRefused {
			refused[p.conditions()] = true
		}
	}
	byKey := map[string][]observed.Rule{}
	for i := range l.live.Rules {
		r := &l.live.Rules[i]
		byKey[lr.keys.of(r)] = append(byKey[lr.keys.of(r)], *r)
	}
	for i := range l.rules {
		p := &l.rules[i]
		if p.held() {
			continue
		}
		key := p.conditions()
		just := false
		for _, o := range byKey[key] {
			switch {
			case out[o.ARN]:
				continue
			case !refused[key]:
			case !just && lr.isJust(*p, o):
				just = true
			case !lr.onItsWay(*p, o):
				continue
			}
			out[o.ARN] = true
		}
	}
	return out
}

// isJust reports whether a live rule of the same conditions does exactly what a desired one is to do.
func (lr *listenerResolver) isJust(p rulePlan, o observed.Rule) bool {
	return sameActions(p.desired.Actions, o.Actions, lr.arn) && sameTransforms(p.desired.Transforms, o.Transforms)
}

// onItsWay reports whether a live rule of the same conditions has been made for a desired one: it
// forwards to the same target groups and to others, as rules do until new targets are healthy.
func (lr *listenerResolver) onItsWay(p rulePlan, o observed.Rule) bool {
	w, h := forwardOf(p.desired.Actions), forwardOf(o.Actions)
	if w == nil || h == nil || len(h.Groups) <= len(w.Groups) {
		return false
	}
	return !slices.ContainsFunc(w.Groups, func(g model.WeightedGroup) bool {
		return !slices.ContainsFunc(h.Groups, func(x model.WeightedGroup) bool { return x.Group.ARN == lr.arn(g.Group) })
	})
}

// keep makes a held rule what is live.
func (p *rulePlan) keep(live *observed.Rule) {
	p.kept, p.key = live, ""
	p.desired.Conditions, p.desired.Transforms, p.desired.Actions = live.Conditions, live.Transforms, live.Actions
}

// standIn puts a 503 in the place of a held rule of which nothing is live.
func (p *rulePlan) standIn() {
	p.key = ""
	p.desired.Conditions = p.placeholder()
	p.desired.Actions, p.desired.Transforms = []model.Action{unavailable}, nil
}

// placeholder are the conditions of the 503 of a held rule.
func (p *rulePlan) placeholder() []model.Condition {
	switch {
	case p.desired.Instead != nil:
		return p.desired.Instead
	case len(p.desired.Conditions) == 0:
		return []model.Condition{model.PathPattern{Values: []string{"/*"}}}
	}
	return p.desired.Conditions
}

// userTags are the live tags of a kept rule without the tracking tags.
func userTags(tags map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if !naming.ReservedTag(k) {
			out[k] = v
		}
	}
	return out
}
