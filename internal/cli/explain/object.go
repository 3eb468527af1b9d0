package explain

import (
	"cmp"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// explainCommand is the command explain.
type explainCommand struct {
	input.Source
	form output.Form
}

// Document is what explain prints of an object for tools.
type Document struct {
	Cluster string        `json:"cluster"`
	Object  output.Object `json:"object"`
	// NotServed is why no load balancer of this controller serves the object.
	NotServed string `json:"notServed,omitempty"`
	// Stacks are the load balancers that the object has a part in.
	Stacks []explainedStack `json:"stacks"`
	// Bindings are the TargetGroupBindings of a Service, or the one that was asked about.
	Bindings []explainedBinding `json:"bindings"`
	// Warnings are what the controller has written about the object: events and conditions.
	Warnings []warningDocument `json:"warnings"`
}

type explainedStack struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Held reports that nothing of the load balancer is changed.
	Held    bool              `json:"held"`
	Members []explainedMember `json:"members"`
	// Findings about the object, and Others about other members.
	Findings []explainedFinding `json:"findings"`
	Others   []explainedFinding `json:"others"`

	LoadBalancers []explainedLoadBalancer `json:"loadBalancers"`
	// Accelerator is in place of load balancers in a stack of kind GlobalAccelerator.
	Accelerator *explainedAccelerator `json:"accelerator,omitempty"`
	// TargetGroups are the target groups of the load balancer, with their targets as AWS has them.
	TargetGroups []tree.TargetGroup `json:"targetGroups"`
	// Summary counts the steps that "fulcrum plan" shows.
	Summary plan.Summary `json:"summary"`
}

type explainedMember struct {
	Object output.Object `json:"object"`
	// State is accepted, held, deleted or leaving.
	State string `json:"state"`
}

type explainedFinding struct {
	output.Finding
	// WayOut is what usually helps where the reason is given.
	WayOut string `json:"wayOut,omitempty"`
}

type explainedLoadBalancer struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	ARN     string       `json:"arn,omitempty"`
	Type    string       `json:"type"`
	Scheme  model.Scheme `json:"scheme"`
	DNSName string       `json:"dnsName,omitempty"`
	Status  string       `json:"status,omitempty"` // AWS's word: provisioning, active, ...
	// SchemeFrom is the object and field that the scheme comes from.
	SchemeFrom     string                   `json:"schemeFrom"`
	Subnets        explainedSubnets         `json:"subnets"`
	SecurityGroups []explainedSecurityGroup `json:"securityGroups"`
	Listeners      []explainedListener      `json:"listeners"`
}

type explainedSubnets struct {
	// How is named, tagged, discovered or kept.
	How string `json:"how"`
	// From is the object and field that names or tags them.
	From    string            `json:"from,omitempty"`
	Chosen  []explainedSubnet `json:"chosen"`
	Refused []explainedSubnet `json:"refused"`
}

type explainedSubnet struct {
	ID   string `json:"id"`
	Zone string `json:"zone,omitempty"`
	// Why it was refused.
	Why string `json:"why,omitempty"`
}

type explainedSecurityGroup struct {
	// ID is empty of one that is not made yet.
	ID string `json:"id,omitempty"`
	// How is named, managed, backend or kept.
	How resolved.SecurityGroupSource `json:"how"`
	// From is the object and field that names it.
	From string `json:"from,omitempty"`
}

type explainedListener struct {
	Port     int32  `json:"port"`
	Protocol string `json:"protocol"`
	// InAWS reports that AWS has it; Made that the plan makes it or keeps it in step. One that is neither is held.
	InAWS        bool                   `json:"inAWS"`
	Made         bool                   `json:"made"`
	Members      []output.Object        `json:"members"`
	Certificates []explainedCertificate `json:"certificates,omitempty"`
	Rules        []explainedRule        `json:"rules"`
	Default      string                 `json:"default"`
	DefaultFrom  string                 `json:"defaultFrom,omitempty"`
}

type explainedCertificate struct {
	ARN     string `json:"arn,omitempty"`
	Default bool   `json:"default"`
	// How is named, by host, managed or kept; Host is the one that it was found for.
	How  resolved.CertificateSearch `json:"how"`
	Host string                     `json:"host,omitempty"`
	From string                     `json:"from,omitempty"`
	// Secret is the one that it was imported from.
	Secret string `json:"secret,omitempty"`
}

