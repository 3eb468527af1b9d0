package ingress

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// fitsConditionLimits reports whether the conditions of a rule are within the limits of AWS. If not, it adds a finding.
func (t *translation) fitsConditionLimits(m *member, p rulePath, cs []model.Condition) bool {
	why, fix := t.opt.Conditions.ExceededLimit(cs, "paths")
	if why == "" {
		return true
	}
	where := fmt.Sprintf("path %q", p.path.Path)
	if p.host != "" {
		where = fmt.Sprintf("host %q, path %q", p.host, p.path.Path)
	}
	t.Found.Add(finding.Finding{
		Object: m.Ref, Field: p.field, Reason: finding.RuleTooLarge,
		Message: fmt.Sprintf("the rule of %s is too large: %s%s", where, why, assemble.RuleHeldText),
		Fix:     fix, Blocks: finding.BlocksRule,
	})
	return false
}
