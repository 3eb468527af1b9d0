package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/config"
)

// Environment is what the process was started with.
type Environment struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
}

// Run carries a command line out and returns the exit code.
func Run(ctx context.Context, env Environment) int {
	root := newRoot(env)
	root.SetArgs(append([]string{}, env.Args...)) // cobra takes nil for the arguments of the process
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errChanges):
		return exitChanges
	case errors.Is(err, errReported):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(env.Stderr, "Error: %v\n", err)
		return usage.code
	}
	fmt.Fprintf(env.Stderr, "Error: %v\n", err)
	return exitFailed
}

// errReported ends a command whose failure has been logged already.
var errReported = errors.New("failed")

// errChanges ends a plan that has changes, for whoever asked for that as an exit code.
var errChanges = errors.New("there are changes")

func newRoot(env Environment) *cobra.Command {
	cfg := config.Default()
	root := &cobra.Command{
		Use:   "fulcrum",
		Short: "Kubernetes Ingresses as AWS load balancers",
		Long: "Fulcrum makes AWS load balancers from Kubernetes objects. Without a command it is the controller;\n" +
			"the commands show what it would do.",
		SilenceUsage: true, SilenceErrors: true,
		Args:                       noArguments,
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return runController(cmd.Context(), env, cfg) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	cfg.Bind(root.Flags())
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newVersion(), newPlan(env), newTree(env), newOrphans(env), newExplain())
	return root
}
