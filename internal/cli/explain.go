package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use: "explain [REASON]", Short: "Say what a reason in an event or condition means", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completeReasons(typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 0 {
				for _, r := range finding.Reasons {
					fmt.Fprintf(out, "%-24s %s\n", r.Reason, r.Means)
				}
				return nil
			}
			i := slices.IndexFunc(finding.Reasons, func(r finding.Explanation) bool {
				return strings.EqualFold(string(r.Reason), args[0])
			})
			if i < 0 {
				return fmt.Errorf("unknown reason %q; run \"fulcrum explain\" for the list", args[0])
			}
			r := finding.Reasons[i]
			_, err := fmt.Fprintf(out, "%s\n  %s\n  Way out: %s\n  Usually holds: %s\n", r.Reason, r.Means, r.WayOut, r.Reaches)
			return err
		},
	}
}
