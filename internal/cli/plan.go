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

// newPlanCommand returns the command plan.
func newPlanCommand(env output.Environment) *cobra.Command {
	p := &planCommand{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "plan [KIND/NAME ...]", Short: "Show what the controller would change in AWS, and change nothing",
		Long: `plan reads Kubernetes objects from a cluster, from files, or from both, and the state of AWS, and prints the
steps that the controller would take: for everything, for a namespace (-n), for the load balancers that
objects affect (KIND/NAME), or for those that files affect (-f). It takes all flags of the controller,
because the plan depends on them.
For TargetGroupBindings that exist it shows which targets are registered and deregistered, and which rules of
the security groups of nodes and pods change. Without a cluster it omits what is removed; with --observed or --offline it omits all of these changes.

Signs: + create, ~ change, - delete, . wait; the reason follows #. A line that begins with # is a finding
about an object or a note.

Exit codes: 0 nothing to change, 2 something to change, 1 no plan was made, or not of each TargetGroupBinding.
Findings about objects do not count.

--offline is for pipelines that reach neither AWS nor a cluster: it plans for the objects of -f as if AWS were
empty, and shows what it assumes. Exit codes then: 0 no finding is an error, 3 some are, 1 no plan was made.

Credentials come from the sources of the AWS SDK, such as AWS_PROFILE, the region from AWS_DEFAULT_REGION, then AWS_REGION, and endpoints from AWS_ENDPOINT_URL and
AWS_ENDPOINT_URL_SERVICE; flags take precedence.`,
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
	fs.BoolVar(&p.AllNamespaces, "all", false, "the same as --all-namespaces")
	fs.Bool("detailed-exitcode", true, "")
	output.Must(fs.MarkDeprecated("detailed-exitcode", "exit code 2 now always means that there are changes"))
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return p.run(cmd, args) }
	return cmd
}

// planCommand has the flags of the command plan.
type planCommand struct {
	input.Source
	form output.Format
}

func (p *planCommand) run(cmd *cobra.Command, args []string) error {
	if err := p.form.Check(); err != nil {
		return err
	}
	ctx, out, notes := cmd.Context(), p.form.Out(), p.form.NotesWriter()
	if err := p.Parse(args, p.NamespaceOfObjects()); err != nil {
		return err
	}
	store, err := p.Source.Objects(ctx, cmd.InOrStdin(), notes)
	if err != nil {
		return err
	}
	doc := PlanDocument{Cluster: p.Config.ClusterName, Stacks: []planStack{}, Bindings: []input.BindingDocument{}, shared: map[plan.StepID]bool{}}
	err = p.EachDraft(ctx, store, func(draft engine.Draft) error {
		leaving := tree.LeavingMembersOf(draft, p.Config, p.Env.Time())
		unshown, repeated := doc.addStack(draft, leaving)
		if p.form.IsText() {
			showSteps(out, draft, unshown, repeated, leaving)
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
	if targets.RulesOmitted {
		targets.Notes = append(targets.Notes, "rules of node and pod security groups are planned for all TargetGroupBindings together; use --all-namespaces to see them")
	}
	doc.addBindings(targets)
	if p.form.IsText() {
		showSummary(out, doc, cmd.Root().CommandPath())
		if len(doc.Stacks)+len(doc.Bindings) == 0 {
			p.ReportUnservedNamedObjects(out, store)
		}
		showBindings(out, targets)
		input.ShowUnservedFileObjects(out, &p.Source, store)
	} else {
		if p.OfflineAWS != nil {
			doc.Assumed = p.OfflineAWS.Facts
		}
		for _, n := range targets.Notes {
			fmt.Fprintf(notes, "# %s\n", finding.EscapeNonPrintable(n))
		}
		input.ShowUnservedFileObjects(notes, &p.Source, store)
		err = p.form.PrintDocument(doc)
	}
	switch {
	case err != nil:
		return err
	case p.Offline && doc.Errors > 0:
		return output.ErrObjectErrors
	case p.Offline:
		return nil // AWS is assumed to be empty, so every plan has steps
	}
	if targets.Incomplete {
		return output.ErrReported
	}
	if doc.Summary != (plan.Summary{}) || doc.Targets != (targetsSummary{}) {
		return output.ErrChanges
	}
	return nil
}

// showSteps prints the plan of a stack with its findings and with the members that leave the stack. repeated are the steps
// that were printed with an earlier stack, because they change resources that load balancers share. unshown is the plan
// without the repeated steps.
func showSteps(w io.Writer, d engine.Draft, unshown plan.Plan, repeated []plan.StepID, leaving []tree.LeavingMember) {
	fmt.Fprintf(w, "# %s %s\n", d.Stack.ID.Kind.ObjectKind(), d.Stack.ID)
	output.ShowFindings(w, d.Findings)
	tree.ShowLeavingMembers(w, leaving)
	tree.ShowOtherEndpointGroups(w, "# ", tree.OtherEndpointGroupsOf(d))
	for _, id := range repeated {
		fmt.Fprintf(w, "# %s is shown above, because several load balancers share it\n", id)
	}
	if len(repeated) > 0 && unshown.Empty() {
		fmt.Fprintln(w)
		return
	}
	fmt.Fprintln(w, unshown.TextWith(plan.ResourceNamesOf(d.Have)))
}

// showSummary prints the numbers of steps and findings of all stacks. program is the name of the root command, such as
// "fulcrum" or "kubectl fulcrum".
func showSummary(w io.Writer, doc PlanDocument, program string) {
	if len(doc.Stacks) == 0 {
		if len(doc.Bindings) == 0 {
			fmt.Fprintln(w, tree.NoStacksText)
		}
		return
	}
	fmt.Fprintf(w, "plan: %s\n", doc.Summary)
	if doc.Errors+doc.Warnings > 0 {
		fmt.Fprintf(w, "findings: %s, %s; for details, run \"%s explain REASON\"\n", output.CountWithNoun(doc.Errors, "error"), output.CountWithNoun(doc.Warnings, "warning"), program)
	}
}
