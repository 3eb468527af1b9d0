package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// ActionsText describes actions in readable form.
func ActionsText(as []model.Action) string {
	var out []string
	for _, a := range as {
		out = append(out, actionText(a))
	}
	return strings.Join(out, ", then ")
}

func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Bounds of what is printed: values are what users choose.
const (
	longestText = 300 // characters of a value
	mostFields  = 40  // of a step
)

// Text returns the plan for people: a line per step with its reason, and a line per field that is changed,
// or that something new gets. Signs: + create, ~ change, - delete, . wait.
func (p Plan) Text() string { return p.TextWith(Names{}) }

// TextWith is Text with names in place of ARNs and ids.
func (p Plan) TextWith(names Names) string {
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
		for _, c := range fields[:min(len(fields), mostFields)] {
			fmt.Fprintf(&b, "    %s\n", c.withNames(names))
		}
		if more := len(fields) - mostFields; more > 0 {
			fmt.Fprintf(&b, "    … and %d more\n", more)
		}
	}
	return b.String()
}

// String returns the change in readable form, in one line: values and keys are what users choose.
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
func (c Change) withNames(n Names) Change {
	return Change{n.Replace(c.Path), n.Replace(c.From), n.Replace(c.To)}
}

// clip makes a text printable and bounds it.
func clip(s string) string { return clipTo(longestText, s) }

func clipTo(most int, s string) string {
	s = finding.Printable(s)
	n := utf8.RuneCountInString(s)
	if n <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d characters)", string([]rune(s)[:most]), n)
}

// RefTexts returns the names of target groups in a row.
func RefTexts(groups []model.GroupRef) string {
	var out []string
	for _, g := range groups {
		out = append(out, equal.RefText(g))
	}
	return strings.Join(out, " and ")
}

func TargetGroupsText(groups []model.GroupRef) string {
	out := "target group"
	for i, g := range groups {
		if i > 0 {
			out += " or"
		}
		out += fmt.Sprintf(" %q", equal.RefText(g))
	}
	return out
}

func actionText(a model.Action) string {
	switch a := a.(type) {
	case model.Forward:
		var gs []string
		for _, g := range a.Groups {
			s := equal.RefText(g.Group)
			if g.Weight != nil && len(a.Groups) > 1 {
				s += fmt.Sprintf(" (%d)", *g.Weight)
			}
			gs = append(gs, s)
		}
		return "forward to " + strings.Join(gs, ", ")
	case model.Redirect:
		n := equal.NormalRedirect(a)
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
