package rules

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// UnreachableRuleFinding returns the finding about a rule r that gets no requests, because the rule by, which comes before
// it, answers all of them.
func UnreachableRuleFinding(r, by model.Rule) finding.Finding {
	what := fmt.Sprintf("the rule for path %q", strings.Join(r.Paths(), ", "))
	if hosts := r.Hosts(); len(hosts) > 0 {
		what = fmt.Sprintf("the rule for host %q and path %q", strings.Join(hosts, ", "), strings.Join(r.Paths(), ", "))
	}
	if r.Member == by.Member {
		why, fix := "comes first and answers them", "put the more specific rule first, remove one of them, or change its host or path"
		if equal.ConditionsKey(r.Conditions) == equal.ConditionsKey(by.Conditions) {
			why, fix = "has the same conditions and comes first", "remove one of them, or change its host or path"
		}
		return finding.Finding{
			Object: r.Member, Field: r.Origin.Field, Reason: finding.RuleUnreachable, Severity: finding.Warning,
			Message: fmt.Sprintf("%s gets no requests; %s of the same object %s", what, by.Origin.Field, why),
			Fix:     fix,
		}
	}
	why, fix := "comes first", "change the host or path of one of them"
	if model.Kind(r.Member.Kind).HasGroupOrder() {
		why, fix = why+" by group.order and name", fix+", or set group.order"
	}
	return finding.Finding{
		Object: r.Member, Field: r.Origin.Field, Reason: finding.RuleUnreachable, Severity: finding.Warning,
		Message: fmt.Sprintf("%s gets no requests; %s of %s %s and answers them", what, cmp.Or(by.Origin.Field, "a rule"), by.Member, why),
		Fix:     fix,
	}
}
