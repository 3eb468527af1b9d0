// Package tree implements the commands "fulcrum tree" and "fulcrum get". They show the load balancers in AWS, and how these
// differ from the desired state.
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
	t := &treeCommand{Source: input.Source{Env: env}, showEndpointLoadBalancers: true}
	cmd := &cobra.Command{
		Use: "tree [KIND/NAME ...]", Short: "Show load balancers as they are in AWS, and what is missing there or surplus",
		Long: `tree shows what AWS has for the objects: load balancers, listeners, certificates, rules, target groups and
the health of their targets, and accelerators, their endpoint groups, and the load balancers behind them;
which object each resource comes from; and how it differs from the desired state. It changes nothing. -o dot and -o mermaid draw a graph: object, load balancer, listener, rule, target
group, target.

Signs: + missing in AWS, ~ differs from the desired state, - surplus. A line without a sign is as desired, or
held. A line that begins with # is a finding about an object or a note. "fulcrum plan" shows the steps.`,
		ValidArgsFunction: t.CompleteObjects,
	}
	t.Bind(cmd)
	t.BindOffline(cmd)
	t.form.Bind(cmd, env, "dot", "mermaid")
	cmd.Flags().BoolVarP(&t.watch, "watch", "w", false, "repeat the command, and show the changes with the time; stop with Ctrl-C")
	cmd.Flags().DurationVar(&t.interval, "interval", 10*time.Second, "interval of --watch, at least 2s")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return t.run(cmd, args) }
	return cmd
}

// treeCommand has the flags and the state of the command tree.
type treeCommand struct {
	input.Source
	form     output.Format
	watch    bool          // the value of --watch
	interval time.Duration // the value of --interval
	// store has the objects that were read last.
	store *cluster.Memory
	// showEndpointLoadBalancers reports whether to show the load balancers that are endpoints of a GlobalAccelerator on
	// the command line.
	showEndpointLoadBalancers bool
	// unchangedMaxAge is the maximum age of cached facts about a stack whose plan has no steps and no findings. It has no
	// effect if it is shorter than the maximum age for other stacks.
	unchangedMaxAge time.Duration
	// bypassCache reports whether all facts are read from AWS again.
	bypassCache bool
}

func (t *treeCommand) run(cmd *cobra.Command, args []string) error {
	if err := t.form.Check(); err != nil {
		return err
	}
	if err := t.Parse(args, t.NamespaceOfObjects()); err != nil {
		return err
	}
	if t.watch {
		return t.runWatch(cmd)
	}
	doc, err := t.buildDocument(cmd.Context(), cmd.InOrStdin(), t.form.NotesWriter())
	if err != nil {
		return err
	}
	return t.showDocument(t.form.Out(), doc)
}

// buildDocument reads the cluster and AWS, and returns the comparison of the desired state with AWS. It also sets t.store.
func (t *treeCommand) buildDocument(ctx context.Context, stdin io.Reader, notes io.Writer) (Document, error) {
	store, err := t.Objects(ctx, stdin, notes)
	if err != nil {
		return Document{}, err
	}
	doc := Document{Cluster: t.Config.ClusterName, Stacks: []Stack{}}
	t.store = store
	targets := ClusterTargetsOf(store, t.Config)
	add := func(draft engine.Draft) error {
		have, err := t.ObserveWith(ctx, draft.Stack.ID, ExtraQuestions(draft))
		if err != nil {
			return err
		}
		stack := Compare(draft, have.Facts, targets)
		stack.hasChangesOrFindings = len(draft.Plan.Steps)+len(draft.Findings) > 0
		stack.Leaving = LeavingMembersOf(draft, t.Config, t.Env.Time())
		doc.Stacks = append(doc.Stacks, stack)
		return nil
	}
	if err := t.EachDraft(ctx, store, add); err != nil {
		return doc, err
	}
	return doc, t.addAccelerators(ctx, &doc, targets, add)
}

