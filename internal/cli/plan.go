package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func newPlan(env Environment) *cobra.Command {
	d := &drafting{env: env}
	cmd := &cobra.Command{
		Use: "plan", Short: "Show what the controller would change in AWS, and change nothing", Args: noArguments,
		Long: `plan reads Kubernetes objects from a cluster, from files, or from both, and AWS as it is, and prints the
steps that the controller would take. It takes the controller's flags, because they decide about the plan.
For TargetGroupBindings that exist it shows which targets are registered and deregistered, and which rules of
the security groups of nodes and pods change. Without a cluster, and with --observed, it shows less of these.

Signs: + create, ~ change, - delete, . wait; the reason follows #. A line that begins with # is a finding
about an object or a note.

Exit codes: 0 the plan was made, 1 it was not. With --detailed-exitcode: 0 nothing to change, 1 no plan,
2 something to change. Findings about objects do not count.

AWS is found by AWS_PROFILE, AWS_REGION or AWS_DEFAULT_REGION, AWS_ENDPOINT_URL and
AWS_ENDPOINT_URL_SERVICE as by AWS's own tools; flags win.`,
		Example: `  fulcrum plan --cluster-name=prod --aws-vpc-id=vpc-0123              what the cluster of KUBECONFIG lacks
  fulcrum plan --cluster-name=prod --aws-vpc-id=vpc-0123 -f web.yaml  what applying web.yaml would change
  fulcrum plan --cluster-name=prod --aws-vpc-id=vpc-0123 -f shop/ --files-only -o json`,
	}
	d.bind(cmd)
	output := cmd.Flags().StringP("output", "o", "text", "text, or json: one document with the steps and what each load balancer becomes")
	detailed := cmd.Flags().Bool("detailed-exitcode", false, "exit with 2 if there is something to change")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out, notes := cmd.OutOrStdout(), cmd.OutOrStdout()
		switch *output {
		case "text":
		case "json":
			notes = cmd.ErrOrStderr()
		default:
			return usageError{fmt.Errorf("--output %q is neither text nor json; %s", *output, seeHelp(cmd)), exitFailed}
		}
		store, err := d.objects(cmd.Context(), cmd.InOrStdin(), notes)
		if err != nil {
			return err
		}
		all := planDocument{Cluster: d.cfg.ClusterName, Stacks: []planStack{}, Bindings: []bindingDocument{}}
		err = d.each(cmd.Context(), store, func(draft engine.Draft) error {
			all.add(draft)
			if *output == "text" {
				showSteps(out, draft)
			}
			return nil
		})
		if err != nil {
			return err
		}
		targets, err := d.planBindings(cmd.Context(), store)
		if err != nil {
			return err
		}
		targets.document(&all)
		if *output == "json" {
			for _, n := range targets.notes {
				fmt.Fprintf(notes, "# %s\n", finding.Printable(n))
			}
			err = all.write(out)
		} else {
			showSummary(out, all)
			targets.show(out)
		}
		if err == nil && *detailed && (all.Summary != (plan.Summary{}) || all.Targets != (targetsSummary{})) {
			err = errChanges
		}
		return err
	}
	return cmd
}

func showSteps(w io.Writer, d engine.Draft) {
	fmt.Fprintf(w, "# %s %s\n", d.Stack.ID.Kind, d.Stack.ID)
	showFindings(w, d.Findings)
	fmt.Fprintln(w, d.Plan.Text())
}

func showSummary(w io.Writer, all planDocument) {
	if len(all.Stacks) == 0 {
		fmt.Fprintln(w, noStacks)
		return
	}
	fmt.Fprintf(w, "plan: %s\n", all.Summary)
	if all.Errors+all.Warnings > 0 {
		fmt.Fprintf(w, "findings: %s, %s; \"fulcrum explain REASON\" says more\n", amount(all.Errors, "error"), amount(all.Warnings, "warning"))
	}
}

// mostFindings are shown of one object.
const mostFindings = 200

func showFindings(w io.Writer, found finding.List) {
	count := map[finding.Ref]int{}
	var last finding.Ref
	more := func() {
		if n := count[last] - mostFindings; n > 0 {
			fmt.Fprintf(w, "# … and %s about %s, which -o json shows\n", amount(n, "more finding"), last)
		}
	}
	for _, f := range found.Sorted() {
		if f.Object != last {
			more()
			last = f.Object
		}
		if count[last]++; count[last] <= mostFindings {
			fmt.Fprintf(w, "# %s\n", f)
		}
	}
	more()
}

// amount is a number of things, in words.
func amount(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
