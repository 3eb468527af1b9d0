package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// maxConcurrentCommands is the maximum number of commands that run at the same time for all pages.
const maxConcurrentCommands = 2

// commandRunner runs the commands whose output the page shows, with the flags of the console.
type commandRunner struct {
	env      output.Environment
	run      CommandFunc
	awsCalls *atomic.Int64
	// scopeFlags are the flags of the console that select namespaces, such as --namespace. Commands about one object run
	// without scopeFlags. flags are the other flags of the console, except consoleFlags.
	flags, scopeFlags []string
	slots             chan struct{}
}

// consoleFlags are the flags that only the console has.
var consoleFlags = []string{"listen", "token", "aws-calls-per-minute", "help"}

// newCommandRunner returns a commandRunner with the flags that are set on the command line of cmd, the command console.
func newCommandRunner(cmd *cobra.Command, env output.Environment, run CommandFunc, awsCalls *atomic.Int64) *commandRunner {
	c := &commandRunner{env: env, run: run, awsCalls: awsCalls, slots: make(chan struct{}, maxConcurrentCommands)}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch arguments := flagArguments(f); {
		case slices.Contains(consoleFlags, f.Name):
		case f.Name == "namespace" || f.Name == "all-namespaces":
			c.scopeFlags = append(c.scopeFlags, arguments...)
		default:
			c.flags = append(c.flags, arguments...)
		}
	})
	return c
}

// flagArguments returns a flag and its value as command-line arguments. A list has one argument for each of its values.
func flagArguments(f *pflag.Flag) (out []string) {
	values := []string{f.Value.String()}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	} else if f.Value.Type() == "stringToString" {
		values[0] = strings.TrimSuffix(strings.TrimPrefix(values[0], "["), "]") // pflag encloses a map in brackets
	}
	for _, v := range values {
		out = append(out, fmt.Sprintf("--%s=%s", f.Name, v))
	}
	return out
}

// commandResult is the output of a command.
type commandResult struct {
	// Command is the command line with which a user gets the same output as text.
	Command string `json:"command"`
	// Exit is the exit code of the command.
	Exit int `json:"exit"`
	// Calls is the number of calls to AWS during the command.
	Calls int64 `json:"calls"`
	// Notes is what the command has written to standard error.
	Notes string `json:"notes,omitempty"`
	// Document is what the command has written to standard output, if that is JSON.
	Document json.RawMessage `json:"document,omitempty"`
}

// queryError is an error about an invalid request of a page. The response to the request has status 400.
type queryError struct{ error }

// arguments returns the command-line arguments for a request of a page. name is the document that the page requests, and q
// has the parameters. Values of q are passed as values of flags or after "--", so that they are never parsed as flags.
func (c *commandRunner) arguments(name string, q url.Values) ([]string, error) {
	fromFiles := slices.ContainsFunc(c.flags, func(f string) bool { return strings.HasPrefix(f, "--filename=") })
	switch name {
	case "status":
		if fromFiles {
			return nil, queryError{errors.New("the console reads files, but the status of a migration needs a cluster; start it without --filename")}
		}
		return append([]string{"migrate", name}, c.scopeFlags...), nil
	case "doctor", "orphans":
		return append([]string{name}, c.scopeFlags...), nil
	case "migrate":
		if fromFiles {
			return []string{name, "--check"}, nil // migrate --check reads only the files
		}
		return append([]string{name, "--check", "--from-cluster"}, c.scopeFlags...), nil
	case "plan", "explain":
		kind, object, namespace := q.Get("kind"), q.Get("name"), q.Get("namespace")
		if kind == "" && name == "plan" {
			return append([]string{name}, c.scopeFlags...), nil
		}
		if kind == "" || object == "" {
			return nil, queryError{fmt.Errorf("%s needs kind and name", name)}
		}
		out := []string{name}
		if namespace != "" {
			out = append(out, "--namespace="+namespace)
		}
		return append(out, "--", strings.ToLower(kind)+"/"+object), nil
	case "request":
		if q.Get("url") == "" {
			return nil, queryError{fmt.Errorf("parameter \"url\" is missing")}
		}
		out := append([]string{"explain", "request"}, c.scopeFlags...)
		if m := q.Get("method"); m != "" {
			out = append(out, "--method="+m)
		}
		if s := q.Get("source"); s != "" {
			out = append(out, "--source-ip="+s)
		}
		for _, h := range q["header"] {
			out = append(out, "--header="+h)
		}
		return append(out, "--", q.Get("url")), nil
	}
	return nil, queryError{fmt.Errorf("unknown document %q", name)}
}

// execute runs the command for a request of a page, and returns its output. name and q have the same meaning as in method
// arguments. It waits while maxConcurrentCommands other commands run.
func (c *commandRunner) execute(ctx context.Context, name string, q url.Values) (commandResult, error) {
	args, err := c.arguments(name, q)
	if err != nil {
		return commandResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, durations.ListingTimeout)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return commandResult{}, ctx.Err()
	}
	var out, notes bytes.Buffer
	env := c.env
	index := slices.Index(args, "--")
	if index < 0 {
		index = len(args)
	}
	env.Args = slices.Insert(slices.Clone(args), index, append(slices.Clone(c.flags), "--output=json")...)
	env.Stdin, env.Stdout, env.Stderr, env.IsTerminal, env.Width = strings.NewReader(""), &out, &notes, false, nil
	before := c.awsCalls.Load()
	code := c.run(ctx, env)
	result := commandResult{Command: c.shellLine(args), Exit: code, Calls: c.awsCalls.Load() - before, Notes: strings.TrimSpace(notes.String())}
	if json.Valid(out.Bytes()) {
		result.Document = out.Bytes()
	}
	return result, nil
}

// shellLine returns the command line with the given arguments and the flags of the console, quoted for a shell. It omits
// "--", unless the argument after it looks like a flag.
func (c *commandRunner) shellLine(args []string) string {
	words := slices.Concat(args, c.flags)
	if i := slices.Index(args, "--"); i >= 0 && strings.HasPrefix(args[i+1], "-") {
		words = slices.Concat(args[:i], c.flags, args[i:])
	} else if i >= 0 {
		words = slices.Delete(words, i, i+1)
	}
	out := "fulcrum"
	for _, w := range words {
		out += " " + output.ShellQuote(w)
	}
	return out
}

// ServeHTTP answers GET /api/command/NAME with a commandResult as JSON.
func (c *commandRunner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := c.execute(r.Context(), r.PathValue("name"), r.URL.Query())
	if bad, ok := err.(queryError); ok {
		http.Error(w, bad.Error(), http.StatusBadRequest)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(a)
}
