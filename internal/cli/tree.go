package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func newTree(env Environment) *cobra.Command {
	t := &treeing{drafting: drafting{env: env}}
	cmd := &cobra.Command{
		Use: "tree [KIND/NAME ...]", Short: "Show load balancers as they are in AWS, and what is missing there or surplus",
		Long: `tree shows what AWS has for the objects: load balancers, listeners, certificates, rules, target groups and
the health of their targets; where each comes from; and how it compares with the desired state. It
changes nothing. -o dot and -o mermaid draw it as a graph: object, load balancer, listener, rule, target
group, target.

Signs: + missing in AWS, ~ differs from the desired state, - surplus. Without a sign it is as desired, or
held. A line that begins with # is a finding about an object or a note. "fulcrum plan" shows the steps.`,
		ValidArgsFunction: t.completeObjects,
	}
	t.bind(cmd)
	t.bindOffline(cmd)
	t.form.bind(cmd, env, "dot", "mermaid")
	cmd.Flags().BoolVarP(&t.watch, "watch", "w", false, "look again and again, and show what has changed, with the time; Ctrl-C ends it")
	cmd.Flags().DurationVar(&t.every, "interval", 10*time.Second, "how often --watch looks, at least 2s")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return t.run(cmd, args) }
	return cmd
}

// treeing is the command tree.
type treeing struct {
	drafting
	form  output
	watch bool
	// store is what was read of the cluster last.
	store *cluster.Memory
	every time.Duration
}

func (t *treeing) run(cmd *cobra.Command, args []string) error {
	if err := t.form.check(); err != nil {
		return err
	}
	if err := t.parse(args, t.namespaceOfObjects()); err != nil {
		return err
	}
	if t.watch {
		return t.follow(cmd)
	}
	all, err := t.look(cmd.Context(), cmd.InOrStdin(), t.form.notes())
	if err != nil {
		return err
	}
	return t.show(t.form.out(), all)
}

// look reads the cluster and AWS.
func (t *treeing) look(ctx context.Context, stdin io.Reader, notes io.Writer) (treeDocument, error) {
	store, err := t.objects(ctx, stdin, notes)
	if err != nil {
		return treeDocument{}, err
	}
	all := treeDocument{Cluster: t.cfg.ClusterName, Stacks: []treeStack{}}
	t.store = store
	of := behindOf(store, t.cfg)
	return all, t.each(ctx, store, func(draft engine.Draft) error {
		have, err := t.askMore(ctx, draft.Stack.ID, healthAndCertificates(draft))
		if err != nil {
			return err
		}
		one := compare(draft, have.Facts, of)
		one.Leaving = leaving(draft, t.cfg, t.env.now())
		all.Stacks = append(all.Stacks, one)
		return nil
	})
}

func (t *treeing) show(w io.Writer, all treeDocument) error {
	switch t.form.form {
	case "dot":
		return graphOf(all).dot(w)
	case "mermaid":
		return graphOf(all).mermaid(w)
	case "text":
		for _, s := range all.Stacks {
			showTree(w, s)
		}
		if len(all.Stacks) == 0 {
			fmt.Fprintln(w, noStacks)
			t.whyNot(w, t.store)
		}
		showUnserved(w, &t.drafting, t.store)
		return nil
	}
	showUnserved(t.form.notes(), &t.drafting, t.store)
	return writeDocument(w, t.form.form, all)
}

const noStacks = "no object belongs to a load balancer of this controller"

// healthAndCertificates are what tree shows besides what a plan needs.
func healthAndCertificates(d engine.Draft) []model.Question {
	var out []model.Question
	for _, g := range d.Have.TargetGroups {
		out = append(out, model.AskHealth{ARN: g.ARN})
	}
	for _, lb := range d.Have.LoadBalancers {
		for _, l := range lb.Listeners {
			if l.Certificate != "" {
				return append(out, model.AskCertificates{})
			}
		}
	}
	return out
}

// Bounds of what is shown of one thing.
const (
	mostListeners    = 50
	mostRules        = 100
	mostCertificates = 25
	mostTargetGroups = 100
	mostTargets      = 10
	mostChanges      = 5

	mostSecurityGroups = 10
)

// treeText writes one stack.
type treeText struct {
	w     io.Writer
	names plan.Names
}

func showTree(w io.Writer, s treeStack) {
	t := treeText{w, s.names}
	fmt.Fprintf(w, "%s %s%s\n", kindText(s.Kind), s.ID, map[bool]string{true: ": held, nothing of it is changed"}[s.Held])
	if len(s.Members) > 0 && !s.alone() {
		var refs []string
		for _, m := range s.Members {
			refs = append(refs, finding.Ref(m).String())
		}
		t.line(live, 0, "of "+few(refs))
	}
	showFindings(w, s.found)
	showLeaving(w, s.Leaving)
	if len(s.LoadBalancers)+len(s.TargetGroups)+len(s.SecurityGroups) == 0 {
		t.line(live, 0, "nothing in AWS, and nothing is desired")
	}
	for _, lb := range s.LoadBalancers {
		t.loadBalancer(lb)
	}
	some(s.TargetGroups, mostTargetGroups, t.targetGroup, func(n int) { t.line(live, 0, fmt.Sprintf("… and %d more target groups", n)) })
	some(s.SecurityGroups, mostSecurityGroups, t.securityGroup, func(n int) { t.line(live, 0, fmt.Sprintf("… and %d more security groups", n)) })
	fmt.Fprintln(w)
}

