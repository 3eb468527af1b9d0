package ingress

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// What AWS takes in the conditions of a rule. Character sets are left to AWS to judge.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const (
	conditionValues    = 5   // over all conditions of a rule
	conditionWildcards = 5   // likewise
	valueLength        = 128 // of hosts, paths, header and query values, plain or regex
	nameLength         = 40  // of header names and methods
)

// limits are those that quotas can change.
type limits struct{ values, wildcards int }

// excess says which limit the conditions of a rule break, "" if none, and which flag tells that AWS
// has raised it.
func (l limits) excess(cs []model.Condition) (why, flag string) {
	values, wildcards, long := 0, 0, ""
	length := func(what, s string, most int) {
		if long == "" && len(s) > most {
			long = fmt.Sprintf("%s %q has %d characters, and AWS takes %d", what, cut(s), len(s), most)
		}
	}
	patterns := func(what string, plain, regex []string) {
		values += len(plain) + len(regex)
		for _, s := range plain {
			length(what, s, valueLength)
			wildcards += strings.Count(s, "*") + strings.Count(s, "?")
		}
		for _, s := range regex {
			length(what+" expression", s, valueLength)
		}
	}
	for _, c := range cs {
		switch c := c.(type) {
		case model.HostHeader:
			patterns("host", c.Values, c.Regex)
		case model.PathPattern:
			patterns("path", c.Values, c.Regex)
		case model.HTTPHeader:
			length("header name", c.Name, nameLength)
			patterns("header value", c.Values, c.Regex)
		case model.RequestMethod:
			values += len(c.Values)
			for _, s := range c.Values {
				length("method", s, nameLength)
			}
		case model.QueryString:
			values += len(c.Pairs)
			for _, p := range c.Pairs {
				length("query key", p.Key, valueLength)
				length("query value", p.Value, valueLength)
				wildcards += unescapedWildcards(p.Key) + unescapedWildcards(p.Value)
			}
		case model.SourceIP:
			values += len(c.CIDRs)
		}
	}
	switch {
	case long != "":
		return long, ""
	case values > l.values:
		return fmt.Sprintf("its conditions have %d values together, and AWS takes %d", values, l.values), "--max-condition-values-per-rule"
	case wildcards > l.wildcards:
		return fmt.Sprintf("its conditions have %d wildcards together, and AWS takes %d", wildcards, l.wildcards), "--max-condition-wildcards-per-rule"
	}
	return "", ""
}

// unescapedWildcards counts wildcards of a query value, where a backslash makes one literal.
func unescapedWildcards(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?':
			n++
		}
	}
	return n
}

func cut(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}

// fits checks the conditions of a rule against what AWS takes.
func (t *translation) fits(m *member, p rulePath, cs []model.Condition) bool {
	why, flag := t.limits().excess(cs)
	if why == "" {
		return true
	}
	where := fmt.Sprintf("path %q", p.path.Path)
	if p.host != "" {
		where = fmt.Sprintf("host %q, path %q", p.host, p.path.Path)
	}
	fix := "split it into several paths, or shorten its values"
	if flag != "" {
		fix += "; if AWS has raised the quota, ask the operator to set " + flag
	}
	t.found.Add(finding.Finding{
		Object: m.ref, Field: p.field, Reason: finding.RuleTooLarge,
		Message: fmt.Sprintf("the rule of %s is too large: %s", where, why),
		Fix:     fix, Blocks: finding.BlocksRule,
	})
	return false
}

func (t *translation) limits() limits {
	return limits{values: t.opt.ConditionValues, wildcards: t.opt.ConditionWildcards}
}