// addAccelerators adds to each load balancer the GlobalAccelerators that have it as an endpoint. If the command line names a
// GlobalAccelerator, addAccelerators also calls add with the draft of each stack whose load balancer is an endpoint of that
// GlobalAccelerator but is not in the scope of the command.
func (t *treeCommand) addAccelerators(ctx context.Context, doc *Document, targets ClusterTargets, add func(engine.Draft) error) error {
	if t.showEndpointLoadBalancers && slices.ContainsFunc(t.Named, func(r cluster.Ref) bool { return r.Kind == cluster.KindGlobalAccelerator }) {
		endpointStacks := map[model.StackID]bool{}
		for _, s := range doc.Stacks {
			maps.Copy(endpointStacks, s.endpointStacks())
		}
		if err := input.EachDraftOutsideScope(ctx, &t.Source, t.store, func(id model.StackID) bool { return endpointStacks[id] }, add); err != nil {
			return err
		}
	}
	accelerators := map[string][]output.Object{} // by ARN of the load balancer
	for _, s := range doc.Stacks {
		s.addAcceleratorTo(accelerators)
	}
	if slices.ContainsFunc(doc.Stacks, func(s Stack) bool { return len(s.LoadBalancers) > 0 }) {
		err := input.EachDraftOutsideScope(ctx, &t.Source, t.store, func(id model.StackID) bool { return id.Kind.HasAccelerator() }, func(d engine.Draft) error {
			Compare(d, d.Have.Facts, targets).addAcceleratorTo(accelerators)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, s := range doc.Stacks {
		for i := range s.LoadBalancers {
			if lb := &s.LoadBalancers[i]; lb.ARN != "" {
				lb.Accelerators = slices.SortedFunc(slices.Values(accelerators[lb.ARN]), func(a, b output.Object) int {
					return strings.Compare(finding.Ref(a).String(), finding.Ref(b).String())
				})
			}
		}
	}
	return nil
}

// showDocument writes a document in the format of --output.
func (t *treeCommand) showDocument(w io.Writer, doc Document) error {
	switch t.form.Name {
	case "dot":
		return graphOf(doc).writeDot(w)
	case "mermaid":
		return graphOf(doc).writeMermaid(w)
	case "text":
		for _, s := range doc.Stacks {
			writeStack(w, s)
		}
		if len(doc.Stacks) == 0 {
			fmt.Fprintln(w, NoStacksText)
			t.ReportUnservedNamedObjects(w, t.store)
		}
		input.ShowUnservedFileObjects(w, &t.Source, t.store)
		return nil
	}
	input.ShowUnservedFileObjects(t.form.NotesWriter(), &t.Source, t.store)
	return output.WriteDocument(w, t.form.Name, doc)
}

// NoStacksText is the output of commands if no object is a member of a stack.
const NoStacksText = "no object that was read belongs to a load balancer of this controller"

// ExtraQuestions returns questions about facts that the command tree shows but a plan does not need: the health of targets,
// and the certificates in ACM.
func ExtraQuestions(d engine.Draft) []model.Question {
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

// The maximum numbers of nested resources that text and graphs show: listeners of a load balancer, rules and certificates of
// a listener, target groups and security groups of a stack, targets of a target group, and changes of a resource.
const (
	MaxListeners      = 50
	MaxRules          = 100
	MaxCertificates   = 25
	MaxTargetGroups   = 100
	maxSecurityGroups = 10
	maxTargets        = 10
	maxChanges        = 5
)

// TextWriter writes the resources of one stack as text.
type TextWriter struct {
	W     io.Writer
	names plan.ResourceNames // readable names in place of ARNs and ids
}

// writeStack writes a stack with all its resources as text.
func writeStack(w io.Writer, s Stack) {
	t := TextWriter{w, s.names}
	fmt.Fprintf(w, "%s %s%s\n", model.Kind(s.Kind).ObjectKind(), s.ID, map[bool]string{true: ": held; only what is no longer permitted is removed or answers 404"}[s.Held])
	if len(s.Members) > 0 && !s.isNamedAfterOnlyMember() {
		var refs []string
		for _, m := range s.Members {
			refs = append(refs, finding.Ref(m).String())
		}
		t.writeLine(stateLive, 0, "of "+output.JoinFirst(refs))
	}
	output.ShowFindings(w, s.findingList)
	ShowLeavingMembers(w, s.Leaving)
	for _, a := range s.Accelerators {
		t.WriteAccelerator(a)
	}
	if len(s.LoadBalancers)+len(s.TargetGroups)+len(s.SecurityGroups)+len(s.Accelerators) == 0 {
		t.writeLine(stateLive, 0, "nothing in AWS, and nothing is desired")
	}
	for _, lb := range s.LoadBalancers {
		t.writeLoadBalancer(lb)
	}
	output.ShowFirst(s.TargetGroups, MaxTargetGroups, t.WriteTargetGroup, t.writeMore(0, "target groups"))
	output.ShowFirst(s.SecurityGroups, maxSecurityGroups, t.writeSecurityGroup, t.writeMore(0, "security groups"))
	fmt.Fprintln(w)
}

// isNamedAfterOnlyMember reports whether the stack has a single member, and this member has the kind and name of the stack.
func (s Stack) isNamedAfterOnlyMember() bool {
	return len(s.Members) == 1 && finding.Ref(s.Members[0]).String() == model.Kind(s.Kind).ObjectKind()+" "+s.ID
}

// writeLine writes a line of text after the sign of a state. depth is the indentation in steps of two spaces.
func (t TextWriter) writeLine(s state, depth int, text string) {
	sign := map[state]string{stateMissing: "+", stateDiffers: "~", stateSurplus: "-"}[s]
	fmt.Fprintf(t.W, "%-2s%s%s\n", sign, strings.Repeat("  ", depth), text)
}

// writeMore returns a function for output.ShowFirst that writes a line with the number of further resources. noun is the
// plural of the kind of resource.
func (t TextWriter) writeMore(depth int, noun string) func(n int) {
	return func(n int) { t.writeLine(stateLive, depth, fmt.Sprintf("… and %d more %s", n, noun)) }
}

// writeComparedLine writes the line of a resource with its state and note, and its changes on the lines after it.
func (t TextWriter) writeComparedLine(c comparison, depth int, text string) {
	var remarks []string
	if c.State == stateMissing || c.State == stateSurplus {
		remarks = append(remarks, string(c.State))
	}
	if c.Note != "" {
		remarks = append(remarks, c.Note)
	}
	if len(remarks) > 0 {
		text += "   " + strings.Join(remarks, ": ")
	}
	t.writeLine(c.State, depth, text)
	output.ShowFirst(c.Changes, maxChanges,
		func(f output.Field) { t.writeLine(stateLive, depth+2, t.names.Replace(f.Text())) }, t.writeMore(depth+2, "differences"))
}

// writeLoadBalancer writes a load balancer with its listeners.
func (t TextWriter) writeLoadBalancer(lb LoadBalancer) {
	text := fmt.Sprintf("%s load balancer %s (%s)", lb.Type, lb.Name, lb.Scheme)
	if lb.Status != "" {
		text += ", " + lb.Status + ", " + lb.DNSName
	}
	t.writeComparedLine(lb.comparison, 0, text)
	output.ShowFirst(lb.Accelerators, output.MaxShownMembers, func(o output.Object) { t.writeLine(stateLive, 1, finding.Ref(o).String()+" has it as an endpoint") },
		t.writeMore(1, "GlobalAccelerators"))
	output.ShowFirst(lb.Listeners, MaxListeners, t.writeListener, t.writeMore(1, "listeners"))
}

// writeListener writes a listener with its certificates and rules.
func (t TextWriter) writeListener(l Listener) {
	t.writeComparedLine(l.comparison, 1, fmt.Sprintf("listener %s:%d", l.Protocol, l.Port))
	output.ShowFirst(l.Certificates, MaxCertificates, t.writeCertificate, t.writeMore(2, "certificates"))
	output.ShowFirst(l.Rules, MaxRules, t.writeRule, t.writeMore(2, "rules"))
	if l.Default != "" {
		t.writeLine(map[bool]state{true: l.State}[l.State != stateDiffers], 2, "otherwise -> "+l.Default)
	}
}

func (t TextWriter) writeCertificate(c Certificate) {
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
	t.writeLine(c.State, 2, text)
}

func (t TextWriter) writeRule(r Rule) {
	text := fmt.Sprintf("%d %s -> %s", r.Priority, r.Conditions, r.Actions)
	if r.From != "" {
		text += "   from " + r.From
	}
	t.writeComparedLine(r.comparison, 2, text)
}

// WriteTargetGroup writes a target group. Of its targets, it writes those that are not healthy, not registered or surplus.
func (t TextWriter) WriteTargetGroup(g TargetGroup) {
	text := fmt.Sprintf("target group %s (%s, %s:%d) %s", g.ID, g.Type, g.Protocol, g.Port, g.Name)
	if g.ARN != "" {
		text += ", " + HealthText(g.Targets)
	}
	if g.From != "" {
		text += "   from " + g.From
	}
	t.writeComparedLine(g.comparison, 0, text)
	var shown []Target
	for _, x := range g.Targets {
		if x.State != "healthy" || x.Compared != "" {
			shown = append(shown, x)
		}
	}
	output.ShowFirst(shown, maxTargets, func(x Target) {
		text := fmt.Sprintf("%s:%d %s", x.ID, x.Port, x.State)
		if x.Reason != "" {
			text += ": " + x.Reason + " " + x.Description
		}
		switch x.Compared {
		case stateMissing:
			text += ", an endpoint of its Service"
		case stateSurplus:
			text += ", no endpoint of its Service"
		}
		t.writeLine(x.Compared, 1, finding.EscapeNonPrintable(text))
	}, t.writeMore(1, "that are not healthy"))
}

// HealthText returns the number of targets in each state as text. targets is nil if their health is not known.
func HealthText(targets []Target) string {
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

func (t TextWriter) writeSecurityGroup(g SecurityGroup) {
	text := "security group " + g.Name
	if g.ID != "" {
		text += " (" + g.ID + "), open: " + output.JoinFirst(g.Ingress)
	}
	t.writeComparedLine(g.comparison, 0, text)
}
