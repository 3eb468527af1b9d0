package listeners

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
)

// reportUnreachableRules reports each rule of a listener that gets no requests, because earlier rules match all its
// requests. A held rule counts as an earlier rule, because it answers requests. Held rules are not reported.
func (lr *Resolver) reportUnreachableRules(l *resolved.Listener) {
	all := make([]model.Rule, 0, len(l.Rules))
	for _, p := range l.Rules {
		r := p.Desired
		r.Held = 0
		all = append(all, r)
	}
	reported := map[int]bool{}
	for _, c := range model.UnreachableRules(all) {
		if reported[c.Rule] = true; !l.Rules[c.Rule].IsHeld() {
			lr.Findings.Add(rules.UnreachableRuleFinding(all[c.Rule], all[c.CoveredBy]))
		}
	}
	first := map[string]int{}
	for i, r := range all {
		if l.Rules[i].IsHeld() {
			continue
		}
		key := equal.ConditionsKey(r.Conditions)
		if by, twice := first[key]; !twice {
			first[key] = i
		} else if !reported[i] {
			lr.Findings.Add(rules.UnreachableRuleFinding(r, all[by]))
		}
	}
}
