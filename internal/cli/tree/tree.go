// Package tree shows what AWS has of load balancers, and how it compares with the desired state: the commands tree and get.
package tree

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// New returns the command tree.
func New(env output.Environment) *cobra.Command {
	t := &treeCommand{Source: input.Source{Env: env}, behind: true}
	cmd := &cobra.Command{
		Use: "tree [KIND/NAME ...]", Short: "Show load balancers as they are in AWS, and what is missing there or surplus",
		Long: `tree shows what AWS has for the objects: load balancers, listeners, certificates, rules, target groups and
the health of their targets, and accelerators, their endpoint groups, and the load balancers that they lead
to; where each comes from; and how it compares with the desired state. It changes nothing. -o dot and -o mermaid draw it as a graph: object, load balancer, listener, rule, target
group, target.

Signs: + missing in AWS, ~ differs from the desired state, - surplus. Without a sign it is as desired, or
held. A line that begins with # is a finding about an object or a note. "fulcrum plan" shows the steps.`,
		ValidArgsFunction: t.CompleteObjects,
	}
	t.Bind(cmd)
	t.BindOffline(cmd)
	t.form.Bind(cmd, env, "dot", "mermaid")
	cmd.Flags().BoolVarP(&t.watch, "watch", "w", false, "look again and again, and show what has changed, with the time; Ctrl-C ends it")
	cmd.Flags().DurationVar(&t.every, "interval", 10*time.Second, "how often --watch looks, at least 2s")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return t.run(cmd, args) }
	return cmd
}

// treeCommand is the command tree.
type treeCommand struct {
	input.Source
	form  output.Form
	watch bool
	// store is what was read of the cluster last.
	store *cluster.Memory
	every time.Duration
	// behind shows the load balancers too that a GlobalAccelerator leads to which is asked for.
	behind bool
	// unchangedAge is how old what AWS has shown of a stack may be that has nothing to change, if that is longer than usual.
	unchangedAge time.Duration
	// again has AWS read again, however young what it has shown is.
	again bool
}

func (t *treeCommand) run(cmd *cobra.Command, args []string) error {
	if err := t.form.Check(); err != nil {
		return err
	}
	if err := t.Parse(args, t.NamespaceOfObjects()); err != nil {
		return err
	}
	if t.watch {
		return t.follow(cmd)
	}
	all, err := t.look(cmd.Context(), cmd.InOrStdin(), t.form.Notes())
	if err != nil {
		return err
	}
	return t.show(t.form.Out(), all)
}

// look reads the cluster and AWS.
func (t *treeCommand) look(ctx context.Context, stdin io.Reader, notes io.Writer) (Document, error) {
	store, err := t.Objects(ctx, stdin, notes)
	if err != nil {
		return Document{}, err
	}
	all := Document{Cluster: t.Config.ClusterName, Stacks: []Stack{}}
	t.store = store
	of := BehindOf(store, t.Config)
	add := func(draft engine.Draft) error {
		have, err := t.AskMore(ctx, draft.Stack.ID, HealthAndCertificates(draft))
		if err != nil {
			return err
		}
		one := Compare(draft, have.Facts, of)
		one.pending = len(draft.Plan.Steps)+len(draft.Findings) > 0
		one.Leaving = LeavingOf(draft, t.Config, t.Env.Time())
		all.Stacks = append(all.Stacks, one)
		return nil
	}
	if err := t.Each(ctx, store, add); err != nil {
		return all, err
	}
	return all, t.addAccelerators(ctx, &all, of, add)
}

