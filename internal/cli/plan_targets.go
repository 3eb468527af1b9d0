package cli

import (
	"fmt"
	"io"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// showBindings prints the notes, the plans of bindings that have steps or findings, the steps for rules of the security
// groups of nodes and pods, and a summary.
func showBindings(w io.Writer, p input.BindingPlans) {
	for _, n := range p.Notes {
		fmt.Fprintf(w, "# %s\n", finding.EscapeNonPrintable(n))
	}
	for _, b := range p.Bindings {
		if len(b.Items)+len(b.Findings) == 0 {
			continue
		}
		fmt.Fprintf(w, "# TargetGroupBinding %s\n", b.Key)
		output.ShowFindings(w, b.Findings)
		fmt.Fprintln(w, planOrNoChanges(bindingplan.ItemsText(b.Items)))
	}
	if len(p.Rules) > 0 {
		fmt.Fprintf(w, "# rules of the security groups of nodes and pods, for all TargetGroupBindings\n%s\n", bindingplan.ItemsText(p.Rules))
	}
	if n := countTargets(p); n != (targetsSummary{}) {
		fmt.Fprintln(w, n)
	}
}

// planOrNoChanges returns the text of a plan, or "no changes" if text is empty.
func planOrNoChanges(text string) string {
	if text == "" {
		return "no changes\n"
	}
	return text
}

// targetsSummary counts the steps of all bindings.
type targetsSummary struct {
	// Register counts targets that are registered.
	Register int `json:"register"`
	// Deregister counts targets that are deregistered.
	Deregister int `json:"deregister"`
	// Authorize counts rules that are added to the security groups of nodes and pods.
	Authorize int `json:"authorize"`
	// Revoke counts rules that are removed from the security groups of nodes and pods.
	Revoke int `json:"revoke"`
	// Other counts changes of finalizers and of records of registered targets.
	Other int `json:"other"`
}

// countItems adds the items of a plan to the counts.
func (s *targetsSummary) countItems(items []bindingplan.PlanItem) {
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

// String returns the counts, except Other, in one line.
func (s targetsSummary) String() string {
	return fmt.Sprintf("targets: %d to register, %d to deregister; rules of nodes and pods: %d to authorize, %d to revoke",
		s.Register, s.Deregister, s.Authorize, s.Revoke)
}

// countTargets counts the steps of all bindings, and the steps for security group rules.
func countTargets(p input.BindingPlans) (s targetsSummary) {
	for _, b := range p.Bindings {
		s.countItems(b.Items)
	}
	s.countItems(p.Rules)
	return s
}

// addBindings adds the plans of bindings and their counts to the document.
func (doc *PlanDocument) addBindings(p input.BindingPlans) {
	doc.Targets = countTargets(p)
	for _, b := range p.Bindings {
		doc.Bindings = append(doc.Bindings, b.Document())
	}
	doc.Rules = input.ItemSteps(p.Rules)
}
