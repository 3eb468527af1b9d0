package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

func newPlan(env Environment) *cobra.Command {
	d := &drafting{env: env}
	cmd := &cobra.Command{
		Use: "plan", Short: "Show what the controller would change in AWS, and change nothing", Args: cobra.NoArgs,
		Long: "plan reads Kubernetes objects from files or from a cluster, and AWS as it is, and prints the steps\n" +
			"that the controller would take. It takes the controller's flags, because they decide about the plan.",
	}
	d.bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out := cmd.OutOrStdout()
		store, err := d.read(cmd.Context(), cmd.InOrStdin(), out)
		if err != nil {
			return err
		}
		return d.each(cmd.Context(), store, func(draft engine.Draft) error {
			fmt.Fprintf(out, "# %s %s\n", draft.Stack.ID.Kind, draft.Stack.ID)
			showFindings(out, draft.Findings)
			_, err := fmt.Fprintln(out, draft.Plan.Text())
			return err
		})
	}
	return cmd
}

func showFindings(w io.Writer, found finding.List) {
	for _, f := range found.Sorted() {
		fmt.Fprintf(w, "# %s\n", f)
	}
}
