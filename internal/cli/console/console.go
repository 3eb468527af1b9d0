// Package console has the command console, which serves a web page with the output of other commands. Like these commands,
// it reads the cluster and AWS with the permissions of the user, and changes nothing.
package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

const (
	// defaultAddress has a fixed port, so that links to the page stay valid.
	defaultAddress = "127.0.0.1:7442"
	// defaultBudget is the default limit for calls to AWS per minute. It is enough to refresh a few load balancers every two
	// seconds.
	defaultBudget = 100
	// minTokenLength is the minimum length of the token in characters. 96 random bits in base64 have this length.
	minTokenLength = 16
	// tokenVariable is the environment variable with the token. Unlike a flag, it is not visible in a list of processes.
	tokenVariable = "FULCRUM_CONSOLE_TOKEN"
)

// CommandFunc runs the command in the Args of an environment, and returns its exit code.
type CommandFunc func(context.Context, output.Environment) int

// New returns the command console. run runs the commands whose output the page shows.
func New(env output.Environment, run CommandFunc) *cobra.Command {
	return newConsoleCommand(env, run, "")
}

// NewMigration returns the command "migrate console". It serves the same page as the command console, and prints a link to
// the part of the page about the migration to the Gateway API.
func NewMigration(env output.Environment, run CommandFunc) *cobra.Command {
	cmd := newConsoleCommand(env, run, "migrate")
	cmd.Short = "Serve the console page about the translation and the requests that would get another answer"
	cmd.Long = "console serves the same page as \"fulcrum console\", and prints the link to the report of migrate.\n\n" + cmd.Long
	cmd.Example = "  fulcrum migrate console --cluster-name=prod"
	return cmd
}

// newConsoleCommand returns the command console. The printed link opens the part startPage of the page, or the list of load
// balancers if startPage is "".
func newConsoleCommand(env output.Environment, run CommandFunc, startPage string) *cobra.Command {
	c := &console{run: run, startPage: startPage, awsCalls: new(atomic.Int64), refreshCalls: new(atomic.Int64)}
	env.CountRequest = func() { c.awsCalls.Add(1) }
	c.env = env
	cmd := &cobra.Command{
		Use: "console", Short: "Serve a page that shows load balancers, problems and changes, and which rule answers a request",
		Long: `console serves a page on this machine, until Ctrl-C. The page shows what tree, plan, explain, doctor and orphans show:
accelerators, load balancers, listeners, rules, target groups and targets with their state, where each comes
from and what the plan would change; findings, drift and orphans; which rule answers a request; and what has
changed since the page was opened. Nothing runs in the cluster, and nothing is changed.

The page uses the kubeconfig and the AWS credentials of the user who starts the console. Anyone who can open it
sees what this user may see. Only this machine can open it, unless --listen is set to an address that other machines can reach, which needs a
token. Calls to AWS are counted and shown. The page refreshes less often if they would exceed
--aws-calls-per-minute, and once a minute while it is in the background.`,
		Example: `  fulcrum console --cluster-name=prod
  fulcrum console -n shop --cluster-name=prod --listen=127.0.0.1:9000`,
		Args: output.NoArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	env.CountRequest = func() {
		c.awsCalls.Add(1)
		c.refreshCalls.Add(1)
	}
	c.view = tree.NewView(cmd, env)
	fs := cmd.Flags()
	fs.StringVar(&c.listen, "listen", defaultAddress, "address and port to serve on; if other machines can reach the address, set --token")
	fs.StringVar(&c.token, "token", "", "token that a browser must send, at least 16 characters; if empty, the environment variable "+tokenVariable)
	fs.IntVar(&c.budget, "aws-calls-per-minute", defaultBudget, "maximum calls to AWS in a minute, above which the page refreshes less often, at least 1")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.serve(cmd) }
	return cmd
}

// console has the flags and the state of the command console.
type console struct {
	env    output.Environment
	run    CommandFunc
	view   *tree.View
	listen string
	token  string
	budget int
	// startPage is the part of the page that the printed link opens, or "" for the list of load balancers.
	startPage string
	// awsCalls counts the calls to AWS by refreshes and commands. refreshCalls counts only those by refreshes.
	awsCalls, refreshCalls *atomic.Int64
	// maxRefreshCalls is the largest number of calls to AWS that one refresh has made so far.
	maxRefreshCalls int
}

