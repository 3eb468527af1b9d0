package cli

import (
	"fmt"
	"io"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// showBindings prints the plans that have something to say.
func showBindings(w io.Writer, p input.BindingPlans) {
	for _, n := range p.Notes {
		fmt.Fprintf(w, "# %s\n", finding.Printable(n))
	}
	for _, b := range p.Bindings {
		if len(b.Items)+len(b.Findings) == 0 {
			continue
		}
		fmt.Fprintf(w, "# TargetGroupBinding %s\n", b.Key)
		output.ShowFindings(w, b.Findings)
		fmt.Fprintln(w, orNothing(bindingplan.Text(b.Items)))
	}
	if len(p.Rules) > 0 {
		fmt.Fprintf(w, "# rules of the security groups of nodes and pods, for all TargetGroupBindings\n%s\n", bindingplan.Text(p.Rules))
	}
	if n := countTargets(p); n != (targetsSummary{}) {
		fmt.Fprintln(w, n)
	}
}

func orNothing(text string) string {
	if text == "" {
		return "no changes\n"
	}
	return text
}

// targetsSummary counts what the plans of bindings do.
type targetsSummary struct {
	Register   int `json:"register"`
	Deregister int `json:"deregister"`
	Authorize  int `json:"authorize"`
	Revoke     int `json:"revoke"`
	// Other counts finalizers and records of targets.
	Other int `json:"other"`
}

func (s *targetsSummary) add(items []bindingplan.Item) {
	for _, i := range items {
		switch i.Verb {
		case "register":
			s.Register++
		case "deregister":
			s.Deregister++
		case "authorize":
			s.Authorize++
		case "revoke":
			s.Revoke++
		default:
			s.Other++
		}
	}
}

// String returns the summary in one line.
func (s targetsSummary) String() string {
	return fmt.Sprintf("targets: %d to register, %d to deregister; rules of nodes and pods: %d to authorize, %d to revoke",
		s.Register, s.Deregister, s.Authorize, s.Revoke)
}

func countTargets(p input.BindingPlans) (s targetsSummary) {
	for _, b := range p.Bindings {
		s.add(b.Items)
	}
	s.add(p.Rules)
	return s
}

// addBindings adds the plans of bindings to a document.
func (all *planDocument) addBindings(p input.BindingPlans) {
	all.Targets = countTargets(p)
	for _, b := range p.Bindings {
		all.Bindings = append(all.Bindings, b.Document())
	}
	all.Rules = input.ItemDocuments(p.Rules)
}
