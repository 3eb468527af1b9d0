package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func newPlan(env output.Environment) *cobra.Command {
	p := &planCommand{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "plan [KIND/NAME ...]", Short: "Show what the controller would change in AWS, and change nothing",
		Long: `plan reads Kubernetes objects from a cluster, from files, or from both, and AWS as it is, and prints the
steps that the controller would take: for everything, for a namespace (-n), for the load balancers that
objects have a part in (KIND/NAME), or for those that files touch (-f). It takes all flags of the controller,
because they decide about the plan.
For TargetGroupBindings that exist it shows which targets are registered and deregistered, and which rules of
the security groups of nodes and pods change. Without a cluster, and with --observed, it shows less of these.

Signs: + create, ~ change, - delete, . wait; the reason follows #. A line that begins with # is a finding
about an object or a note.

Exit codes: 0 nothing to change, 2 something to change, 1 no plan was made. Findings about objects do not
count.

--offline is for pipelines that reach neither AWS nor a cluster: it plans for the objects of -f as if AWS were
empty, and shows what it assumes. Exit codes then: 0 no finding is an error, 3 some are, 1 no plan was made.

AWS is found by AWS_PROFILE, AWS_REGION or AWS_DEFAULT_REGION, AWS_ENDPOINT_URL and
AWS_ENDPOINT_URL_SERVICE as by AWS's own tools; flags win.`,
		Example: `  fulcrum plan --cluster-name=prod --aws-vpc-id=vpc-0123               everything
  fulcrum plan --cluster-name=prod --aws-vpc-id=vpc-0123 -n shop       the load balancers of a namespace
  fulcrum plan --cluster-name=prod --aws-vpc-id=vpc-0123 -f web.yaml   what applying web.yaml would change
  fulcrum plan --cluster-name=prod --aws-vpc-id=vpc-0123 -f shop/ --files-only -o json
  fulcrum plan -f shop/ --offline                                      in a pipeline, without AWS and cluster`,
		ValidArgsFunction: p.CompleteObjects,
	}
	p.Bind(cmd)
	p.BindOffline(cmd)
	p.form.Bind(cmd, env)
	fs := cmd.Flags()
	fs.BoolVar(&p.All, "all", false, "the same as --all-namespaces")
	fs.Bool("detailed-exitcode", true, "")
	output.Must(fs.MarkDeprecated("detailed-exitcode", "exit code 2 now always says that there is something to change"))
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return p.run(cmd, args) }
	return cmd
}

// planCommand is the command plan.
type planCommand struct {
	input.Source
	form output.Form
}

func (p *planCommand) run(cmd *cobra.Command, args []string) error {
	if err := p.form.Check(); err != nil {
		return err
	}
	ctx, out, notes := cmd.Context(), p.form.Out(), p.form.Notes()
	if err := p.Parse(args, p.NamespaceOfObjects()); err != nil {
		return err
	}
	store, err := p.Source.Objects(ctx, cmd.InOrStdin(), notes)
	if err != nil {
		return err
	}
	all := planDocument{Cluster: p.Config.ClusterName, Stacks: []planStack{}, Bindings: []input.BindingDocument{}, seen: map[plan.StepID]bool{}}
	err = p.Each(ctx, store, func(draft engine.Draft) error {
		left := tree.LeavingOf(draft, p.Config, p.Env.Time())
		own, shared := all.add(draft, left)
		if p.form.Text() {
			showSteps(out, draft, own, shared, left)
		}
		return nil
	})
	if err != nil {
		return err
	}
	targets, err := p.PlanBindings(ctx, store)
	if err != nil {
		return err
	}
	all.addBindings(targets)
	if p.form.Text() {
		showSummary(out, all, cmd.Root().CommandPath())
		if len(all.Stacks)+len(all.Bindings) == 0 {
			p.ReportUnserved(out, store)
		}
		showBindings(out, targets)
		input.ShowUnserved(out, &p.Source, store)
	} else {
		if p.Assumed != nil {
			all.Assumed = p.Assumed.Facts
		}
		for _, n := range targets.Notes {
			fmt.Fprintf(notes, "# %s\n", finding.Printable(n))
		}
		input.ShowUnserved(notes, &p.Source, store)
		err = p.form.Document(all)
	}
	switch {
	case err != nil:
		return err
	case p.Offline && all.Errors > 0:
		return output.ErrFaulty
	case p.Offline:
		return nil // that everything is to be created says nothing
	}
	if all.Summary != (plan.Summary{}) || all.Targets != (targetsSummary{}) {
		return output.ErrChanges
	}
	return nil
}

// showSteps prints the plan of a load balancer: its own steps, and which others share and were shown with another.
func showSteps(w io.Writer, d engine.Draft, own plan.Plan, shared []plan.StepID, left []tree.Leaving) {
	fmt.Fprintf(w, "# %s %s\n", d.Stack.ID.Kind.Object(), d.Stack.ID)
	output.ShowFindings(w, d.Findings)
	tree.ShowLeaving(w, left)
	tree.ShowOthers(w, "# ", tree.OthersOf(d))
	for _, id := range shared {
		fmt.Fprintf(w, "# %s is shown above; load balancers share it\n", id)
	}
	if len(shared) > 0 && own.Empty() {
		fmt.Fprintln(w)
		return
	}
	fmt.Fprintln(w, own.TextWith(plan.NamesOf(d.Have)))
}

func showSummary(w io.Writer, all planDocument, program string) {
	if len(all.Stacks) == 0 {
		if len(all.Bindings) == 0 {
			fmt.Fprintln(w, tree.NoStacks)
		}
		return
	}
	fmt.Fprintf(w, "plan: %s\n", all.Summary)
	if all.Errors+all.Warnings > 0 {
		fmt.Fprintf(w, "findings: %s, %s; \"%s explain REASON\" says more\n", output.Amount(all.Errors, "error"), output.Amount(all.Warnings, "warning"), program)
	}
}
