package cli

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

// output is the form in which a command answers.
type output struct {
	form    string
	forms   []string
	command *cobra.Command
	env     Environment
}

// bind registers the flag. Forms besides text, json and yaml are drawn by the command itself.
func (o *output) bind(cmd *cobra.Command, env Environment, more ...string) {
	o.forms, o.command, o.env = append([]string{"text", "json", "yaml"}, more...), cmd, env
	cmd.Flags().StringVarP(&o.form, "output", "o", "text", strings.Join(o.forms, ", ")+"; docs/cli-json.md describes the documents")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.forms, cobra.ShellCompDirectiveNoFileComp)))
}

func (o *output) check() error {
	if slices.Contains(o.forms, o.form) {
		return nil
	}
	last := len(o.forms) - 1
	return usageError{fmt.Errorf("--output %q is none of %s and %s; %s", o.form, strings.Join(o.forms[:last], ", "), o.forms[last], seeHelp(o.command)), exitFailed}
}

func (o *output) text() bool { return o.form == "text" }

// out is where the answer goes, in colours and wrapped if it is text for a terminal.
func (o *output) out() io.Writer { return o.to(o.command.OutOrStdout()) }

// to is w for an answer.
func (o *output) to(w io.Writer) io.Writer {
	if width := o.env.width(); o.text() && (o.env.coloured() || width > 0) {
		w = &painter{w: w, coloured: o.env.coloured(), width: width}
	}
	return printable{w}
}

// notes is where goes what is no part of a document.
func (o *output) notes() io.Writer {
	if o.text() {
		return o.out()
	}
	return printable{o.command.ErrOrStderr()}
}

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

// document writes an answer for tools.
func (o *output) document(v any) error { return writeDocument(o.command.OutOrStdout(), o.form, v) }

// writeDocument writes a value as yaml or json.
func writeDocument(w io.Writer, form string, v any) error {
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

// must stops on a fault of the program itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
