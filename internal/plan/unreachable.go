package plan

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// tellUnreachable reports rules of a listener that get no requests, because rules that are not held come
// first: of other members, or with the very same conditions.
func (b *builder) tellUnreachable(l *listenerPlan) {
	rules := make([]model.Rule, 0, len(l.rules))
	for _, p := range l.rules {
		r := p.wish
		r.Held = p.held
		rules = append(rules, r)
	}
	told := map[int]bool{}
	for _, c := range model.Unreachable(rules) {
		told[c.Rule] = true
		b.found.Add(UnreachableRule(rules[c.Rule], rules[c.By]))
	}
	first := map[string]int{}
	for i, r := range rules {
		if r.Held {
			continue
		}
		key := conditionsKey(r.Conditions)
		if by, twice := first[key]; !twice {
			first[key] = i
		} else if !told[i] {
			b.found.Add(UnreachableRule(r, rules[by]))
		}
	}
}

// UnreachableRule is the finding about a rule that gets no requests, because another one comes first.
func UnreachableRule(r, by model.Rule) finding.Finding {
	what := fmt.Sprintf("the rule for path %q", strings.Join(r.Paths(), ", "))
	if hosts := r.Hosts(); len(hosts) > 0 {
		what = fmt.Sprintf("the rule for host %q and path %q", strings.Join(hosts, ", "), strings.Join(r.Paths(), ", "))
	}
	if r.Member == by.Member {
		return finding.Finding{
			Object: r.Member, Field: r.Origin.Field, Reason: finding.RuleUnreachable, Severity: finding.Warning,
			Message: fmt.Sprintf("%s gets no requests; %s of the same object has the same conditions and comes first", what, by.Origin.Field),
			Fix:     "remove one of them, or change its host or path",
		}
	}
	return finding.Finding{
		Object: r.Member, Field: r.Origin.Field, Reason: finding.RuleUnreachable, Severity: finding.Warning,
		Message: fmt.Sprintf("%s gets no requests; %s of %s comes first in group order and answers them", what, by.Origin.Field, by.Member),
		Fix:     "change the host or path of one of them, or set group.order",
	}
}
