package plan

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// ActionsText returns a human-readable text of the actions of a rule.
func ActionsText(as []model.Action) string {
	var out []string
	for _, a := range as {
		out = append(out, actionText(a))
	}
	return strings.Join(out, ", then ")
}

// CountText returns a number followed by thing in singular or plural, such as "1 target" or "2 targets".
func CountText(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Limits for the text of a plan. Users control the values in the text, which may be long.
const (
	maxValueLength = 300 // characters of a value
	maxFields      = 40  // fields of a step
)

// Text returns the plan as human-readable text: one line for each step with its reason, followed by one line for each field
// that the step changes, or that the new resource gets. A step begins with a sign: + create, ~ change, - delete, . wait.
func (p Plan) Text() string { return p.TextWith(ResourceNames{}) }

// TextWith returns the same text as Text, with names in place of ARNs and ids.
func (p Plan) TextWith(names ResourceNames) string {
	if p.Empty() {
		return "no changes\n"
	}
	var b strings.Builder
	for _, s := range p.Steps {
		sign := map[Verb]string{Create: "+", Update: "~", Delete: "-"}[s.Verb]
		if s.Waits() {
			sign = "."
		}
		fmt.Fprintf(&b, "%s %s", sign, names.Replace(string(s.ID)))
		if s.Why != "" {
			fmt.Fprintf(&b, "   # %s", names.Replace(s.Why))
		}
		if s.Waits() {
			fmt.Fprintf(&b, "   waits for %s", names.Replace(s.Wait.For))
		}
		if s.Impact == DeleteImpact || s.Impact == ReplaceImpact || s.Impact == BriefImpact {
			fmt.Fprintf(&b, "   (impact: %s)", s.Impact)
		}
		b.WriteByte('\n')
		fields := s.Fields()
		for _, c := range fields[:min(len(fields), maxFields)] {
			fmt.Fprintf(&b, "    %s\n", c.withNames(names))
		}
		if more := len(fields) - maxFields; more > 0 {
			fmt.Fprintf(&b, "    … and %d more\n", more)
		}
	}
	return b.String()
}

// String returns the change as one line of human-readable text. It truncates long paths and values.
func (c Change) String() string {
	path, from, to := clip(c.Path), clip(c.From), clip(c.To)
	switch {
	case from == "":
		return path + ": " + to
	case to == "":
		return path + ": " + from + " removed"
	}
	return path + ": " + from + " -> " + to
}

// withNames returns the change with names in place of ARNs and ids.
func (c Change) withNames(n ResourceNames) Change {
	return Change{n.Replace(c.Path), n.Replace(c.From), n.Replace(c.To)}
}

// clip removes unprintable characters and truncates the text to maxValueLength characters (see clipToLength).
func clip(s string) string { return clipToLength(maxValueLength, s) }

// clipToLength removes unprintable characters. If the text then has more characters than most, it is truncated to this
// number, and "…" and the total number of characters are appended.
func clipToLength(most int, s string) string {
	s = finding.EscapeNonPrintable(s)
	n := utf8.RuneCountInString(s)
	if n <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d characters)", string([]rune(s)[:most]), n)
}

// SecurityGroupsText returns a list of security groups: their ids, or their addresses if they do not exist yet.
func SecurityGroupsText(groups []SecurityGroupRef) string {
	var out []string
	for _, g := range groups {
		out = append(out, cmp.Or(g.ID, g.Address.String()))
	}
	return strings.Join(out, ", ")
}

// TargetGroupNamesText returns the names of target groups, separated by "and".
func TargetGroupNamesText(groups []model.TargetGroupRef) string {
	var out []string
	for _, g := range groups {
		out = append(out, equal.TargetGroupRefText(g))
	}
	return strings.Join(out, " and ")
}

// TargetGroupsText returns "target group" and the quoted names of target groups, separated by "or".
func TargetGroupsText(groups []model.TargetGroupRef) string {
	out := "target group"
	for i, g := range groups {
		if i > 0 {
			out += " or"
		}
		out += fmt.Sprintf(" %q", equal.TargetGroupRefText(g))
	}
	return out
}

// actionText returns a human-readable text of one action.
func actionText(a model.Action) string {
	switch a := a.(type) {
	case model.Forward:
		var gs []string
		for _, g := range a.Groups {
			s := equal.TargetGroupRefText(g.Group)
			if g.Weight != nil && len(a.Groups) > 1 {
				s += fmt.Sprintf(" (%d)", *g.Weight)
			}
			gs = append(gs, s)
		}
		return "forward to " + strings.Join(gs, ", ")
	case model.Redirect:
		n := equal.RedirectWithDefaults(a)
		return fmt.Sprintf("redirect %s to %s://%s:%s%s?%s", a.Status, n.Protocol, n.Host, n.Port, n.Path, n.Query)
	case model.FixedResponse:
		return "answer " + a.Status
	case model.AuthOIDC:
		return "authenticate by OIDC at " + a.Issuer
	case model.AuthCognito:
		return "authenticate by Cognito"
	case model.ValidateJWT:
		return "validate tokens of " + a.Issuer
	}
	return fmt.Sprintf("%T", a)
}
