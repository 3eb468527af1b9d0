// Package console is the command console: a page that shows what the other commands know. It reads a cluster and
// AWS as they do, with the rights of its user, and changes nothing.
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
	// usualAddress is the same each time, so that links to the page stay valid.
	usualAddress = "127.0.0.1:7442"
	// usualBudget is enough for a look every two seconds at a few load balancers.
	usualBudget = 100
	// shortestToken is as long as 96 random bits in base64.
	shortestToken = 16
	// tokenVariable names the token where it is not to be seen in a list of processes.
	tokenVariable = "FULCRUM_CONSOLE_TOKEN"
)

// Command carries out another command of the program, and returns its exit code.
type Command func(context.Context, output.Environment) int

// New returns the command console. run carries out the commands that the page asks for.
func New(env output.Environment, run Command) *cobra.Command { return newConsole(env, run, "") }

// NewMigration returns the command that opens the page about the migration to the Gateway API.
func NewMigration(env output.Environment, run Command) *cobra.Command {
	cmd := newConsole(env, run, "migrate")
	cmd.Short = "Serve the page of the console that shows the translation, and what would be answered otherwise"
	cmd.Long = "console serves the same page as \"fulcrum console\", and prints the link to what migrate says.\n\n" + cmd.Long
	cmd.Example = "  fulcrum migrate console --cluster-name=prod"
	return cmd
}

func newConsole(env output.Environment, run Command, first string) *cobra.Command {
	c := &console{run: run, first: first, asked: new(atomic.Int64), looked: new(atomic.Int64)}
	env.CountRequest = func() { c.asked.Add(1) }
	c.env = env
	cmd := &cobra.Command{
		Use: "console", Short: "Serve a page that shows load balancers, trouble and changes, and answers who serves a request",
		Long: `console serves a page on this machine, until Ctrl-C. The page shows what tree, plan, explain, doctor and orphans know:
accelerators, load balancers, listeners, rules, target groups and targets with their state, where each comes
from and what the plan would change; findings, drift and orphans; which rule answers a request; and what has
changed since the page was opened. Nothing runs in the cluster, and nothing is changed.

The rights are those of the kubeconfig and of the AWS credentials of who starts it: whoever reaches the address
sees what they may see. It is reached from this machine alone, unless --listen says otherwise, which needs a
token. Each call to AWS is counted and shown; the page looks less often when they are more than
--aws-calls-per-minute, and once a minute when it is in the background.`,
		Example: `  fulcrum console --cluster-name=prod
  fulcrum console -n shop --cluster-name=prod --listen=127.0.0.1:9000`,
		Args: output.NoArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	env.CountRequest = func() {
		c.asked.Add(1)
		c.looked.Add(1)
	}
	c.view = tree.NewView(cmd, env)
	fs := cmd.Flags()
	fs.StringVar(&c.listen, "listen", usualAddress, "address and port to serve on; one that other machines reach needs --token")
	fs.StringVar(&c.token, "token", "", "what a browser has to give, at least 16 characters; if empty, the environment variable "+tokenVariable)
	fs.IntVar(&c.budget, "aws-calls-per-minute", usualBudget, "calls to AWS in a minute beyond which the page looks less often, at least 1")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.serve(cmd) }
	return cmd
}

// console is the command.
type console struct {
	env    output.Environment
	run    Command
	view   *tree.View
	listen string
	token  string
	budget int
	// first is the page that the printed link opens; "" for that of all load balancers.
	first string
	asked *atomic.Int64 // calls to AWS
	// looked are the calls of looks, without those of commands.
	looked *atomic.Int64
	most   int // calls to AWS of the look that took the most
}

