package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// mostAnswers are shown.
const mostAnswers = 20

func showAnswers(w io.Writer, doc RequestDocument) {
	fmt.Fprintln(w, finding.Printable(doc.Request))
	showAccelerator(w, doc.Accelerator)
	showUnserved(w, doc.Unserved, len(doc.Answers))
	named := slices.DeleteFunc(slices.Clone(doc.Answers), func(a requestAnswer) bool { return a.Named == "" })
	others := slices.DeleteFunc(slices.Clone(doc.Answers), func(a requestAnswer) bool { return a.Named != "" })
	if len(named) == 0 && len(others) == 1 {
		named, others = others, nil
	}
	output.ShowFirst(named, mostAnswers, func(a requestAnswer) { showAnswer(w, a) },
		func(n int) { fmt.Fprintf(w, "… and %d more load balancers\n", n) })
	if len(others) > 0 {
		fmt.Fprintf(w, "\n%s\n", anyHost(others))
	}
	for _, n := range doc.Notes {
		fmt.Fprintf(w, "# %s\n", n)
	}
}

// anyHost returns one line for load balancers that take requests for any host.
func anyHost(all []requestAnswer) string {
	var names []string
	for _, a := range all[:min(len(all), mostNamed)] {
		names = append(names, model.Kind(a.Kind).Object()+" "+a.ID)
	}
	if more := len(all) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	among := ": "
	if len(all) > mostNamed {
		among = ", among them "
	}
	return fmt.Sprintf("%s any host on this port%s%s; for the answer of one of them give the DNS name of the load balancer as the host, or its namespace with -n",
		output.Amount(len(all), "load balancer")+map[bool]string{true: " takes", false: " take"}[len(all) == 1], among, finding.Printable(strings.Join(names, ", ")))
}

// mostNamed are the load balancers of which a line has the names.
const mostNamed = 3

func showAnswer(w io.Writer, a requestAnswer) {
	fmt.Fprintf(w, "\n%s %s: %s load balancer %s, listener %s:%d\n", model.Kind(a.Kind).Object(), a.ID, a.Type, a.LoadBalancer, a.Protocol, a.Port)
	if a.Named != "" {
		fmt.Fprintf(w, "  named by %s\n", a.Named)
	}
	switch {
	case a.Rule != nil:
		fmt.Fprintf(w, "  rule %d %s   from %s\n", a.Rule.Priority, a.Rule.Conditions, a.From)
		if a.Rule.Note != "" {
			fmt.Fprintf(w, "    %s\n", a.Rule.Note)
		}
	case a.From != "":
		fmt.Fprintf(w, "  default action   from %s\n", a.From)
	default:
		fmt.Fprintln(w, "  default action")
	}
	fmt.Fprintf(w, "    -> %s\n", a.Does)
	for _, t := range a.Targets {
		fmt.Fprintf(w, "       %s: %s\n", t.TargetGroup, t.Health)
		if t.Note != "" {
			fmt.Fprintf(w, "# %s\n", t.Note)
		}
	}
	if a.Location != "" {
		fmt.Fprintf(w, "    Location: %s\n", a.Location)
	}
	if a.Now != "" {
		fmt.Fprintf(w, "  in AWS now, until the plan is carried out: %s\n", a.Now)
	}
	if len(a.Shadowed) > 0 {
		fmt.Fprintln(w, "  these rules match too and never get the request")
	}
	output.ShowFirst(a.Shadowed, tree.MaxRules, func(r explainedRule) { fmt.Fprintf(w, "   %s\n", ruleText(r)) },
		func(n int) { fmt.Fprintf(w, "    … and %d more\n", n) })
}
