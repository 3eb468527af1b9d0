package migrate

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// maxObstaclesShown is the maximum number of obstacles that are shown for one load balancer.
const maxObstaclesShown = 20

// showStatus prints the status as text to w, and the commands to plain, which does not wrap lines, so that users can copy
// them.
func showStatus(plain, w io.Writer, doc StatusDocument) {
	if len(doc.LoadBalancers) == 0 {
		fmt.Fprintln(w, "no Ingress of this controller has a load balancer, and no Gateway requests one")
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "LOAD BALANCER OF\tGATEWAY\tSTATE")
	for _, s := range doc.LoadBalancers {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.title(), cmp.Or(s.Gateway, "-"), s.State)
	}
	table.Flush()
	plain = output.PrintableWriter(plain)
	for _, s := range doc.LoadBalancers {
		fmt.Fprintf(w, "\n%s: %s\n", s.title(), s.State)
		if s.Reason != "" {
			fmt.Fprintf(w, "# state not known: %s\n", s.Reason)
		}
		output.ShowFirst(s.Obstacles, maxObstaclesShown,
			func(f output.Finding) { fmt.Fprintf(w, "# obstacle: %s\n", f.Message) },
			func(n int) {
				fmt.Fprintf(w, "# … and %s, which -o json shows\n", output.CountWithNoun(n, "more finding"))
			})
		for _, n := range s.Notes {
			fmt.Fprintf(w, "# %s\n", n)
		}
		fmt.Fprintf(w, "next: %s\n", s.Next)
		if s.Command != "" {
			fmt.Fprintf(plain, "  %s\n", s.Command)
		}
		if s.Back != "" {
			fmt.Fprintln(w, "to give it back:")
			fmt.Fprintf(plain, "  %s\n", s.Back)
		}
	}
}

// title returns the name of the IngressGroup, Ingress or Service of the load balancer, or of the Gateway if its annotation
// names none.
func (s Status) title() string {
	if s.Kind == "" {
		return "Gateway " + finding.EscapeNonPrintable(s.Gateway)
	}
	return finding.EscapeNonPrintable(s.fromStack.Title())
}