// addAccelerators adds to load balancers which GlobalAccelerators lead to them, and the load balancers that a
// GlobalAccelerator leads to which is asked for.
func (t *treeCommand) addAccelerators(ctx context.Context, all *Document, of Behind, add func(engine.Draft) error) error {
	if t.behind && slices.ContainsFunc(t.Named, func(r cluster.Ref) bool { return r.Kind == cluster.KindGlobalAccelerator }) {
		led := map[string]bool{}
		for _, s := range all.Stacks {
			maps.Copy(led, s.stacks())
		}
		if err := input.EachOutsideScope(ctx, &t.Source, t.store, func(id model.StackID) bool { return led[string(id.Kind)+" "+id.String()] }, add); err != nil {
			return err
		}
	}
	leading := map[string][]output.Object{}
	for _, s := range all.Stacks {
		s.addAccelerators(leading)
	}
	if slices.ContainsFunc(all.Stacks, func(s Stack) bool { return len(s.LoadBalancers) > 0 }) {
		err := input.EachOutsideScope(ctx, &t.Source, t.store, func(id model.StackID) bool { return id.Kind.HasAccelerator() }, func(d engine.Draft) error {
			Compare(d, d.Have.Facts, of).addAccelerators(leading)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, s := range all.Stacks {
		for i := range s.LoadBalancers {
			if lb := &s.LoadBalancers[i]; lb.ARN != "" {
				lb.Accelerators = slices.SortedFunc(slices.Values(leading[lb.ARN]), func(a, b output.Object) int {
					return strings.Compare(finding.Ref(a).String(), finding.Ref(b).String())
				})
			}
		}
	}
	return nil
}

func (t *treeCommand) show(w io.Writer, all Document) error {
	switch t.form.Kind {
	case "dot":
		return graphOf(all).dot(w)
	case "mermaid":
		return graphOf(all).mermaid(w)
	case "text":
		for _, s := range all.Stacks {
			showTree(w, s)
		}
		if len(all.Stacks) == 0 {
			fmt.Fprintln(w, NoStacks)
			t.ReportUnserved(w, t.store)
		}
		input.ShowUnserved(w, &t.Source, t.store)
		return nil
	}
	input.ShowUnserved(t.form.Notes(), &t.Source, t.store)
	return output.WriteDocument(w, t.form.Kind, all)
}

// NoStacks is the answer where no object has a part in a load balancer.
const NoStacks = "no object belongs to a load balancer of this controller"

// HealthAndCertificates returns what tree shows besides what a plan needs.
func HealthAndCertificates(d engine.Draft) []model.Question {
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
	MostListeners    = 50
	MostRules        = 100
	MostCertificates = 25
	MostTargetGroups = 100
	mostTargets      = 10
	mostChanges      = 5

	mostSecurityGroups = 10
)

// Text writes one stack.
type Text struct {
	W     io.Writer
	names plan.Names
}

func showTree(w io.Writer, s Stack) {
	t := Text{w, s.names}
	fmt.Fprintf(w, "%s %s%s\n", model.Kind(s.Kind).Object(), s.ID, map[bool]string{true: ": held, nothing of it is changed"}[s.Held])
	if len(s.Members) > 0 && !s.isOnlyMember() {
		var refs []string
		for _, m := range s.Members {
			refs = append(refs, finding.Ref(m).String())
		}
		t.line(live, 0, "of "+output.JoinFirst(refs))
	}
	output.ShowFindings(w, s.found)
	ShowLeaving(w, s.Leaving)
	for _, a := range s.Accelerators {
		t.Accelerator(a)
	}
	if len(s.LoadBalancers)+len(s.TargetGroups)+len(s.SecurityGroups)+len(s.Accelerators) == 0 {
		t.line(live, 0, "nothing in AWS, and nothing is desired")
	}
	for _, lb := range s.LoadBalancers {
		t.loadBalancer(lb)
	}
	output.ShowFirst(s.TargetGroups, MostTargetGroups, t.TargetGroup, func(n int) { t.line(live, 0, fmt.Sprintf("… and %d more target groups", n)) })
	output.ShowFirst(s.SecurityGroups, mostSecurityGroups, t.securityGroup, func(n int) { t.line(live, 0, fmt.Sprintf("… and %d more security groups", n)) })
	fmt.Fprintln(w)
}

// isOnlyMember reports whether the only member is the object whose name the stack has.
func (s Stack) isOnlyMember() bool {
	return len(s.Members) == 1 && finding.Ref(s.Members[0]).String() == model.Kind(s.Kind).Object()+" "+s.ID
}

// line writes one line with its sign.
func (t Text) line(s state, depth int, text string) {
	sign := map[state]string{missing: "+", differs: "~", surplus: "-"}[s]
	fmt.Fprintf(t.W, "%-2s%s%s\n", sign, strings.Repeat("  ", depth), text)
}

// compared writes a line with what is to be said of its state, and the changes below it.
func (t Text) compared(c compared, depth int, text string) {
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
	output.ShowFirst(c.Changes, mostChanges,
		func(f output.Field) { t.line(live, depth+2, t.names.Replace(f.Text())) },
		func(n int) { t.line(live, depth+2, fmt.Sprintf("… and %d more differences", n)) })
}

func (t Text) loadBalancer(lb LoadBalancer) {
	text := fmt.Sprintf("%s load balancer %s (%s)", lb.Type, lb.Name, lb.Scheme)
	if lb.Status != "" {
		text += ", " + lb.Status + ", " + lb.DNSName
	}
	t.compared(lb.compared, 0, text)
	output.ShowFirst(lb.Accelerators, output.MaxShownMembers, func(o output.Object) { t.line(live, 1, finding.Ref(o).String()+" leads to it") },
		func(n int) { t.line(live, 1, fmt.Sprintf("… and %d more GlobalAccelerators", n)) })
	output.ShowFirst(lb.Listeners, MostListeners, t.listener, func(n int) { t.line(live, 1, fmt.Sprintf("… and %d more listeners", n)) })
}

func (t Text) listener(l Listener) {
	t.compared(l.compared, 1, fmt.Sprintf("listener %s:%d", l.Protocol, l.Port))
	output.ShowFirst(l.Certificates, MostCertificates, t.certificate, func(n int) { t.line(live, 2, fmt.Sprintf("… and %d more certificates", n)) })
	output.ShowFirst(l.Rules, MostRules, t.rule, func(n int) { t.line(live, 2, fmt.Sprintf("… and %d more rules", n)) })
	if l.Default != "" {
		t.line(map[bool]state{true: l.State}[l.State != differs], 2, "otherwise -> "+l.Default)
	}
}

func (t Text) certificate(c Certificate) {
	text := "certificate " + c.ARN
	if c.Default {
		text += " (default)"
	}
	if len(c.Domains) > 0 {
		text += ", " + output.JoinFirst(c.Domains)
	}
	if c.Status != "" {
		text += ", " + c.Status
	}
	if c.Secret != "" {
		text += ", imported from Secret " + c.Secret
	}
	t.line(c.State, 2, text)
}

func (t Text) rule(r Rule) {
	text := fmt.Sprintf("%d %s -> %s", r.Priority, r.Conditions, r.Actions)
	if r.From != "" {
		text += "   from " + r.From
	}
	t.compared(r.compared, 2, text)
}

// TargetGroup prints a target group with its targets.
func (t Text) TargetGroup(g TargetGroup) {
	text := fmt.Sprintf("target group %s (%s, %s:%d) %s", g.ID, g.Type, g.Protocol, g.Port, g.Name)
	if g.ARN != "" {
		text += ", " + Health(g.Targets)
	}
	if g.From != "" {
		text += "   from " + g.From
	}
	t.compared(g.compared, 0, text)
	var others []Target
	for _, x := range g.Targets {
		if x.State != "healthy" || x.Compared != "" {
			others = append(others, x)
		}
	}
	output.ShowFirst(others, mostTargets, func(x Target) {
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

// Health counts targets by state.
func Health(targets []Target) string {
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

func (t Text) securityGroup(g SecurityGroup) {
	text := "security group " + g.Name
	if g.ID != "" {
		text += " (" + g.ID + "), open: " + output.JoinFirst(g.Ingress)
	}
	t.compared(g.compared, 0, text)
}
