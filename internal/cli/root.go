package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fulcrum-lb/fulcrum/internal/config"
)

// Environment is what the process was started with.
type Environment struct {
	Args   []string // without the program's name
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
}

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2 // an unknown flag, or a value that cannot be parsed
)

// usageError is a fault of the command line itself.
type usageError struct{ error }

// Run carries a command line out and returns the exit code.
func Run(ctx context.Context, env Environment) int {
	root := newRoot(env)
	root.SetArgs(env.Args)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(env.Stderr, "Error: %v\n\n%s", err, cmd.UsageString())
		return exitUsage
	case errors.Is(err, errReported):
		return exitFailed
	}
	fmt.Fprintf(env.Stderr, "Error: %v\n", err)
	return exitFailed
}

// errReported ends a command whose failure has been logged already.
var errReported = errors.New("failed")

func newRoot(env Environment) *cobra.Command {
	cfg := config.Default()
	root := &cobra.Command{
		Use:   "fulcrum",
		Short: "Kubernetes Ingresses as AWS load balancers",
		Long: "Fulcrum makes AWS load balancers from Kubernetes objects. Without a command it is the controller;\n" +
			"the commands show what it would do.",
		SilenceUsage: true, SilenceErrors: true,
		// Stray arguments were always ignored by controllers of this kind.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runController(cmd.Context(), env, cfg) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	cfg.Bind(root.Flags())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return usageError{err}
	})
	root.AddCommand(newVersion(), newPlan(env), newTree(env), newOrphans(env), newExplain())
	return root
}
