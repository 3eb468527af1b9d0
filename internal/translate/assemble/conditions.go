package assemble

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Limits of AWS for the conditions of a rule. Only AWS checks which characters they contain.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const (
	// MaxValueLength is the maximum length of a host, path, header value or query value, plain or as a regular expression.
	MaxValueLength = 128

	defaultMaxValues    = 5  // in all conditions of a rule
	defaultMaxWildcards = 5  // in all conditions of a rule
	maxNameLength       = 40 // of names of headers and of HTTP methods
)

// ConditionLimits has the maximum numbers of values and of wildcards in all conditions of a rule together. AWS can raise
// these quotas.
type ConditionLimits struct{ Values, Wildcards int }

// withDefaults returns the limits, with the default quotas of AWS for limits that are 0.
func (l ConditionLimits) withDefaults() ConditionLimits {
	return ConditionLimits{Values: cmp.Or(l.Values, defaultMaxValues), Wildcards: cmp.Or(l.Wildcards, defaultMaxWildcards)}
}

// ExceededLimit returns a message about a limit that the conditions of a rule exceed, and its fix; "" if they exceed none.
// parts are the fields over which a user can split a rule, such as "paths".
func (l ConditionLimits) ExceededLimit(cs []model.Condition, parts string) (why, fix string) {
	values, wildcards, long := 0, 0, ""
	length := func(what, s string, most int) {
		if long == "" && len(s) > most {
			long = fmt.Sprintf("%s %q has %d characters, and AWS allows %d", what, finding.Truncate(s, 40), len(s), most)
		}
	}
	patterns := func(what string, plain, regex []string) {
		values += len(plain) + len(regex)
		for _, s := range plain {
			length(what, s, MaxValueLength)
			wildcards += strings.Count(s, "*") + strings.Count(s, "?")
		}
		for _, s := range regex {
			length(what+" expression", s, MaxValueLength)
		}
	}
	for _, c := range cs {
		switch c := c.(type) {
		case model.HostHeader:
			patterns("host", c.Values, c.Regex)
		case model.PathPattern:
			patterns("path", c.Values, c.Regex)
		case model.HTTPHeader:
			length("header name", c.Name, maxNameLength)
			patterns("header value", c.Values, c.Regex)
		case model.RequestMethod:
			values += len(c.Values)
			for _, s := range c.Values {
				length("method", s, maxNameLength)
			}
		case model.QueryString:
			values += len(c.Pairs)
			for _, p := range c.Pairs {
				length("query key", p.Key, MaxValueLength)
				length("query value", p.Value, MaxValueLength)
				wildcards += unescapedWildcards(p.Key) + unescapedWildcards(p.Value)
			}
		case model.SourceIP:
			values += len(c.CIDRs)
		}
	}
	fix = "split it into several " + parts + ", or shorten its values"
	const raised = "; if AWS has raised the quota, ask the operator to set "
	switch {
	case long != "":
		return long, fix
	case values > l.Values:
		return fmt.Sprintf("its conditions have %d values together, and AWS allows %d", values, l.Values), fix + raised + "--max-condition-values-per-rule"
	case wildcards > l.Wildcards:
		return fmt.Sprintf("its conditions have %d wildcards together, and AWS allows %d", wildcards, l.Wildcards), fix + raised + "--max-condition-wildcards-per-rule"
	}
	return "", ""
}

// unescapedWildcards returns the number of wildcards in a query key or value. A character after a backslash is no
// wildcard.
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
