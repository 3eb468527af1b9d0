// Package output writes the output of commands: text for terminals, JSON and YAML documents for programs, and errors about
// the command line.
package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Format is the output format of a command, which the flag --output selects.
type Format struct {
	Name    string   // the value of --output
	formats []string // the values that the command accepts
	command *cobra.Command
	env     Environment
}

// Bind registers the flag --output. more are the formats that the command supports in addition to text, json and yaml. The
// command writes them itself.
func (o *Format) Bind(cmd *cobra.Command, env Environment, more ...string) {
	o.formats, o.command, o.env = append([]string{"text", "json", "yaml"}, more...), cmd, env
	cmd.Flags().StringVarP(&o.Name, "output", "o", "text", strings.Join(o.formats, ", ")+"; docs/cli-json.md describes the documents")
	Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats, cobra.ShellCompDirectiveNoFileComp)))
}

// Check returns an error if the command does not support the value of --output.
func (o *Format) Check() error {
	if slices.Contains(o.formats, o.Name) {
		return nil
	}
	last := len(o.formats) - 1
	return NewUsageError(fmt.Errorf("--output %q is not supported; use %s or %s; %s", o.Name, strings.Join(o.formats[:last], ", "), o.formats[last], HelpHint(o.command)))
}

// IsText reports whether the output is text for a person, and not a JSON or YAML document.
func (o *Format) IsText() bool { return o.Name == "text" }

// Out returns the writer for the output of the command. Text for a terminal is coloured and wrapped.
func (o *Format) Out() io.Writer { return o.WriterFor(o.command.OutOrStdout()) }

// WriterFor returns a writer to w that formats text as Out does.
func (o *Format) WriterFor(w io.Writer) io.Writer {
	if width := o.env.width(); o.IsText() && (o.env.hasColours() || width > 0) {
		w = &terminalWriter{w: w, hasColours: o.env.hasColours(), width: width}
	}
	return PrintableWriter(w)
}

// NotesWriter returns the writer for notes: the output of the command if it is text, or else standard error, so that notes
// are not part of a document.
func (o *Format) NotesWriter() io.Writer {
	if o.IsText() {
		return o.Out()
	}
	return PrintableWriter(o.command.ErrOrStderr())
}

// PrintableWriter returns a writer that writes text to w without control characters. Commands show names and values from
// objects of tenants, which may contain escape sequences for a terminal.
func PrintableWriter(w io.Writer) io.Writer { return printableWriter{w} }

// printableWriter is the writer of PrintableWriter.
type printableWriter struct{ w io.Writer }

// Write implements io.Writer.
func (p printableWriter) Write(b []byte) (int, error) {
	lines := strings.Split(string(b), "\n")
	for i, line := range lines {
		lines[i] = finding.EscapeNonPrintable(line)
	}
	if _, err := io.WriteString(p.w, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(b), nil
}

// PrintDocument writes a value to the output of the command, as YAML if --output is "yaml", or else as JSON.
func (o *Format) PrintDocument(v any) error { return WriteDocument(o.command.OutOrStdout(), o.Name, v) }

// WriteDocument writes a value to w without control characters, as YAML if form is "yaml", or else as JSON.
func WriteDocument(w io.Writer, form string, v any) error {
	doc, err := encodeJSON(v)
	if err != nil {
		return err
	}
	text := escapeControlCharacters(doc, false)
	if form == "yaml" {
		if text, err = toYAML(doc); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, text)
	return err
}

// Must panics if err is not nil. It is for errors that only a bug in the program causes.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
