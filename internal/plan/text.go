package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Bounds of what is printed: values are what users choose.
const (
	longestText = 300 // characters of a value
	mostFields  = 40  // of a step
)

// Text is the plan for people: a line per step with its reason, and a line per field that is changed,
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
		fmt.Fprintf(&b, "%s %s", sign, names.In(string(s.ID)))
		if s.Why != "" {
			fmt.Fprintf(&b, "   # %s", names.In(s.Why))
		}
		if s.Waits() {
			fmt.Fprintf(&b, "   waits for %s", names.In(s.Wait.For))
		}
		if s.Impact == DeleteImpact || s.Impact == ReplaceImpact || s.Impact == BriefImpact {
			fmt.Fprintf(&b, "   (impact: %s)", s.Impact)
		}
		b.WriteByte('\n')
		fields := s.Fields()
		for _, c := range fields[:min(len(fields), mostFields)] {
			fmt.Fprintf(&b, "    %s\n", c.in(names))
		}
		if more := len(fields) - mostFields; more > 0 {
			fmt.Fprintf(&b, "    … and %d more\n", more)
		}
	}
	return b.String()
}

// String is the change for people, in one line: values and keys are what users choose.
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

// in is the change with names in place of ARNs and ids.
func (c Change) in(n Names) Change { return Change{n.In(c.Path), n.In(c.From), n.In(c.To)} }

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