type explainedRule struct {
	// Priority is 0 of a rule that is not in AWS and is not made.
	Priority   int32  `json:"priority"`
	Conditions string `json:"conditions"`
	Actions    string `json:"actions"`
	From       string `json:"from"`
	// Own reports that it comes from the object that was asked about, or forwards to it.
	Own bool `json:"own"`
	// Note is why it is held or not made.
	Note string `json:"note,omitempty"`
}

type explainedBinding struct {
	input.BindingDocument
	TargetGroup string `json:"targetGroup"`
	Service     string `json:"service"`
	TargetType  string `json:"targetType"`
	// Endpoints are what is to be registered; null where that cannot be determined from the objects.
	Endpoints []string `json:"endpoints"`
}

func (e *explainCommand) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if err := e.Parse(args, e.NamespaceOfObjects()); err != nil {
		return err
	}
	if len(e.Named) != 1 {
		return errors.New("explain is about one object; write KIND/NAME")
	}
	store, err := e.Objects(ctx, cmd.InOrStdin(), e.form.Notes())
	if err != nil {
		return err
	}
	ref := finding.Ref(objectOf(e.Named[0]))
	doc := Document{
		Cluster: e.Config.ClusterName, Object: objectOf(e.Named[0]), Stacks: []explainedStack{}, Bindings: []explainedBinding{}, Warnings: []warningDocument{},
	}
	of := tree.ClusterTargetsOf(store, e.Config)
	err = e.Each(ctx, store, func(d engine.Draft) error {
		have, err := e.AskMore(ctx, d.Stack.ID, tree.ExtraQuestions(d))
		if err != nil {
			return err
		}
		one := explainStack(d, ref)
		one.TargetGroups = tree.Compare(d, have.Facts, of).TargetGroups
		doc.Stacks = append(doc.Stacks, one)
		return nil
	})
	if err != nil {
		return err
	}
	if kind := e.Named[0].Kind; kind == cluster.KindBinding || kind == cluster.KindService {
		bound, err := e.PlanBindings(ctx, store)
		if err != nil {
			return err
		}
		doc.addBindings(store, bound, e)
	}
	if len(doc.Stacks)+len(doc.Bindings) == 0 {
		doc.NotServed = input.UnservedReason(store, e.Config, e.Named[0])
	}
	if doc.Warnings, err = warnings(ctx, &e.Source, store, e.Named[0]); err != nil {
		return err
	}
	if !e.form.Text() {
		return e.form.Document(doc)
	}
	showExplained(e.form.Out(), doc)
	return nil
}

func objectOf(r cluster.Ref) output.Object {
	return output.Object{Kind: string(r.Kind), Namespace: r.Namespace, Name: r.Name}
}

func (doc *Document) addBindings(store *cluster.Memory, bound input.BindingPlans, e *explainCommand) {
	endpoints := tree.EndpointsByTargetGroup(store, e.Config)
	for _, b := range bound.Bindings {
		o, err := store.Get(cluster.Ref{Kind: cluster.KindBinding, Namespace: b.Key.Namespace, Name: b.Key.Name})
		tgb, ok := o.(*elbv2.TargetGroupBinding)
		if err != nil || !ok || e.Named[0].Kind == cluster.KindService && tgb.Spec.ServiceRef.Name != e.Named[0].Name {
			continue
		}
		one := explainedBinding{BindingDocument: b.Document(), TargetGroup: cmp.Or(tgb.Spec.TargetGroupARN, tgb.Spec.TargetGroupName)}
		one.Service = tgb.Spec.ServiceRef.Name + ":" + tgb.Spec.ServiceRef.Port.String()
		if tgb.Spec.TargetType != nil {
			one.TargetType = string(*tgb.Spec.TargetType)
		}
		if list, known := endpoints[tgb.Spec.TargetGroupARN]; known {
			one.Endpoints = []string{}
			for _, x := range list {
				one.Endpoints = append(one.Endpoints, x.Identity())
			}
			slices.Sort(one.Endpoints)
			one.Endpoints = slices.Compact(one.Endpoints)
		}
		doc.Bindings = append(doc.Bindings, one)
	}
}

