package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// usageError is a fault of the command line itself.
type usageError struct {
	error
	code int
}

// Exit codes. That of a wrong flag of a command is 1, since 2 is an answer of plan.
const (
	exitFailed  = 1
	exitUsage   = 2 // the controller has an unknown flag, or one whose value cannot be parsed
	exitChanges = 2 // plan found something to change
	exitFaulty  = 3 // plan --offline found errors in objects
)

// noArguments refuses arguments: of a command because it has none, without a command because the
// word may be a mistyped command, and the controller must not start then. Boolean flags take no word
// of their own, which is the other usual mistake.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasParent():
		return usageError{fmt.Errorf("%q takes no argument, not %q; %s", cmd.CommandPath(), args[0], seeHelp(cmd)), exitFailed}
	case args[0] == "true" || args[0] == "false":
		return usageError{fmt.Errorf("argument %q without a flag; write a boolean flag as --flag=%s", args[0], args[0]), exitFailed}
	}
	return usageError{fmt.Errorf("unknown command %q; nothing is started; %s%s", args[0], didYouMean(cmd, args[0]), seeHelp(cmd)), exitFailed}
}

func didYouMean(cmd *cobra.Command, typed string) string {
	names := cmd.SuggestionsFor(typed)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", names[0])
}

func seeHelp(cmd *cobra.Command) string { return fmt.Sprintf("run \"%s --help\"", cmd.CommandPath()) }

// wrongFlag is said of a flag that is unknown or cannot be parsed. A word in front of it that is no
// command is the greater fault: the flag may be one of the command that was meant.
func wrongFlag(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if !cmd.HasParent() {
		if err := noArguments(cmd, cmd.Flags().Args()); err != nil {
			return err
		}
	}
	code := exitFailed
	if !cmd.HasParent() {
		code = exitUsage
	}
	return usageError{fmt.Errorf("%w; %s%s", err, nearestFlag(cmd, err), seeHelp(cmd)), code}
}

// nearestFlag asks whether an unknown flag was meant to be another one.
func nearestFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	near := finding.Nearest(unknown.GetSpecifiedName(), known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", "--"+near)
}

// newHelp shows the help of a command; cobra's own takes an unknown one for no error.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the flags of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				name := strings.Join(args, " ")
				return usageError{fmt.Errorf("unknown command %q; %s%s", name, didYouMean(root, name), seeHelp(root)), exitFailed}
			}
			return cmd.Help()
		},
	}
}
