package assemble

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// What AWS takes in the conditions of a rule. Character sets are left to AWS to judge.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const (
	// ValueLength is how long hosts, paths, header and query values may be, plain or regex.
	ValueLength = 128

	conditionValues    = 5  // over all conditions of a rule
	conditionWildcards = 5  // likewise
	nameLength         = 40 // of header names and methods
)

// ConditionLimits are how many values and wildcards AWS takes in the conditions of a rule, which quotas can
// change.
type ConditionLimits struct{ Values, Wildcards int }

// OrDefault has what AWS takes by default where a limit is not set.
func (l ConditionLimits) OrDefault() ConditionLimits {
	return ConditionLimits{Values: cmp.Or(l.Values, conditionValues), Wildcards: cmp.Or(l.Wildcards, conditionWildcards)}
}

// Excess returns which limit the conditions of a rule break, "" if none, and which flag says that AWS
// has raised it.
func (l ConditionLimits) Excess(cs []model.Condition) (why, flag string) {
	values, wildcards, long := 0, 0, ""
	length := func(what, s string, most int) {
		if long == "" && len(s) > most {
			long = fmt.Sprintf("%s %q has %d characters, and AWS takes %d", what, finding.CutTo(40, s), len(s), most)
		}
	}
	patterns := func(what string, plain, regex []string) {
		values += len(plain) + len(regex)
		for _, s := range plain {
			length(what, s, ValueLength)
			wildcards += strings.Count(s, "*") + strings.Count(s, "?")
		}
		for _, s := range regex {
			length(what+" expression", s, ValueLength)
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
				length("query key", p.Key, ValueLength)
				length("query value", p.Value, ValueLength)
				wildcards += unescapedWildcards(p.Key) + unescapedWildcards(p.Value)
			}
		case model.SourceIP:
			values += len(c.CIDRs)
		}
	}
	switch {
	case long != "":
		return long, ""
	case values > l.Values:
		return fmt.Sprintf("its conditions have %d values together, and AWS takes %d", values, l.Values), "--max-condition-values-per-rule"
	case wildcards > l.Wildcards:
		return fmt.Sprintf("its conditions have %d wildcards together, and AWS takes %d", wildcards, l.Wildcards), "--max-condition-wildcards-per-rule"
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
