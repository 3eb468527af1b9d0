package listeners

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// omitHeldRules takes the held rules out of a listener whose conditions an accepted rule has, and reports
// them.
func (lr *Resolver) omitHeldRules(l *resolved.Listener) {
	if !l.HasHeldRule() {
		return
	}
	accepted := owners.AcceptedRules(l)
	var rest []resolved.Rule
	for i := range l.Rules {
		p := &l.Rules[i]
		in, ok := accepted[p.ConditionsKey()]
		if !ok && p.Desired.Instead != nil {
			in, ok = accepted[equal.ConditionsKey(p.Desired.Instead)]
		}
		if !p.Desired.Held.Has(model.HeldInvalid) || !ok {
			rest = append(rest, *p)
			continue
		}
		l.Omitted = append(l.Omitted, *p)
		lr.Findings.Add(finding.Finding{
			Object: p.Desired.Member, Field: p.Desired.Origin.Field, Reason: finding.HeldRuleLeftOut, Blocks: finding.BlocksRule,
			Message: fmt.Sprintf("%s is held; %s has the same conditions and serves these requests", p.Desired.Text(l.Desired.Port), in.Origin),
			Fix:     "correct what the other finding about this rule names, or remove the rule",
		})
	}
	l.Rules = rest
}

// holdRules finds for each held rule the live one that it keeps, and returns what is spoken for.
// Nothing live says whose it is: the same conditions come first, and then the order of the rules with
// the same hosts and paths.
func (lr *Resolver) holdRules(l *resolved.Listener) map[string]bool {
	if !l.HasHeldRule() && len(lr.Want.Held.Members) == 0 {
		return nil
	}
	taken := lr.ownRules(l)
	var live []observed.Rule
	if l.Live != nil {
		live = l.Live.Rules
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
	keep := func(rules map[string][]*observed.Rule, key func(p *resolved.Rule) string) {
		for i := range l.Rules {
			p := &l.Rules[i]
			if !p.Held() || p.Kept != nil {
				continue
			}
			of := rules[key(p)]
			if at := slices.IndexFunc(of, func(r *observed.Rule) bool { return lr.MayBelongTo(p.Desired.Member, *r) }); at >= 0 {
				r := of[at]
				taken[r.ARN] = true
				rules[key(p)] = slices.Delete(of, at, at+1)
				p.KeepLive(r)
			}
		}
	}
	if l.HasHeldRule() {
		isReal := func(r *observed.Rule) bool { return !isPlaceholder(r) }
		keep(byKey(lr.keys.Of, isReal), (*resolved.Rule).ConditionsKey)
		keep(byKey(equal.HostsAndPathsKeyOfLive, isReal), func(p *resolved.Rule) string { return equal.HostsAndPathsKey(p.Desired.Conditions) })
		keep(byKey(lr.keys.Of, isPlaceholder), func(p *resolved.Rule) string { return equal.ConditionsKey(p.Placeholder()) })
	}
	for i := range l.Rules {
		if p := &l.Rules[i]; p.Held() && p.Kept == nil {
			p.UsePlaceholder()
		}
	}
	l.Rules = slices.DeleteFunc(l.Rules, func(p resolved.Rule) bool {
		absent := p.Kept == nil && p.Desired.Held.Has(model.HeldRefused)
		if absent {
			l.Omitted = append(l.Omitted, p)
		}
		return absent
	})
	return taken
}

// isPlaceholder reports whether a live rule is the 503 of a held rule, which is worth less than any
// other live rule.
func isPlaceholder(r *observed.Rule) bool {
	return len(r.Transforms) == 0 && plan.IsHeldResponse(r.Actions)
}

// ownRules returns the live rules that belong to rules which are not held: those with their conditions.
// Where AWS only refuses to make or change a rule of the same conditions, they are those that are just
// what is desired, or on their way there.
func (lr *Resolver) ownRules(l *resolved.Listener) map[string]bool {
	out := map[string]bool{}
	if l.Live == nil {
		return out
	}
	refused := map[string]bool{}
	for i := range l.Rules {
		if p := &l.Rules[i]; p.Desired.Held == model.HeldRefused {
			refused[p.ConditionsKey()] = true
		}
	}
	byKey := map[string][]observed.Rule{}
	for i := range l.Live.Rules {
		r := &l.Live.Rules[i]
		byKey[lr.keys.Of(r)] = append(byKey[lr.keys.Of(r)], *r)
	}
	for i := range l.Rules {
		p := &l.Rules[i]
		if p.Held() {
			continue
		}
		key := p.ConditionsKey()
		just := false
		for _, o := range byKey[key] {
			switch {
			case out[o.ARN]:
				continue
			case !refused[key]:
			case !just && lr.doesExactly(*p, o):
				just = true
			case !lr.isMovingTo(*p, o):
				continue
			}
			out[o.ARN] = true
		}
	}
	return out
}

// doesExactly reports whether a live rule of the same conditions does exactly what a desired one is to do.
func (lr *Resolver) doesExactly(p resolved.Rule, o observed.Rule) bool {
	return equal.SameActions(p.Desired.Actions, o.Actions, lr.ARN) && equal.SameTransforms(p.Desired.Transforms, o.Transforms)
}

// isMovingTo reports whether a live rule of the same conditions has been made for a desired one: it
// forwards to the same target groups and to others, as rules do until new targets are healthy.
func (lr *Resolver) isMovingTo(p resolved.Rule, o observed.Rule) bool {
	w, h := equal.ForwardOf(p.Desired.Actions), equal.ForwardOf(o.Actions)
	if w == nil || h == nil || len(h.Groups) <= len(w.Groups) {
		return false
	}
	return !slices.ContainsFunc(w.Groups, func(g model.WeightedGroup) bool {
		return !slices.ContainsFunc(h.Groups, func(x model.WeightedGroup) bool { return x.Group.ARN == lr.ARN(g.Group) })
	})
}
