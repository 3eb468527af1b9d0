package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

func newPlan(env Environment) *cobra.Command {
	d := &drafting{env: env}
	cmd := &cobra.Command{
		Use: "plan", Short: "Show what the controller would change in AWS, and change nothing", Args: noArguments,
		Long: "plan reads Kubernetes objects from files or from a cluster, and AWS as it is, and prints the steps\n" +
			"that the controller would take. With -o json it prints what each load balancer becomes by them, in the\n" +
			"form of the annotation that feature gate IngressPlanAnnotation switches on. It takes the controller's\n" +
			"flags, because they decide about the plan.",
	}
	d.bind(cmd)
	output := cmd.Flags().StringP("output", "o", "text", "text: the steps; json: what each load balancer becomes, with notes on standard error")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out, notes := cmd.OutOrStdout(), cmd.OutOrStdout()
		show := showSteps
		switch *output {
		case "text":
		case "json":
			show, notes = showDocument, cmd.ErrOrStderr()
		default:
			return usageError{fmt.Errorf("--output %q is neither text nor json; %s", *output, seeHelp(cmd)), exitFailed}
		}
		store, err := d.objects(cmd.Context(), cmd.InOrStdin(), notes)
		if err != nil {
			return err
		}
		return d.each(cmd.Context(), store, func(e *engine.Engine, draft engine.Draft) error {
			fmt.Fprintf(notes, "# %s %s\n", draft.Stack.ID.Kind, draft.Stack.ID)
			showFindings(notes, draft.Findings)
			return show(out, e, draft)
		})
	}
	return cmd
}

func showSteps(w io.Writer, _ *engine.Engine, d engine.Draft) error {
	_, err := fmt.Fprintln(w, d.Plan.Text())
	return err
}

// showDocument prints nothing for a stack of which nothing can be told; the findings say why.
func showDocument(w io.Writer, e *engine.Engine, d engine.Draft) error {
	doc := e.Describe(d)
	if doc == nil {
		return nil
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(doc)
}

func showFindings(w io.Writer, found finding.List) {
	for _, f := range found.Sorted() {
		fmt.Fprintf(w, "# %s\n", f)
	}
}