// explainStack returns what was decided about a stack, as the plan has noted it.
func explainStack(d engine.Draft, object finding.Ref) explainedStack {
	out := explainedStack{
		Kind: string(d.Stack.ID.Kind), ID: d.Stack.ID.String(), Held: d.Stack.Held.Everything, Members: explainMembers(d.Stack),
		Findings: explainFindings(d.Findings.On(object)), Others: []explainedFinding{}, LoadBalancers: []explainedLoadBalancer{},
		Summary: d.Plan.Summary(d.Have), Accelerator: explainAccelerator(d),
	}
	for _, f := range d.Findings.Sorted() {
		if f.Object != object {
			out.Others = append(out.Others, explainFindings(finding.List{f})...)
		}
	}
	own := ownRules(d.Stack, object)
	for _, lb := range d.Choices().LoadBalancers {
		one := explainLoadBalancer(lb, own, d.Have.Facts)
		if asked := d.Stack.LoadBalancer; lb.ID == model.LoadBalancerID && lb.Live != nil && asked != nil && asked.SchemeOpen() && asked.Scheme != lb.Live.Scheme {
			one.SchemeFrom = "the load balancer in AWS, as no object names one"
		}
		out.LoadBalancers = append(out.LoadBalancers, one)
	}
	return out
}

// ownRules reports of rules whether they come from an object, or forward to a Service.
func ownRules(s model.Stack, object finding.Ref) func(model.Rule) bool {
	groups := map[string]bool{}
	for _, g := range s.TargetGroups {
		if b := g.Binding; b != nil && object == (finding.Ref{Kind: string(cluster.KindService), Namespace: b.Namespace, Name: b.Service}) {
			groups[g.ID] = true
		}
	}
	return func(r model.Rule) bool {
		if r.Member == object || r.Origin.Object == object {
			return true
		}
		for _, a := range r.Actions {
			f, ok := a.(model.Forward)
			if ok && slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool { return groups[g.Group.ID] }) {
				return true
			}
		}
		return false
	}
}

func explainMembers(s model.Stack) []explainedMember {
	out := []explainedMember{}
	for _, m := range s.Members {
		state := "accepted"
		switch {
		case m.Deleting:
			state = "deleted"
		case m.Blocked || slices.ContainsFunc(s.Held.Members, func(h model.HeldMember) bool { return h.Member == m.Ref }):
			state = "held"
		}
		out = append(out, explainedMember{output.Object(m.Ref), state})
	}
	for _, m := range s.Leaving {
		out = append(out, explainedMember{output.Object(m.Ref), "leaving"})
	}
	return out
}

func explainFindings(found finding.List) []explainedFinding {
	out := []explainedFinding{}
	for i, f := range output.Findings(found) {
		one := explainedFinding{Finding: f}
		if j := slices.IndexFunc(finding.Reasons, func(r finding.Explanation) bool { return r.Reason == found.Sorted()[i].Reason }); j >= 0 {
			one.WayOut = finding.Reasons[j].WayOut
		}
		out = append(out, one)
	}
	return out
}

func explainLoadBalancer(c resolved.LoadBalancerChoices, own func(model.Rule) bool, facts observed.Facts) explainedLoadBalancer {
	w := c.Desired
	out := explainedLoadBalancer{
		ID: c.ID, Name: w.Name, Type: w.Type.String(), Scheme: w.Scheme, SchemeFrom: finding.Printable(w.Origins["scheme"].String()),
		Subnets: explainSubnets(c), SecurityGroups: []explainedSecurityGroup{}, Listeners: []explainedListener{},
	}
	if c.Live != nil {
		out.ARN, out.Name, out.Scheme, out.DNSName, out.Status = c.Live.ARN, c.Live.Name, c.Live.Scheme, c.Live.DNSName, c.Live.State
	}
	given, _ := w.SecurityGroups.(model.GroupsGiven)
	for _, g := range c.SecurityGroups {
		one := explainedSecurityGroup{ID: g.ID, How: g.How}
		if g.How == resolved.GroupNamed {
			one.From = tree.OriginText(given.Of)
		}
		out.SecurityGroups = append(out.SecurityGroups, one)
	}
	for _, l := range c.Listeners {
		out.Listeners = append(out.Listeners, explainListener(l, own, facts))
	}
	return out
}

