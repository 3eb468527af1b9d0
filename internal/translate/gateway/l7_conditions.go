package gateway

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// ruleConditions are the conditions of a rule of a listener.
type ruleConditions struct {
	list []model.Condition
	// fault is the reason why AWS does not support the conditions; "" if AWS supports them. The finding about this has fault
	// as message, fix as advice, and reason as reason.
	fault, fix string
	reason     finding.Reason
	// inexactValue is a value for an exact match that has characters which AWS treats as wildcards; "" if there is none.
	inexactValue string
}

func (c *ruleConditions) setUnsupported(fault, fix string) {
	if c.fault == "" {
		c.fault, c.fix, c.reason = fault, fix, finding.RouteValueUnsupported
	}
}

// wildcards are the characters that AWS treats as wildcards in plain values.
const wildcards = "*?"

// conditionBuilder builds the conditions of a listener rule from a match of a route.
type conditionBuilder struct{ *translation }

// conditionsOf returns the conditions for a hostname, a match, and clients, which are the client addresses in a
// ListenerRuleConfiguration.
func (t conditionBuilder) conditionsOf(host string, m *match, grpc bool, clients []model.SourceIP) ruleConditions {
	var c ruleConditions
	if host != "" {
		c.list = append(c.list, t.hostCondition(host))
	}
	switch {
	case grpc:
		c.list = append(c.list, model.PathPattern{Values: []string{procedurePath(m)}})
	case m.path == anyPath:
		if host == "" {
			c.list = append(c.list, model.PathPattern{Values: []string{"/*"}}) // AWS requires a condition
		}
	default:
		c.list = append(c.list, t.pathCondition(&c, m))
	}
	for _, h := range m.headers {
		c.list = append(c.list, t.headerCondition(&c, h, grpc))
	}
	for _, q := range m.queries {
		c.list = append(c.list, t.queryCondition(&c, q))
	}
	if m.method != "" {
		c.list = append(c.list, model.RequestMethod{Values: []string{m.method}})
	}
	for _, s := range clients {
		c.list = append(c.list, s)
	}
	if why, fix := t.opt.Conditions.ExceededLimit(c.list, "matches"); why != "" && c.fault == "" {
		c.fault, c.fix, c.reason = why, fix, finding.RuleTooLarge
	}
	return c
}

// hostCondition returns the condition for a hostname. With strictConformance, it is a regular expression that also matches a
// Host header with a port, as the Gateway API requires.
func (t conditionBuilder) hostCondition(host string) model.HostHeader {
	if expr := model.HostPattern(host); t.strictConformance && len(expr) <= assemble.MaxValueLength {
		return model.HostHeader{Regex: []string{expr}}
	}
	return model.HostHeader{Values: []string{host}}
}

func (t conditionBuilder) pathCondition(c *ruleConditions, m *match) model.PathPattern {
	v := m.value
	switch {
	case m.path == regexPath:
		c.checkExpression("path", v)
		return model.PathPattern{Regex: []string{v}}
	case m.path == exactPath && !strings.ContainsAny(v, wildcards):
		return model.PathPattern{Values: []string{v}}
	case m.path == exactPath && t.strictConformance:
		return model.PathPattern{Regex: []string{"^" + regexp.QuoteMeta(v) + "$"}}
	case m.path == exactPath:
		c.inexactValue = v
		return model.PathPattern{Values: []string{v}}
	case v == "/":
		return model.PathPattern{Values: []string{"/*"}}
	}
	v = strings.TrimSuffix(v, "/")
	if strings.ContainsAny(v, wildcards) {
		return model.PathPattern{Regex: []string{"^" + regexp.QuoteMeta(v) + "(/.*)?$"}}
	}
	return model.PathPattern{Values: []string{v, v + "/*"}}
}

// checkExpression sets fault if AWS does not accept the regular expression v. It uses the parser of Go, because AWS and Go
// accept nearly the same expressions. It does not compile v, because a compiled expression with repetitions can be very
// large. what is the kind of the expression, for messages. Expressions that are too long are not checked here.
func (c *ruleConditions) checkExpression(what, v string) {
	if len(v) > assemble.MaxValueLength {
		return
	}
	if _, err := syntax.Parse(v, syntax.Perl); err != nil {
		c.setUnsupported(fmt.Sprintf("AWS does not support the %s expression %q", what, finding.TruncateValue(v)), "use an expression without look-around, back references and possessive quantifiers")
	}
}

func (t conditionBuilder) headerCondition(c *ruleConditions, h fieldMatch, grpc bool) model.HTTPHeader {
	if h.regex && !(grpc && isLiteral(h.value)) {
		c.checkExpression("header", h.value)
		return model.HTTPHeader{Name: h.name, Regex: []string{h.value}}
	}
	out := model.HTTPHeader{Name: h.name, Values: headerValues(h.value)}
	if strings.ContainsAny(h.value, wildcards) {
		c.inexactValue = h.value
		if t.strictConformance {
			c.setUnsupported(fmt.Sprintf("value %q of header %q has wildcards, which AWS cannot match literally", finding.TruncateValue(h.value), finding.TruncateValue(h.name)), "use type RegularExpression")
		}
	}
	return out
}

// headerValues splits the value of a header match at commas into alternative values. A backslash makes the next character
// literal.
func headerValues(v string) []string {
	var out []string
	var part strings.Builder
	for i := 0; i < len(v); i++ {
		switch {
		case v[i] == '\\' && i+1 < len(v):
			i++
			part.WriteByte(v[i])
		case v[i] == ',':
			out = append(out, part.String())
			part.Reset()
		default:
			part.WriteByte(v[i])
		}
	}
	return append(out, part.String())
}

func (t conditionBuilder) queryCondition(c *ruleConditions, q fieldMatch) model.QueryString {
	if q.regex && !isLiteral(q.value) {
		c.setUnsupported(fmt.Sprintf("query parameter %q has the regular expression %q, and AWS supports no regular expressions for query parameters", finding.TruncateValue(q.name), finding.TruncateValue(q.value)), "use type Exact, with * and ? as wildcards")
	}
	if !q.regex && strings.ContainsAny(q.name+q.value, wildcards) {
		if t.strictConformance {
			literal := strings.NewReplacer(`*`, `\*`, `?`, `\?`).Replace
			return model.QueryString{Pairs: []model.QueryPair{{Key: literal(q.name), Value: literal(q.value)}}}
		}
		c.inexactValue = q.value
	}
	return model.QueryString{Pairs: []model.QueryPair{{Key: q.name, Value: q.value}}}
}

// procedurePath returns the path pattern for the gRPC calls that a match of a GRPCRoute selects: "/service/method", with "*"
// in place of a part that the match does not set.
func procedurePath(m *match) string {
	switch {
	case m.service != "" && m.procedure != "":
		return "/" + m.service + "/" + m.procedure
	case m.service != "":
		return "/" + m.service + "/*"
	case m.procedure != "":
		return "/*/" + m.procedure
	}
	return "/*"
}