// alone reports whether the only member is the object whose name the stack has.
func (s treeStack) alone() bool {
	return len(s.Members) == 1 && finding.Ref(s.Members[0]).String() == kindText(s.Kind)+" "+s.ID
}

// some shows the first of a list, and how many more there are.
func some[T any](list []T, most int, show func(T), more func(int)) {
	for _, x := range list[:min(len(list), most)] {
		show(x)
	}
	if n := len(list) - most; n > 0 {
		more(n)
	}
}

// line writes one line with its sign.
func (t treeText) line(s state, depth int, text string) {
	sign := map[state]string{missing: "+", differs: "~", surplus: "-"}[s]
	fmt.Fprintf(t.w, "%-2s%s%s\n", sign, strings.Repeat("  ", depth), text)
}

// compared writes a line with what is to be said of its state, and the changes below it.
func (t treeText) compared(c compared, depth int, text string) {
	var reported []string
	if c.State == missing || c.State == surplus {
		reported = append(reported, string(c.State))
	}
	if c.Note != "" {
		reported = append(reported, c.Note)
	}
	if len(reported) > 0 {
		text += "   " + strings.Join(reported, ": ")
	}
	t.line(c.State, depth, text)
	some(c.Changes, mostChanges,
		func(f fieldDocument) { t.line(live, depth+2, t.names.In(f.text())) },
		func(n int) { t.line(live, depth+2, fmt.Sprintf("… and %d more differences", n)) })
}

func (t treeText) loadBalancer(lb treeLoadBalancer) {
	text := fmt.Sprintf("%s load balancer %s (%s)", lb.Type, lb.Name, lb.Scheme)
	if lb.Status != "" {
		text += ", " + lb.Status + ", " + lb.DNSName
	}
	t.compared(lb.compared, 0, text)
	some(lb.Listeners, mostListeners, t.listener, func(n int) { t.line(live, 1, fmt.Sprintf("… and %d more listeners", n)) })
}

func (t treeText) listener(l treeListener) {
	t.compared(l.compared, 1, fmt.Sprintf("listener %s:%d", l.Protocol, l.Port))
	some(l.Certificates, mostCertificates, t.certificate, func(n int) { t.line(live, 2, fmt.Sprintf("… and %d more certificates", n)) })
	some(l.Rules, mostRules, t.rule, func(n int) { t.line(live, 2, fmt.Sprintf("… and %d more rules", n)) })
	if l.Default != "" {
		t.line(map[bool]state{true: l.State}[l.State != differs], 2, "otherwise -> "+l.Default)
	}
}

func (t treeText) certificate(c treeCertificate) {
	text := "certificate " + c.ARN
	if c.Default {
		text += " (default)"
	}
	if len(c.Domains) > 0 {
		text += ", " + few(c.Domains)
	}
	if c.Status != "" {
		text += ", " + c.Status
	}
	if c.Secret != "" {
		text += ", imported from Secret " + c.Secret
	}
	t.line(c.State, 2, text)
}

func (t treeText) rule(r treeRule) {
	text := fmt.Sprintf("%d %s -> %s", r.Priority, r.Conditions, r.Actions)
	if r.From != "" {
		text += "   from " + r.From
	}
	t.compared(r.compared, 2, text)
}

func (t treeText) targetGroup(g treeTargetGroup) {
	text := fmt.Sprintf("target group %s (%s, %s:%d) %s", g.ID, g.Type, g.Protocol, g.Port, g.Name)
	if g.ARN != "" {
		text += ", " + health(g.Targets)
	}
	if g.From != "" {
		text += "   from " + g.From
	}
	t.compared(g.compared, 0, text)
	var others []treeTarget
	for _, x := range g.Targets {
		if x.State != "healthy" || x.Compared != "" {
			others = append(others, x)
		}
	}
	some(others, mostTargets, func(x treeTarget) {
		text := fmt.Sprintf("%s:%d %s", x.ID, x.Port, x.State)
		if x.Reason != "" {
			text += ": " + x.Reason + " " + x.Description
		}
		switch x.Compared {
		case missing:
			text += ", an endpoint of its Service"
		case surplus:
			text += ", no endpoint of its Service"
		}
		t.line(x.Compared, 1, finding.Printable(text))
	}, func(n int) { t.line(live, 1, fmt.Sprintf("… and %d more that are not healthy", n)) })
}

// health counts targets by state.
func health(targets []treeTarget) string {
	switch {
	case targets == nil:
		return "health of targets not known"
	case len(targets) == 0:
		return "no targets"
	}
	count := map[string]int{}
	for _, x := range targets {
		count[x.State]++
	}
	var out []string
	for _, s := range slices.Sorted(maps.Keys(count)) {
		out = append(out, fmt.Sprintf("%d %s", count[s], s))
	}
	return strings.Join(out, ", ")
}

func (t treeText) securityGroup(g treeSecurityGroup) {
	text := "security group " + g.Name
	if g.ID != "" {
		text += " (" + g.ID + "), open: " + few(g.Ingress)
	}
	t.compared(g.compared, 0, text)
}