func explainSubnets(c resolved.LoadBalancerChoices) explainedSubnets {
	out := explainedSubnets{How: "discovered", Chosen: []explainedSubnet{}, Refused: []explainedSubnet{}}
	switch choice := c.Desired.Subnets.(type) {
	case model.SubnetsNamed:
		out.How, out.From = "named", tree.OriginText(choice.Of)
	case model.SubnetsTagged:
		out.How, out.From = "tagged", tree.OriginText(choice.Of)
	}
	switch {
	case c.Subnets.Kept:
		out.How = "kept"
	case out.How == "discovered" && c.Subnets.ByReachability:
		out.How = "discovered by routes"
	}
	for _, id := range c.Subnets.Chosen {
		out.Chosen = append(out.Chosen, explainedSubnet{ID: id, Zone: c.Subnets.Zones[id]})
	}
	for _, r := range c.Subnets.Refused {
		out.Refused = append(out.Refused, explainedSubnet{r.ID, c.Subnets.Zones[r.ID], r.Why})
	}
	return out
}

// heldAnswer describes a rule that answers 503 because it is held and not in AWS.
const heldAnswer = "held: this answers in its place"

func explainListener(c resolved.ListenerChoices, own func(model.Rule) bool, facts observed.Facts) explainedListener {
	l := c.Desired
	out := explainedListener{
		Port: l.Port, Protocol: l.Protocol(), InAWS: c.Live != nil, Made: c.Made, Members: []output.Object{}, Rules: []explainedRule{},
		Default: finding.Printable(plan.ActionsText(c.Default)), DefaultFrom: tree.OriginText(l.DefaultOf),
	}
	for _, m := range l.Members {
		out.Members = append(out.Members, output.Object(m))
	}
	for _, s := range c.Certificates {
		out.Certificates = append(out.Certificates, explainCertificate(s, c.Certificate, facts)...)
	}
	made := map[model.RuleKey]bool{}
	for i, r := range c.Rules {
		note := ""
		switch {
		case r.Held != 0 && r.Kept != "":
			note = "held: it stays as AWS has it"
		case r.Held != 0:
			note = heldAnswer
		}
		made[r.Key(l.Port)] = true
		out.Rules = append(out.Rules, explainRule(r.Rule, int32(i+1), own, note))
	}
	for _, r := range c.LeftOut {
		made[r.Key(l.Port)] = true
		out.Rules = append(out.Rules, explainRule(r, 0, own, "held and not made: another rule has its conditions, or AWS refuses it"))
	}
	for _, r := range l.Covered {
		if !made[r.Key(l.Port)] {
			out.Rules = append(out.Rules, explainRule(r, 0, own, "not made: an earlier redirect answers all its requests"))
		}
	}
	return out
}

func explainRule(r model.Rule, priority int32, own func(model.Rule) bool, note string) explainedRule {
	if len(r.Actions) == 0 && note == heldAnswer {
		note = "held: its settings cannot be read"
	}
	return explainedRule{
		Priority: priority, Conditions: finding.Printable(plan.ConditionsText(r.Conditions)), Actions: finding.Printable(plan.ActionsText(r.Actions)),
		From: tree.OriginText(r.Key(0).Of), Own: own(r), Note: note,
	}
}

func explainCertificate(s resolved.CertificateSource, byDefault string, facts observed.Facts) []explainedCertificate {
	from := ""
	if !s.Member.IsZero() {
		from = tree.OriginText(finding.Origin{Object: s.Member, Field: s.Field})
	}
	arns := s.ARNs
	if len(arns) == 0 {
		arns = []string{""} // none was found
	}
	var out []explainedCertificate
	for _, arn := range arns {
		out = append(out, explainedCertificate{ARN: arn, Default: arn != "" && arn == byDefault, How: s.How, Host: s.Host, From: from, Secret: tree.ImportedSecret(facts, arn)})
	}
	return out
}
