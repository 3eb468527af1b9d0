package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
)

// Environment is what the process was started with.
type Environment struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Program is the name that the process was started by; "fulcrum" if empty.
	Program string
	// Terminal reports that Stdout is one.
	Terminal bool
	// Width returns the width of the terminal now, 0 if it is not known; nil if Stdout is none.
	Width func() int
	// Wait waits between two looks at the same thing; nil waits by the clock. It returns an error if the context
	// has ended.
	Wait func(ctx context.Context, d time.Duration) error
	// Now is the clock by which answers of AWS grow old; time.Now if nil.
	Now func() time.Time
	// AnswerWithin is for how long a command for people waits for an attempt of a call to AWS; answerWithin if zero.
	AnswerWithin time.Duration
}

// width is that of the terminal, 0 if there is none.
func (e Environment) width() int {
	if !e.Terminal || e.Width == nil {
		return 0
	}
	return e.Width()
}

func (e Environment) now() time.Time {
	if e.Now == nil {
		return time.Now()
	}
	return e.Now()
}

// plugin is the name by which kubectl starts a binary as its command "fulcrum".
const plugin = "kubectl-fulcrum"

// isPlugin reports whether kubectl has started the program, or a user under kubectl's name for it.
func (e Environment) isPlugin() bool {
	return strings.TrimSuffix(filepath.Base(e.Program), ".exe") == plugin
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
	case errors.Is(err, errFaulty):
		return exitFaulty
	case errors.Is(err, errReported):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(printable{env.Stderr}, "Error: %v\n", err)
		return usage.code
	}
	fmt.Fprintf(printable{env.Stderr}, "Error: %v\n", err)
	return exitFailed
}

// errReported ends a command whose failure has been logged already.
var errReported = errors.New("failed")

// errChanges ends a plan that has changes.
var errChanges = errors.New("there are changes")

// errFaulty ends a plan without AWS whose objects have errors.
var errFaulty = errors.New("objects have errors")

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
	if env.isPlugin() {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl fulcrum"}
		root.Long = "kubectl fulcrum shows what the controller Fulcrum does for Kubernetes objects, would do, and why. It changes nothing."
		root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	} else {
		cfg.Bind(root.Flags())
	}
	root.Version = thisBuild().version
	root.SetVersionTemplate(thisBuild().text())
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newVersion(env), newPlan(env), newTree(env), newGet(env), newOrphans(env), newExplain(env), newDoctor(env))
	return root
}
