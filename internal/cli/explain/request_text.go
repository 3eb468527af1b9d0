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

// maxAnswers is the maximum number of answers, and of endpoints of an endpoint group, that are shown.
const maxAnswers = 20

// showAnswers prints the answers to a request. All load balancers that accept requests for any host are on one line.
func showAnswers(w io.Writer, doc RequestDocument) {
	fmt.Fprintln(w, finding.EscapeNonPrintable(doc.Request))
	showAccelerator(w, doc.Accelerator)
	showUnserved(w, doc.Unserved, len(doc.Answers))
	named := slices.DeleteFunc(slices.Clone(doc.Answers), func(a requestAnswer) bool { return a.Named == "" })
	forAnyHost := slices.DeleteFunc(slices.Clone(doc.Answers), func(a requestAnswer) bool { return a.Named != "" })
	if len(named) == 0 && len(forAnyHost) == 1 {
		named, forAnyHost = forAnyHost, nil
	}
	output.ShowFirst(named, maxAnswers, func(a requestAnswer) { showAnswer(w, a) }, output.ShowMore(w, "… and %d more load balancers"))
	if len(forAnyHost) > 0 {
		fmt.Fprintf(w, "\n%s\n", anyHostText(forAnyHost))
	}
	for _, n := range doc.Notes {
		fmt.Fprintf(w, "# %s\n", n)
	}
}

// anyHostText returns a line about the load balancers that accept requests for any host.
func anyHostText(answers []requestAnswer) string {
	var names []string
	for _, a := range answers[:min(len(answers), maxNamesInLine)] {
		names = append(names, model.Kind(a.Kind).ObjectKind()+" "+a.ID)
	}
	among := ": "
	if more := len(answers) - maxNamesInLine; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
		among = ", among them "
	}
	return fmt.Sprintf("%s any host on this port%s%s; to see the answer of one load balancer, give its DNS name as the host, or its namespace with -n",
		output.CountWithNoun(len(answers), "load balancer")+map[bool]string{true: " takes", false: " take"}[len(answers) == 1], among, finding.EscapeNonPrintable(strings.Join(names, ", ")))
}

// maxNamesInLine is the maximum number of load balancers that anyHostText names.
const maxNamesInLine = 3

// showAnswer prints the answer of a load balancer.
func showAnswer(w io.Writer, a requestAnswer) {
	fmt.Fprintf(w, "\n%s %s: %s load balancer %s, listener %s:%d\n", model.Kind(a.Kind).ObjectKind(), a.ID, a.Type, a.LoadBalancer, a.Protocol, a.Port)
	if a.Named != "" {
		fmt.Fprintf(w, "  listed because of %s\n", a.Named)
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
	output.ShowFirst(a.Shadowed, tree.MaxRules, func(r explainedRule) { fmt.Fprintf(w, "   %s\n", ruleText(r)) }, output.ShowMore(w, "    … and %d more"))
}
