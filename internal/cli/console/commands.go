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

// mostAtOnce are commands that run at the same time; a page asks for one at a time.
const mostAtOnce = 2

// commands carries out other commands of the program with the flags that the console was started with.
type commands struct {
	env   output.Environment
	run   Command
	asked *atomic.Int64
	// flags are the flags given, and scope the flags that select the objects, which the commands about one object do
	// without.
	flags, scope []string
	room         chan struct{}
}

// own are flags of the console that other commands do not have.
var own = []string{"listen", "token", "aws-calls-per-minute", "help"}

func newCommands(cmd *cobra.Command, env output.Environment, run Command, asked *atomic.Int64) *commands {
	c := &commands{env: env, run: run, asked: asked, room: make(chan struct{}, mostAtOnce)}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch given := flagArguments(f); {
		case slices.Contains(own, f.Name):
		case f.Name == "namespace" || f.Name == "all-namespaces":
			c.scope = append(c.scope, given...)
		default:
			c.flags = append(c.flags, given...)
		}
	})
	return c
}

// flagArguments returns a flag as a command line has it.
func flagArguments(f *pflag.Flag) (out []string) {
	switch v := f.Value.(type) {
	case pflag.SliceValue:
		for _, s := range v.GetSlice() {
			out = append(out, fmt.Sprintf("--%s=%s", f.Name, s))
		}
		return out
	default:
		return []string{fmt.Sprintf("--%s=%s", f.Name, strings.TrimSuffix(strings.TrimPrefix(f.Value.String(), "["), "]"))}
	}
}

// answer is the output of a command.
type answer struct {
	// Command is the command line that gives the same, as text.
	Command string `json:"command"`
	Exit    int    `json:"exit"`
	// Calls are the calls to AWS that were made meanwhile.
	Calls    int64           `json:"calls"`
	Notes    string          `json:"notes,omitempty"`
	Document json.RawMessage `json:"document,omitempty"`
}

// badQuery is a question that no command has.
type badQuery struct{ error }

// arguments returns the command line for what a page asks for. What the page has from objects of tenants is a value of
// a flag, or stands behind --.
func (c *commands) arguments(name string, q url.Values) ([]string, error) {
	fromFiles := slices.ContainsFunc(c.flags, func(f string) bool { return strings.HasPrefix(f, "--filename=") })
	switch name {
	case "status":
		if fromFiles {
			return nil, badQuery{errors.New("the console shows files, and only a cluster shows which controller has a load balancer; start it without --filename")}
		}
		return append([]string{"migrate", name}, c.scope...), nil
	case "doctor", "orphans":
		return append([]string{name}, c.scope...), nil
	case "migrate":
		if fromFiles {
			return []string{name, "--check"}, nil // of the files alone
		}
		return append([]string{name, "--check", "--from-cluster"}, c.scope...), nil
	case "plan", "explain":
		kind, object, namespace := q.Get("kind"), q.Get("name"), q.Get("namespace")
		if kind == "" && name == "plan" {
			return append([]string{name}, c.scope...), nil
		}
		if kind == "" || object == "" {
			return nil, badQuery{fmt.Errorf("%s needs kind and name", name)}
		}
		out := []string{name}
		if namespace != "" {
			out = append(out, "--namespace="+namespace)
		}
		return append(out, "--", strings.ToLower(kind)+"/"+object), nil
	case "request":
		if q.Get("url") == "" {
			return nil, badQuery{fmt.Errorf("a request needs a URL")}
		}
		out := append([]string{"explain", "request"}, c.scope...)
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
	return nil, badQuery{fmt.Errorf("there is no document %q", name)}
}

// ask carries a command out.
func (c *commands) ask(ctx context.Context, name string, q url.Values) (answer, error) {
	args, err := c.arguments(name, q)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, durations.Listing)
	defer cancel()
	select {
	case c.room <- struct{}{}:
		defer func() { <-c.room }()
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	var out, notes bytes.Buffer
	env := c.env
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	env.Args = slices.Insert(slices.Clone(args), at, append(slices.Clone(c.flags), "--output=json")...)
	env.Stdin, env.Stdout, env.Stderr, env.Terminal, env.Width = strings.NewReader(""), &out, &notes, false, nil
	before := c.asked.Load()
	code := c.run(ctx, env)
	a := answer{Command: c.shellLine(args), Exit: code, Calls: c.asked.Load() - before, Notes: strings.TrimSpace(notes.String())}
	if json.Valid(out.Bytes()) {
		a.Document = out.Bytes()
	}
	return a, nil
}

// shellLine returns a command line for a shell.
func (c *commands) shellLine(args []string) string {
	words := []string{"fulcrum"}
	for _, a := range slices.Concat(args, c.flags) {
		if a == "--" {
			continue
		}
		if strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+") != "" {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// ServeHTTP answers GET /api/command/NAME.
func (c *commands) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := c.ask(r.Context(), r.PathValue("name"), r.URL.Query())
	if bad, ok := err.(badQuery); ok {
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
