package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/console"
	"github.com/fulcrum-lb/fulcrum/internal/cli/doctor"
	"github.com/fulcrum-lb/fulcrum/internal/cli/explain"
	"github.com/fulcrum-lb/fulcrum/internal/cli/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/cli/orphans"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/version"
)

// kubectlPlugin is the file name of the binary that kubectl runs for "kubectl fulcrum".
const kubectlPlugin = "kubectl-fulcrum"

// isNamed reports whether the file name of a program, without ".exe", is name. program is the path of the program.
func isNamed(program, name string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == name
}

// Run runs the command line in env.Args and returns the exit code. It prints an error to env.Stderr.
func Run(ctx context.Context, env output.Environment) int {
	env.Version = version.Current().Version
	if isNamed(env.Program, lbcMigrate) {
		env.Args, env.Program = migrateArguments(env.Args), "fulcrum"
	}
	root := newRootCommand(env)
	out := &checkedWriter{Writer: env.Stdout}
	root.SetArgs(append([]string{}, env.Args...)) // never nil: cobra would read the arguments of the process
	root.SetIn(env.Stdin)
	root.SetOut(out)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if out.err != nil {
		err = fmt.Errorf("the output was not written: %w", out.err)
	}
	var usage output.UsageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, output.ErrChanges):
		return output.ExitChanges
	case errors.Is(err, output.ErrObjectErrors):
		return output.ExitObjectErrors
	case errors.Is(err, output.ErrReported):
		return output.ExitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(output.PrintableWriter(env.Stderr), "Error: %v\n", err)
		return usage.Code
	}
	fmt.Fprintf(output.PrintableWriter(env.Stderr), "Error: %v\n", err)
	return output.ExitFailed
}

// checkedWriter records the first error of a write, because the functions that print text ignore such errors. Run reports
// the recorded error.
type checkedWriter struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (w *checkedWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.err = cmp.Or(w.err, err)
	return n, err
}

// newRootCommand returns the command "fulcrum" with all subcommands. It runs the controller, or prints its help if the
// program was started under the name of the kubectl plugin.
func newRootCommand(env output.Environment) *cobra.Command {
	cfg := config.Default()
	root := &cobra.Command{
		Use:   "fulcrum",
		Short: "Kubernetes Ingresses as AWS load balancers",
		Long: "Fulcrum creates AWS load balancers for Kubernetes objects. Without a command it runs the controller;\n" +
			"the commands show what it would do.",
		SilenceUsage: true, SilenceErrors: true,
		Args:                       output.NoArguments,
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return runController(cmd.Context(), env, cfg) },
	}
	if isNamed(env.Program, kubectlPlugin) {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl fulcrum"}
		root.Long = "kubectl fulcrum shows what the Fulcrum controller does in AWS for Kubernetes objects, what it would change, and why. It changes nothing."
		root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	} else {
		cfg.AddFlags(root.Flags())
	}
	root.Version = version.Current().Version
	root.SetVersionTemplate(version.Current().Text("fulcrum"))
	root.SetFlagErrorFunc(output.FlagError)
	root.SetHelpCommand(output.NewHelpCommand(root))
	translate := migrate.New(env)
	translate.AddCommand(console.NewMigration(env, Run))
	root.AddCommand(console.New(env, Run), newVersionCommand(env), newPlanCommand(env), tree.New(env), tree.NewGet(env), orphans.New(env), explain.New(env), doctor.New(env), translate)
	return root
}