// checkFlags returns an error if the flags of the console are wrong. If --token is not set, it sets the token from the
// environment.
func (c *console) checkFlags(cmd *cobra.Command) error {
	host, _, err := net.SplitHostPort(c.listen)
	if err != nil {
		return output.NewUsageError(fmt.Errorf("--listen %q is not an address with a port, such as %s; %s", c.listen, defaultAddress, output.HelpHint(cmd)))
	}
	if c.token == "" && c.env.Getenv != nil {
		c.token = c.env.Getenv(tokenVariable)
	}
	ip := net.ParseIP(host)
	switch {
	case c.budget < 1:
		return output.NewUsageError(fmt.Errorf("--aws-calls-per-minute %d is less than 1; %s", c.budget, output.HelpHint(cmd)))
	case slices.Contains(c.view.Files, "-"):
		return output.NewUsageError(errors.New("the console reads objects repeatedly, but standard input can be read only once; use files or a cluster"))
	case c.token != "" && len(c.token) < minTokenLength:
		return output.NewUsageError(fmt.Errorf("the token has %d characters, at least %d are needed; for example: openssl rand -base64 24", len(c.token), minTokenLength))
	case c.token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()):
		return output.NewUsageError(fmt.Errorf("--listen %q may be reached from other machines, which would have your rights; set --token or %s, or listen on 127.0.0.1", c.listen, tokenVariable))
	}
	return nil // each refresh checks the flags of the controller, and the page shows its error
}

// serve serves the page until the context ends.
func (c *console) serve(cmd *cobra.Command) error {
	if err := c.checkFlags(cmd); err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("%w; set another address with --listen, for example --listen=127.0.0.1:0 for a free port", err)
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	h := newHub(c.refresh, c.awsCalls, c.refreshCalls, c.budget, c.env.Time)
	h.uidOf = c.view.UIDOf
	var goroutines sync.WaitGroup
	goroutines.Go(func() { h.run(ctx) })
	if watch := input.EventWatch(&c.view.Source); watch != nil {
		goroutines.Go(func() {
			setUnavailable := func(err error) { h.updateReports(func(r *reports) { r.setUnavailable(err) }) }
			err := watch(ctx, input.EventHandler{
				OnList: func(list []input.Event, complete bool) {
					h.updateReports(func(r *reports) { r.recordList(list, complete) })
				},
				OnEvent: func(e input.Event) {
					h.updateReports(func(r *reports) { r.recordEvent(e) })
					h.publishEvent(e)
				},
				OnError: setUnavailable,
			})
			if err != nil {
				setUnavailable(err)
				h.publishEvent(input.Event{Time: c.env.Time(), Kind: "Events", Name: c.view.Namespace, Warning: true, Component: "fulcrum console", Reason: "EventsUnavailable", Message: "events cannot be read: " + err.Error()})
			}
		})
	}
	srv := &http.Server{
		Handler:           c.handler(h, newCommandRunner(cmd, c.env, c.run, c.awsCalls)),
		ReadHeaderTimeout: durations.AnswerTimeout, IdleTimeout: durations.ListingTimeout, MaxHeaderBytes: 1 << 16,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	c.printURL(cmd, l.Addr().String())
	select {
	case err = <-failed:
		stop()
	case <-ctx.Done():
		srv.Close()
		err = nil
	}
	goroutines.Wait()
	return err
}

// printURL prints the URL of the page. The token is in the fragment of the URL, which browsers do not send to a server.
func (c *console) printURL(cmd *cobra.Command, address string) {
	url := "http://" + address + "/"
	switch {
	case c.token != "":
		url += "#token=" + c.token
	case c.startPage != "":
		url += "#/" + c.startPage
	}
	fmt.Fprintf(output.PrintableWriter(cmd.OutOrStdout()), "console: %s\nPress Ctrl-C to stop.\n", url)
}

// refresh reads the cluster and AWS. It returns a snapshot, and the changes since the previous snapshot. If full is true, it
// does not use cached facts about AWS.
func (c *console) refresh(ctx context.Context, full bool) (tree.Snapshot, []change, error) {
	ctx, cancel := context.WithTimeout(ctx, durations.SweepInterval)
	defer cancel()
	// After an expensive refresh, facts about unchanged stacks stay cached for longer than the pause until the next refresh.
	// Otherwise each refresh would read everything again.
	c.view.SetMaxCacheAgeWithoutSteps(min(2*refreshPause(c.maxRefreshCalls, c.budget), durations.LongInterval))
	before := c.refreshCalls.Load()
	previous, current, err := c.view.Update(ctx, full)
	c.maxRefreshCalls = max(c.maxRefreshCalls, int(c.refreshCalls.Load()-before))
	if err != nil || previous.Text == "" {
		return current, nil, err
	}
	return current, parseChanges(tree.DiffText(previous.Text, current.Text), c.env.Time()), nil
}

// parseChanges returns the changes in text, the output of tree.DiffText. The text has a line for each load balancer, followed
// by its removed and added lines. at is the time of the changes.
func parseChanges(text string, at time.Time) (out []change) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		was, isRemoved := strings.CutPrefix(line, "  was ")
		now, isAdded := strings.CutPrefix(line, "  now ")
		switch {
		case isRemoved && len(out) > 0:
			out[len(out)-1].Removed = append(out[len(out)-1].Removed, was)
		case isAdded && len(out) > 0:
			out[len(out)-1].Added = append(out[len(out)-1].Added, now)
		case line != "":
			out = append(out, change{At: at, Subject: line})
		}
	}
	return out
}
