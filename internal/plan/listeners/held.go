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

// omitHeldRules omits the held rules that have the same conditions as an accepted rule, and reports them.
func (lr *Resolver) omitHeldRules(l *resolved.Listener) {
	if !l.HasHeldRule() {
		return
	}
	accepted := owners.AcceptedRules(l)
	var rest []resolved.Rule
	for i := range l.Rules {
		p := &l.Rules[i]
		in, ok := accepted[p.ConditionsKey()]
		if !ok && p.Desired.PlaceholderConditions != nil {
			in, ok = accepted[equal.ConditionsKey(p.Desired.PlaceholderConditions)]
		}
		if !p.Desired.Held.Has(model.HeldInvalid) || !ok {
			rest = append(rest, *p)
			continue
		}
		l.OmittedRules = append(l.OmittedRules, *p)
		lr.Findings.Add(finding.Finding{
			Object: p.Desired.Member, Field: p.Desired.Origin.Field, Reason: finding.HeldRuleLeftOut, Blocks: finding.BlocksRule,
			Message: fmt.Sprintf("%s is held; %s has the same conditions and gets these requests", p.Desired.Text(l.Desired.Port), in.Origin),
			Fix:     "correct the rule as the other finding about it describes, or remove the rule",
		})
	}
	l.Rules = rest
}

// holdRules chooses the observed rule that each held rule keeps. A held rule without an observed rule becomes a placeholder,
// which answers 503, or is omitted if AWS has refused the rule. AWS does not show which desired rule an observed rule
// belongs to. Therefore observed rules with the same conditions are chosen first, and then those with the same hosts and
// paths. The keys of the result are the ARNs of observed rules that held rules keep or that belong to accepted rules.
func (lr *Resolver) holdRules(l *resolved.Listener) map[string]bool {
	if !l.HasHeldRule() && len(lr.Want.Held.Members) == 0 {
		return nil
	}
	taken := lr.liveRulesOfAccepted(l)
	var live []observed.Rule
	if l.Live != nil {
		live = l.Live.Rules
	}
	// byKey returns, by key, the observed rules for which fits returns true and that no other rule has.
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
			if !p.IsHeld() || p.RetainedRule != nil {
				continue
			}
			of := rules[key(p)]
			if at := slices.IndexFunc(of, func(r *observed.Rule) bool { return lr.MayBelongTo(p.Desired.Member, *r) }); at >= 0 {
				r := of[at]
				taken[r.ARN] = true
				rules[key(p)] = slices.Delete(of, at, at+1)
				p.RetainLiveRule(r)
			}
		}
	}
	if l.HasHeldRule() {
		isReal := func(r *observed.Rule) bool { return !isPlaceholder(r) }
		keep(byKey(lr.conditionKeys.KeyOf, isReal), (*resolved.Rule).ConditionsKey)
		hostsAndPaths := func(r *observed.Rule) string { return equal.HostsAndPathsKey(r.Conditions) }
		keep(byKey(hostsAndPaths, isReal), func(p *resolved.Rule) string { return equal.HostsAndPathsKey(p.Desired.Conditions) })
		keep(byKey(lr.conditionKeys.KeyOf, isPlaceholder), func(p *resolved.Rule) string { return equal.ConditionsKey(p.PlaceholderConditions()) })
	}
	for i := range l.Rules {
		if p := &l.Rules[i]; p.IsHeld() && p.RetainedRule == nil {
			p.UsePlaceholder()
		}
	}
	l.Rules = slices.DeleteFunc(l.Rules, func(p resolved.Rule) bool {
		absent := p.RetainedRule == nil && p.Desired.Held.Has(model.HeldRefused)
		if absent {
			l.OmittedRules = append(l.OmittedRules, p)
		}
		return absent
	})
	return taken
}

// isPlaceholder reports whether an observed rule is the placeholder of a held rule, which answers 503. A held rule keeps a
// placeholder only if it can keep no other observed rule.
func isPlaceholder(r *observed.Rule) bool {
	return len(r.Transforms) == 0 && plan.IsHeldResponse(r.Actions)
}

// liveRulesOfAccepted returns the ARNs of the observed rules that belong to accepted rules, because they have the same
// conditions. If AWS refuses to create or change a rule with these conditions, an observed rule belongs to the accepted rule
// only if it is as desired, or is being changed to the desired state.
func (lr *Resolver) liveRulesOfAccepted(l *resolved.Listener) map[string]bool {
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
		byKey[lr.conditionKeys.KeyOf(r)] = append(byKey[lr.conditionKeys.KeyOf(r)], *r)
	}
	for i := range l.Rules {
		p := &l.Rules[i]
		if p.IsHeld() {
			continue
		}
		key := p.ConditionsKey()
		just := false
		for _, o := range byKey[key] {
			switch {
			case out[o.ARN]:
				continue
			case !refused[key]:
			case !just && lr.isAsDesired(*p, o):
				just = true
			case !lr.isShiftingTo(*p, o):
				continue
			}
			out[o.ARN] = true
		}
	}
	return out
}

// isAsDesired reports whether an observed rule with the same conditions has the desired actions and transforms.
func (lr *Resolver) isAsDesired(p resolved.Rule, o observed.Rule) bool {
	return equal.SameActions(p.Desired.Actions, o.Actions, lr.TargetGroupARN) && equal.SameTransforms(p.Desired.Transforms, o.Transforms)
}

// isShiftingTo reports whether an observed rule with the same conditions forwards to the desired target groups and to
// others. A rule forwards to both until the new targets are healthy.
func (lr *Resolver) isShiftingTo(p resolved.Rule, o observed.Rule) bool {
	w, h := equal.ForwardOf(p.Desired.Actions), equal.ForwardOf(o.Actions)
	if w == nil || h == nil || len(h.Groups) <= len(w.Groups) {
		return false
	}
	return !slices.ContainsFunc(w.Groups, func(g model.WeightedTargetGroup) bool {
		return !slices.ContainsFunc(h.Groups, func(x model.WeightedTargetGroup) bool { return x.Group.ARN == lr.TargetGroupARN(g.Group) })
	})
}
