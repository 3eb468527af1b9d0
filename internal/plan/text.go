package plan

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Text is the plan for people: a line per step with its reason, and a line per changed field.
// Signs: + create, ~ change, - delete, . wait.
func (p Plan) Text() string {
	if p.Empty() {
		return "no changes\n"
	}
	var b strings.Builder
	for _, s := range p.Steps {
		sign := map[Verb]string{Create: "+", Update: "~", Delete: "-"}[s.Verb]
		if s.Waits() {
			sign = "."
		}
		fmt.Fprintf(&b, "%s %s", sign, s.ID)
		if s.Why != "" {
			fmt.Fprintf(&b, "   because %s", s.Why)
		}
		if s.Waits() {
			fmt.Fprintf(&b, "   waits for %s", s.Wait.For)
		}
		if s.Impact == DeleteImpact || s.Impact == ReplaceImpact || s.Impact == BriefImpact {
			fmt.Fprintf(&b, "   (impact: %s)", s.Impact)
		}
		b.WriteByte('\n')
		for _, c := range s.Changes {
			fmt.Fprintf(&b, "    %s\n", c)
		}
	}
	return b.String()
}

// String is the change for people, in one line: values and keys are what users choose.
func (c Change) String() string {
	text := c.Path + ": " + c.From + " -> " + c.To
	switch {
	case c.From == "":
		text = c.Path + ": " + c.To
	case c.To == "":
		text = c.Path + ": " + c.From + " removed"
	}
	return finding.Printable(text)
}