// check returns an error for flags that cannot be served with.
func (c *console) check(cmd *cobra.Command) error {
	host, _, err := net.SplitHostPort(c.listen)
	if err != nil {
		return output.NewUsageError(fmt.Errorf("--listen %q is no address with a port, such as %s; %s", c.listen, usualAddress, output.HelpHint(cmd)))
	}
	if c.token == "" && c.env.Getenv != nil {
		c.token = c.env.Getenv(tokenVariable)
	}
	ip := net.ParseIP(host)
	switch {
	case c.budget < 1:
		return output.NewUsageError(fmt.Errorf("--aws-calls-per-minute %d is less than 1; %s", c.budget, output.HelpHint(cmd)))
	case slices.Contains(c.view.Files, "-"):
		return output.NewUsageError(errors.New("the page reads objects again and again, and standard input can be read once; give files or a cluster"))
	case c.token != "" && len(c.token) < shortestToken:
		return output.NewUsageError(fmt.Errorf("the token has %d characters, at least %d are needed; for example: openssl rand -base64 24", len(c.token), shortestToken))
	case c.token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()):
		return output.NewUsageError(fmt.Errorf("--listen %q may be reached from other machines, which would have your rights; set --token or %s, or listen on 127.0.0.1", c.listen, tokenVariable))
	}
	return nil // the rest is known once the flags of the controller are taken over, and the page says it
}

func (c *console) serve(cmd *cobra.Command) error {
	if err := c.check(cmd); err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("%w; give another address with --listen, for example --listen=127.0.0.1:0 for a free port", err)
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	h := newHub(c.look, c.asked, c.looked, c.budget, c.env.Time)
	h.uidOf = c.view.UIDOf
	var working sync.WaitGroup
	working.Go(func() { h.run(ctx) })
	if read := input.EventWatch(&c.view.Source); read != nil {
		working.Go(func() {
			cannot := func(err error) { h.reporting(func(r *reports) { r.setUnavailable(err) }) }
			err := read(ctx, input.EventHandler{
				OnList: func(list []input.Event, complete bool) { h.reporting(func(r *reports) { r.listed(list, complete) }) },
				OnEvent: func(e input.Event) {
					h.reporting(func(r *reports) { r.take(e) })
					h.take(e)
				},
				OnError: cannot,
			})
			if err != nil {
				cannot(err)
				h.take(input.Event{Time: c.env.Time(), Kind: "Events", Name: c.view.Namespace, Warning: true, Component: "fulcrum console", Reason: "Unread", Message: "events cannot be read: " + err.Error()})
			}
		})
	}
	srv := &http.Server{
		Handler:           c.handler(h, newCommands(cmd, c.env, c.run, c.asked)),
		ReadHeaderTimeout: durations.Answer, IdleTimeout: durations.Listing, MaxHeaderBytes: 1 << 16,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	c.announce(cmd, l.Addr().String())
	select {
	case err = <-served:
		stop()
	case <-ctx.Done():
		srv.Close()
		err = nil
	}
	working.Wait()
	return err
}

// announce prints the line that opens the page. The token is in the fragment, which browsers send to no server.
func (c *console) announce(cmd *cobra.Command, at string) {
	url := "http://" + at + "/"
	switch {
	case c.token != "":
		url += "#token=" + c.token
	case c.first != "":
		url += "#/" + c.first
	}
	fmt.Fprintf(output.PrintableWriter(cmd.OutOrStdout()), "console: %s\nCtrl-C ends it\n", url)
}

func (c *console) look(ctx context.Context, again bool) (tree.Snapshot, []change, error) {
	ctx, cancel := context.WithTimeout(ctx, durations.Sweep)
	defer cancel()
	// A look that reads all must not be so dear that the next one comes only when all of it is old again.
	c.view.SetUnchangedAge(min(2*pauseFor(c.most, c.budget), durations.Period))
	before := c.looked.Load()
	look := c.view.Update
	if again {
		look = c.view.UpdateUncached
	}
	last, now, err := look(ctx)
	c.most = max(c.most, int(c.looked.Load()-before))
	if err != nil || last.Text == "" {
		return now, nil, err
	}
	return now, changesOf(tree.DiffText(last.Text, now.Text), c.env.Time()), nil
}

// changesOf reads what tree prints of a change: a line for a load balancer, and the lines that it had and has below it.
func changesOf(text string, at time.Time) (out []change) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		was, gone := strings.CutPrefix(line, "  was ")
		is, come := strings.CutPrefix(line, "  now ")
		switch {
		case gone && len(out) > 0:
			out[len(out)-1].Was = append(out[len(out)-1].Was, was)
		case come && len(out) > 0:
			out[len(out)-1].Now = append(out[len(out)-1].Now, is)
		case line != "":
			out = append(out, change{At: at, Of: line})
		}
	}
	return out
}
