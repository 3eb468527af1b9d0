package output

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// UsageError is a fault of the command line itself.
type UsageError struct {
	error
	Code int
}

// UsageErrorOf returns the error of a command line that a command does not take.
func UsageErrorOf(err error) error { return UsageError{err, ExitFailed} }

// Exit codes. That of a wrong flag of a command is 1, since 2 is an answer of plan.
const (
	ExitFailed  = 1
	exitUsage   = 2 // the controller has an unknown flag, or one whose value cannot be parsed
	ExitChanges = 2 // plan found something to change, migrate --check a difference
	ExitFaulty  = 3 // plan --offline found errors in objects, migrate something that is lost
)

// NoArguments refuses arguments: of a command because it has none, without a command because the
// word may be a mistyped command, and the controller must not start then. Boolean flags take no word
// of their own, which is the other usual mistake.
func NoArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasParent():
		return UsageErrorOf(fmt.Errorf("%q takes no argument, not %q; %s", cmd.CommandPath(), args[0], SeeHelp(cmd)))
	case args[0] == "true" || args[0] == "false":
		return UsageErrorOf(fmt.Errorf("argument %q without a flag; write a boolean flag as --flag=%s", args[0], args[0]))
	}
	return UsageErrorOf(fmt.Errorf("unknown command %q; nothing is started; %s%s", args[0], didYouMean(cmd, args[0]), SeeHelp(cmd)))
}

func didYouMean(cmd *cobra.Command, typed string) string {
	names := cmd.SuggestionsFor(typed)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", names[0])
}

// SeeHelp returns what to do about a wrong command line.
func SeeHelp(cmd *cobra.Command) string { return fmt.Sprintf("run \"%s --help\"", cmd.CommandPath()) }

// WrongFlag returns the error about a flag that is unknown or cannot be parsed. A word in front of it that is no
// command is the greater fault: the flag may be one of the command that was meant.
func WrongFlag(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if !cmd.HasParent() {
		if err := NoArguments(cmd, cmd.Flags().Args()); err != nil {
			return err
		}
	}
	code := ExitFailed
	if !cmd.HasParent() {
		code = exitUsage
	}
	return UsageError{fmt.Errorf("%w; %s%s", err, nearestFlag(cmd, err), SeeHelp(cmd)), code}
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

// NewHelp shows the help of a command; cobra's own takes an unknown one for no error.
func NewHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the flags of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				name := strings.Join(args, " ")
				return UsageErrorOf(fmt.Errorf("unknown command %q; %s%s", name, didYouMean(root, name), SeeHelp(root)))
			}
			return cmd.Help()
		},
	}
}

// ErrChanges ends a command that has found a difference.
var ErrChanges = errors.New("there are changes")

// ErrFaulty ends a command whose objects have errors.
var ErrFaulty = errors.New("objects have errors")

// ErrReported ends a command whose failure has been logged already.
var ErrReported = errors.New("failed")
