package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// ConditionsText returns a human-readable text of the conditions of a rule, in one line; "always" if there are none. A long
// text is truncated.
func ConditionsText(conditions []model.Condition) string {
	var parts []string
	for _, c := range conditions {
		switch c := c.(type) {
		case model.HostHeader:
			parts = append(parts, "host "+joinAlternatives(c.Values, hostTexts(c.Regex)))
		case model.PathPattern:
			parts = append(parts, "path "+joinAlternatives(c.Values, c.Regex))
		case model.HTTPHeader:
			parts = append(parts, "header "+c.Name+" "+joinAlternatives(c.Values, c.Regex))
		case model.RequestMethod:
			parts = append(parts, "method "+joinAlternatives(c.Values, nil))
		case model.QueryString:
			var pairs []string
			for _, p := range c.Pairs {
				pairs = append(pairs, p.Key+"="+p.Value)
			}
			parts = append(parts, "query "+joinAlternatives(pairs, nil))
		case model.SourceIP:
			parts = append(parts, "source "+joinAlternatives(c.CIDRs, nil))
		}
	}
	if len(parts) == 0 {
		return "always"
	}
	return clip(strings.Join(parts, ", "))
}

// RuleText returns a text that identifies a listener rule by its port and conditions. Two rules have the same text if and only
// if they have the same port, and equal.SameConditions reports true for their conditions.
func RuleText(port int32, conditions []model.Condition) string {
	return formatInt32(port) + " " + equal.ConditionsKey(conditions)
}

// hostTexts returns regular expressions for hosts as text. An expression that was made from a hostname is shown as this
// hostname and "(any port)", because it also matches a Host header with a port. Plain values of a host condition do not
// match such a header.
func hostTexts(expressions []string) []string {
	out := slices.Clone(expressions)
	for i, expr := range out {
		if host, ok := model.PlainHost(expr); ok {
			out[i] = host + " (any port)"
		}
	}
	return out
}

// joinAlternatives joins the values of a condition with "or". At most 50 plain values and 50 regular expressions are shown:
// AWS admits far fewer, but users may write more.
func joinAlternatives(values, regex []string) string {
	const most = 50
	var out []string
	for _, list := range [][]string{values, regex} {
		out = append(out, list[:min(len(list), most)]...)
	}
	return strings.Join(out, " or ")
}
