package output

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// UsageError is an error about the command line, such as an unknown flag. Code is the exit code of the process.
type UsageError struct {
	error
	Code int
}

// NewUsageError returns err as an error about the command line of a command, with exit code 1.
func NewUsageError(err error) error { return UsageError{err, ExitFailed} }

// Exit codes. The exit code of a command with a wrong flag is 1, because 2 means that plan found changes.
const (
	ExitFailed       = 1
	exitUsage        = 2 // a flag of the controller is unknown, or its value cannot be parsed
	ExitChanges      = 2 // plan found changes, or migrate --check found a difference
	ExitObjectErrors = 3 // plan --offline found errors in objects, or migrate lost a setting
)

// NoArguments returns an error if a command that takes no arguments has any. An argument of the program itself may be a
// mistyped command, in which case the controller must not start. Another common mistake is "--flag true" for a boolean flag,
// whose value must be written as --flag=true.
func NoArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasParent():
		return NewUsageError(fmt.Errorf("%q takes no argument, not %q; %s", cmd.CommandPath(), args[0], HelpHint(cmd)))
	case args[0] == "true" || args[0] == "false":
		return NewUsageError(fmt.Errorf("argument %q belongs to no flag; write a boolean flag as --flag=%s", args[0], args[0]))
	}
	return NewUsageError(fmt.Errorf("unknown command %q; the controller is not started; %s%s", args[0], commandSuggestion(cmd, args[0]), HelpHint(cmd)))
}

// commandSuggestion returns a question with the name of a similar command, or "" if no name is similar.
func commandSuggestion(cmd *cobra.Command, typed string) string {
	names := cmd.SuggestionsFor(typed)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", names[0])
}

// HelpHint returns the end of an error message about a command line: the command that prints help.
func HelpHint(cmd *cobra.Command) string { return fmt.Sprintf("run \"%s --help\"", cmd.CommandPath()) }

// FlagError returns the error about a flag that is unknown or cannot be parsed. If a word before the flag is not a command,
// the error is about that word, because the flag may belong to the command that the user meant.
func FlagError(cmd *cobra.Command, err error) error {
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
	return UsageError{fmt.Errorf("%w; %s%s", err, flagSuggestion(cmd, err), HelpHint(cmd)), code}
}

// flagSuggestion returns a question with the name of a similar flag, or "" if the flag is known or no name is similar.
func flagSuggestion(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	near := finding.NearestWord(unknown.GetSpecifiedName(), known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", "--"+near)
}

// NewHelpCommand returns the command help. Unlike the help command of cobra, it fails for an unknown command.
func NewHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the flags of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				name := strings.Join(args, " ")
				return NewUsageError(fmt.Errorf("unknown command %q; %s%s", name, commandSuggestion(root, name), HelpHint(root)))
			}
			return cmd.Help()
		},
	}
}

// ErrChanges is the error of a command that has found changes or differences. The exit code is ExitChanges.
var ErrChanges = errors.New("there are changes")

// ErrObjectErrors is the error of a command that has found errors in objects. The exit code is ExitObjectErrors.
var ErrObjectErrors = errors.New("objects have errors")

// ErrReported is the error of a command that has already printed its failure. The exit code is ExitFailed.
var ErrReported = errors.New("failed")
