// Package output is how commands answer: environment, text for terminals, documents for tools, faults of the command line.
package output

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Form is the form in which a command answers.
type Form struct {
	Kind    string
	forms   []string
	command *cobra.Command
	env     Environment
}

// Bind registers the flag. Forms besides text, json and yaml are drawn by the command itself.
func (o *Form) Bind(cmd *cobra.Command, env Environment, more ...string) {
	o.forms, o.command, o.env = append([]string{"text", "json", "yaml"}, more...), cmd, env
	cmd.Flags().StringVarP(&o.Kind, "output", "o", "text", strings.Join(o.forms, ", ")+"; docs/cli-json.md describes the documents")
	Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.forms, cobra.ShellCompDirectiveNoFileComp)))
}

// Check returns an error for a form that the command does not have.
func (o *Form) Check() error {
	if slices.Contains(o.forms, o.Kind) {
		return nil
	}
	last := len(o.forms) - 1
	return UsageErrorOf(fmt.Errorf("--output %q is none of %s and %s; %s", o.Kind, strings.Join(o.forms[:last], ", "), o.forms[last], SeeHelp(o.command)))
}

// Text reports whether the answer is in readable form.
func (o *Form) Text() bool { return o.Kind == "text" }

// Out returns the writer for the answer, in colours and wrapped if it is text for a terminal.
func (o *Form) Out() io.Writer { return o.To(o.command.OutOrStdout()) }

// To is w for an answer.
func (o *Form) To(w io.Writer) io.Writer {
	if width := o.env.width(); o.Text() && (o.env.coloured() || width > 0) {
		w = &painter{w: w, coloured: o.env.coloured(), width: width}
	}
	return Printable(w)
}

// Notes returns the writer for output that is not part of a document.
func (o *Form) Notes() io.Writer {
	if o.Text() {
		return o.Out()
	}
	return Printable(o.command.ErrOrStderr())
}

// Printable is w for lines of text without what a terminal takes for a command.
func Printable(w io.Writer) io.Writer { return printable{w} }

// printable writes lines of text without what a terminal takes for a command. Manifests and objects of tenants are
// shown, and their names may hold anything.
type printable struct{ w io.Writer }

// Write implements io.Writer.
func (p printable) Write(b []byte) (int, error) {
	lines := strings.Split(string(b), "\n")
	for i, line := range lines {
		lines[i] = finding.Printable(line)
	}
	if _, err := io.WriteString(p.w, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Document writes an answer for tools.
func (o *Form) Document(v any) error { return WriteDocument(o.command.OutOrStdout(), o.Kind, v) }

// WriteDocument writes a value as yaml or json.
func WriteDocument(w io.Writer, form string, v any) error {
	if form != "yaml" {
		return writeJSON(w, v)
	}
	var doc bytes.Buffer
	if err := writeJSON(&doc, v); err != nil {
		return err
	}
	text, err := yaml.JSONToYAML(doc.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// Must stops on a fault of the program itself.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
