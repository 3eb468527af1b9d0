package explain

import (
	"cmp"
	"errors"
	"fmt"
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

// explainCommand has the flags of the command explain.
type explainCommand struct {
	input.Source
	form output.Format
}

// Document is the output of the command explain about an object, as JSON or YAML.
type Document struct {
	Cluster string        `json:"cluster"`
	Object  output.Object `json:"object"`
	// NotServed is the reason why no load balancer of this controller serves the object.
	NotServed string `json:"notServed,omitempty"`
	// Stacks are the load balancers that the object affects.
	Stacks []explainedStack `json:"stacks"`
	// Bindings are the TargetGroupBindings of a Service, or the TargetGroupBinding on the command line.
	Bindings []explainedBinding `json:"bindings"`
	// Warnings are the last events of type Warning and the unmet conditions of the object.
	Warnings []warningDocument `json:"warnings"`
}

// explainedStack is a stack with the choices of its plan and their reasons.
type explainedStack struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Held reports whether nothing of the stack is changed, because its desired state cannot be determined.
	Held    bool              `json:"held"`
	Members []explainedMember `json:"members"`
	// Findings are the findings about the object.
	Findings []explainedFinding `json:"findings"`
	// Others are the findings about other objects.
	Others []explainedFinding `json:"others"`

	LoadBalancers []explainedLoadBalancer `json:"loadBalancers"`
	// Accelerator replaces LoadBalancers in a stack of kind GlobalAccelerator.
	Accelerator *explainedAccelerator `json:"accelerator,omitempty"`
	// TargetGroups are the target groups of the stack, with their targets as AWS shows them.
	TargetGroups []tree.TargetGroup `json:"targetGroups"`
	// Summary counts the steps that "fulcrum plan" shows.
	Summary plan.Summary `json:"summary"`
}

// explainedMember is a member of a stack.
type explainedMember struct {
	Object output.Object `json:"object"`
	// State is accepted, held, deleted or leaving.
	State string `json:"state"`
}

// explainedFinding is a finding with its usual fix.
type explainedFinding struct {
	output.Finding
	// WayOut is the usual fix for the reason of the finding.
	WayOut string `json:"wayOut,omitempty"`
}

// explainedLoadBalancer is a load balancer with the choices of its plan, such as its subnets and certificates.
type explainedLoadBalancer struct {
	// ID is the id of the load balancer in the stack.
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	ARN     string       `json:"arn,omitempty"`
	Type    string       `json:"type"`
	Scheme  model.Scheme `json:"scheme"`
	DNSName string       `json:"dnsName,omitempty"`
	// Status is the state code that AWS shows: provisioning, active, active_impaired or failed.
	Status string `json:"status,omitempty"`
	// SchemeFrom is the object and field that the scheme comes from.
	SchemeFrom     string                   `json:"schemeFrom"`
	Subnets        explainedSubnets         `json:"subnets"`
	SecurityGroups []explainedSecurityGroup `json:"securityGroups"`
	Listeners      []explainedListener      `json:"listeners"`
}

// explainedSubnets are the subnets that were considered for a load balancer.
type explainedSubnets struct {
	// How is the way in which the subnets were found: named, tagged, discovered, discovered by routes, or kept.
	How string `json:"how"`
	// From is the object and field that names the subnets or their tags.
	From    string            `json:"from,omitempty"`
	Chosen  []explainedSubnet `json:"chosen"`
	Refused []explainedSubnet `json:"refused"`
}

// explainedSubnet is a subnet that was considered.
type explainedSubnet struct {
	ID string `json:"id"`
	// Zone is the Availability Zone.
	Zone string `json:"zone,omitempty"`
	// Why is the reason why the subnet was refused.
	Why string `json:"why,omitempty"`
}

// explainedSecurityGroup is a security group of a load balancer.
type explainedSecurityGroup struct {
	// ID is missing if the security group is not created yet.
	ID string `json:"id,omitempty"`
	// How is the reason why the load balancer has the security group: named, managed, backend or kept.
	How resolved.SecurityGroupSource `json:"how"`
	// From is the object and field that names the security group.
	From string `json:"from,omitempty"`
}

// explainedListener is a listener with the choices of its plan.
type explainedListener struct {
	Port     int32  `json:"port"`
	Protocol string `json:"protocol"`
	// InAWS reports whether the listener exists in AWS.
	InAWS bool `json:"inAWS"`
	// Made reports whether the plan creates or updates the listener. If InAWS is true and Made is false, the listener is
	// held.
	Made         bool                   `json:"made"`
	Members      []output.Object        `json:"members"`
	Certificates []explainedCertificate `json:"certificates,omitempty"`
	Rules        []explainedRule        `json:"rules"`
	// Default is the default action as text.
	Default string `json:"default"`
	// DefaultFrom is the object and field that the default action comes from.
	DefaultFrom string `json:"defaultFrom,omitempty"`
}

// explainedCertificate is a certificate of a listener, or a search that found no certificate.
type explainedCertificate struct {
	// ARN is missing if no certificate was found.
	ARN     string `json:"arn,omitempty"`
	Default bool   `json:"default"`
	// How is the way in which the certificate was found: named, by host, managed or kept.
	How resolved.CertificateSearch `json:"how"`
	// Host is the host for which a certificate was searched.
	Host string `json:"host,omitempty"`
	// From is the object and field that the certificate is for.
	From string `json:"from,omitempty"`
	// Secret is NAMESPACE/NAME of the TLS Secret that the certificate was imported from.
	Secret string `json:"secret,omitempty"`
}

// explainedRule is a listener rule.
type explainedRule struct {
	// Priority is 0 if the rule neither exists in AWS nor is created.
	Priority   int32  `json:"priority"`
	Conditions string `json:"conditions"`
	Actions    string `json:"actions"`
	// From is the object and field that the rule comes from.
	From string `json:"from"`
	// Own reports whether the rule comes from the object on the command line, or forwards to it if it is a Service.
	Own bool `json:"own"`
	// Note is the reason why the rule is held or not created.
	Note string `json:"note,omitempty"`
}

// explainedBinding is a TargetGroupBinding with its endpoints and the steps of its plan.
type explainedBinding struct {
	input.BindingDocument
	// TargetGroup is the ARN or name of the target group.
	TargetGroup string `json:"targetGroup"`
	// Service is the name and port of the Service, such as web:80.
	Service string `json:"service"`
	// TargetType is instance or ip.
	TargetType string `json:"targetType"`
	// Endpoints are the targets that should be registered. It is null if they cannot be determined from the objects.
	Endpoints []string `json:"endpoints"`
}

func (e *explainCommand) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if err := e.Parse(args, e.NamespaceOfObjects()); err != nil {
		return err
	}
	if len(e.Named) != 1 {
		return errors.New("explain needs exactly one object; write KIND/NAME")
	}
	store, err := e.Objects(ctx, cmd.InOrStdin(), e.form.NotesWriter())
	if err != nil {
		return err
	}
	ref := e.Named[0]
	doc := Document{
		Cluster: e.Config.ClusterName, Object: output.Object(ref), Stacks: []explainedStack{}, Bindings: []explainedBinding{}, Warnings: []warningDocument{},
	}
	targets := tree.ClusterTargetsOf(store, e.Config)
	err = e.EachDraft(ctx, store, func(d engine.Draft) error {
		have, err := e.ObserveWith(ctx, d.Stack.ID, tree.ExtraQuestions(d))
		if err != nil {
			return err
		}
		stack := explainStack(d, ref)
		stack.TargetGroups = tree.NewComparer(d, have.Facts, targets).TargetGroups()
		doc.Stacks = append(doc.Stacks, stack)
		return nil
	})
	if err != nil {
		return err
	}
	incomplete := false // whether a plan of a TargetGroupBinding could not be made
	if kind := e.Named[0].Kind; kind == cluster.KindBinding || kind == cluster.KindService {
		plans, err := e.PlanBindings(ctx, store)
		if err != nil {
			return err
		}
		for _, n := range plans.Notes {
			fmt.Fprintf(e.form.NotesWriter(), "# %s\n", finding.EscapeNonPrintable(n))
		}
		doc.addBindings(store, plans, e)
		incomplete = plans.Incomplete
	}
	if len(doc.Stacks)+len(doc.Bindings) == 0 && !incomplete {
		doc.NotServed = input.UnservedReason(&e.Source, store, e.Named[0])
	}
	if doc.Warnings, err = warningsAbout(ctx, &e.Source, store, e.Named[0]); err != nil {
		return err
	}
	if !e.form.IsText() {
		return e.form.PrintDocument(doc)
	}
	showDocument(e.form.Out(), doc)
	return nil
}

// addBindings adds the TargetGroupBindings of the object on the command line, which is a Service or a TargetGroupBinding.
// plans has the plans of all bindings in the scope of the command.
func (doc *Document) addBindings(store *cluster.Memory, plans input.BindingPlans, e *explainCommand) {
	endpoints := tree.EndpointsByTargetGroup(store, e.Config)
	for _, b := range plans.Bindings {
		o, err := store.Get(cluster.Ref{Kind: cluster.KindBinding, Namespace: b.Key.Namespace, Name: b.Key.Name})
		tgb, ok := o.(*elbv2.TargetGroupBinding)
		if err != nil || !ok || e.Named[0].Kind == cluster.KindService && tgb.Spec.ServiceRef.Name != e.Named[0].Name {
			continue
		}
		binding := explainedBinding{BindingDocument: b.Document(), TargetGroup: cmp.Or(tgb.Spec.TargetGroupARN, tgb.Spec.TargetGroupName)}
		binding.Service = tgb.Spec.ServiceRef.Name + ":" + tgb.Spec.ServiceRef.Port.String()
		if tgb.Spec.TargetType != nil {
			binding.TargetType = string(*tgb.Spec.TargetType)
		}
		if list, known := endpoints[tgb.Spec.TargetGroupARN]; known {
			binding.Endpoints = []string{}
			for _, x := range list {
				binding.Endpoints = append(binding.Endpoints, x.Identity())
			}
			slices.Sort(binding.Endpoints)
			binding.Endpoints = slices.Compact(binding.Endpoints)
		}
		doc.Bindings = append(doc.Bindings, binding)
	}
}

// explainStack returns the choices of the plan of a stack. object is the object on the command line; findings about it are
// listed separately.
func explainStack(d engine.Draft, object finding.Ref) explainedStack {
	out := explainedStack{
		Kind: string(d.Stack.ID.Kind), ID: d.Stack.ID.String(), Held: d.Stack.Held.AllResources, Members: explainMembers(d.Stack),
		Findings: explainFindings(d.Findings.ForObject(object)), Others: []explainedFinding{}, LoadBalancers: []explainedLoadBalancer{},
		Summary: d.Plan.Summary(d.Have), Accelerator: explainAccelerator(d),
	}
	for _, f := range d.Findings.Sorted() {
		if f.Object != object {
			out.Others = append(out.Others, explainFindings(finding.List{f})...)
		}
	}
	isOwn := ownRulePredicate(d.Stack, object)
	for _, lb := range d.Choices().LoadBalancers {
		loadBalancer := explainLoadBalancer(lb, isOwn, d.Have.Facts)
		if desired := d.Stack.LoadBalancer; lb.ID == model.LoadBalancerID && lb.Live != nil && desired != nil && desired.IsSchemeUnset() && desired.Scheme != lb.Live.Scheme {
			loadBalancer.SchemeFrom = "the load balancer in AWS, because no object sets a scheme"
		}
		out.LoadBalancers = append(out.LoadBalancers, loadBalancer)
	}
	return out
}

// ownRulePredicate returns a function that reports whether a rule comes from object, or forwards to it if object is a
// Service.
func ownRulePredicate(s model.Stack, object finding.Ref) func(model.Rule) bool {
	groups := map[string]bool{}
	for _, g := range s.TargetGroups {
		if b := g.Binding; b != nil && object == (finding.Ref{Kind: cluster.KindService, Namespace: b.Namespace, Name: b.Service}) {
			groups[g.ID] = true
		}
	}
	return func(r model.Rule) bool {
		if r.Member == object || r.Origin.Object == object {
			return true
		}
		return slices.ContainsFunc(model.ForwardedTargetGroups(r.Actions), func(g model.WeightedTargetGroup) bool { return groups[g.Group.ID] })
	}
}

// explainMembers returns the members of a stack, and the members that leave the stack.
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

// explainFindings returns findings with the usual fixes for their reasons, sorted by object.
func explainFindings(list finding.List) []explainedFinding {
	out := []explainedFinding{}
	for _, f := range output.Findings(list) {
		explained := explainedFinding{Finding: f}
		if i := slices.IndexFunc(finding.Reasons, func(r finding.Explanation) bool { return r.Reason == f.Reason }); i >= 0 {
			explained.WayOut = finding.Reasons[i].Remedy
		}
		out = append(out, explained)
	}
	return out
}

// explainLoadBalancer returns the choices of a plan for a load balancer. isOwn decides the field Own of each rule.
func explainLoadBalancer(c resolved.LoadBalancerChoices, isOwn func(model.Rule) bool, facts observed.Facts) explainedLoadBalancer {
	desired := c.Desired
	out := explainedLoadBalancer{
		ID: c.ID, Name: desired.Name, Type: desired.Type.String(), Scheme: desired.Scheme, SchemeFrom: finding.EscapeNonPrintable(desired.Origins["scheme"].String()),
		Subnets: explainSubnets(c), SecurityGroups: []explainedSecurityGroup{}, Listeners: []explainedListener{},
	}
	if c.Live != nil {
		out.ARN, out.Name, out.Scheme, out.DNSName, out.Status = c.Live.ARN, c.Live.Name, c.Live.Scheme, c.Live.DNSName, c.Live.State
	}
	named, _ := desired.SecurityGroups.(model.SecurityGroupsGiven)
	for _, g := range c.SecurityGroups {
		securityGroup := explainedSecurityGroup{ID: g.ID, How: g.Source}
		if g.Source == resolved.SecurityGroupNamed {
			securityGroup.From = tree.OriginText(named.Of)
		}
		out.SecurityGroups = append(out.SecurityGroups, securityGroup)
	}
	for _, l := range c.Listeners {
		out.Listeners = append(out.Listeners, explainListener(l, isOwn, facts))
	}
	return out
}

// explainSubnets returns which subnets the plan chose and refused for a load balancer, and why.
func explainSubnets(c resolved.LoadBalancerChoices) explainedSubnets {
	out := explainedSubnets{How: "discovered", Chosen: []explainedSubnet{}, Refused: []explainedSubnet{}}
	switch choice := c.Desired.Subnets.(type) {
	case model.SubnetsNamed:
		out.How, out.From = "named", tree.OriginText(choice.Of)
	case model.SubnetsTagged:
		out.How, out.From = "tagged", tree.OriginText(choice.Of)
	}
	switch {
	case c.Subnets.AreRetained:
		out.How = "kept"
	case out.How == "discovered" && c.Subnets.ByReachability:
		out.How = "discovered by routes"
	}
	for _, id := range c.Subnets.Chosen {
		out.Chosen = append(out.Chosen, explainedSubnet{ID: id, Zone: c.Subnets.Zones[id]})
	}
	for _, r := range c.Subnets.Refusals {
		out.Refused = append(out.Refused, explainedSubnet{r.ID, c.Subnets.Zones[r.ID], r.Why})
	}
	return out
}

// heldRuleNote is the note of a rule that answers 503 because the desired rule is held and does not exist in AWS.
const heldRuleNote = "held: answers 503 in place of the desired rule"

// explainListener returns the choices of a plan for a listener. Its rules begin with those of c.Rules, in the same order.
// isOwn decides the field Own of each rule.
func explainListener(c resolved.Listener, isOwn func(model.Rule) bool, facts observed.Facts) explainedListener {
	l := c.Desired
	out := explainedListener{
		Port: l.Port, Protocol: l.Protocol(), InAWS: c.Live != nil, Made: c.Planned, Members: []output.Object{}, Rules: []explainedRule{},
		Default: finding.EscapeNonPrintable(plan.ActionsText(c.DefaultActions)), DefaultFrom: tree.OriginText(l.DefaultOf),
	}
	for _, m := range l.Members {
		out.Members = append(out.Members, output.Object(m))
	}
	for _, s := range c.Certs.Sources {
		out.Certificates = append(out.Certificates, explainCertificate(s, c.Certs.Default, facts)...)
	}
	listed := map[model.RuleKey]bool{}
	for i, r := range c.Rules {
		note := ""
		switch {
		case r.IsHeld() && r.RetainedRule != nil:
			note = "held: not changed in AWS"
		case r.IsHeld():
			note = heldRuleNote
		}
		listed[r.Desired.Key(l.Port)] = true
		out.Rules = append(out.Rules, explainRule(r.Desired, int32(i+1), isOwn, note))
	}
	for _, r := range c.OmittedRules {
		listed[r.Desired.Key(l.Port)] = true
		out.Rules = append(out.Rules, explainRule(r.Desired, 0, isOwn, "held and not created: another rule has the same conditions, or AWS refuses this rule"))
	}
	for _, r := range l.AllRules {
		if !listed[r.Key(l.Port)] {
			out.Rules = append(out.Rules, explainRule(r, 0, isOwn, "not created: an earlier redirect answers all its requests"))
		}
	}
	return out
}

// explainRule converts a rule for a document. priority is 0 if the rule is not created. isOwn decides the field Own.
func explainRule(r model.Rule, priority int32, isOwn func(model.Rule) bool, note string) explainedRule {
	if len(r.Actions) == 0 && note == heldRuleNote {
		note = "held: its settings cannot be read"
	}
	return explainedRule{
		Priority: priority, Conditions: finding.EscapeNonPrintable(plan.ConditionsText(r.Conditions)), Actions: finding.EscapeNonPrintable(plan.ActionsText(r.Actions)),
		From: tree.OriginText(r.Key(0).Of), Own: isOwn(r), Note: note,
	}
}

// explainCertificate returns the certificates that a search has found. If it has found none, it returns one certificate
// without an ARN. defaultARN is the default certificate of the listener.
func explainCertificate(s resolved.CertificateSource, defaultARN string, facts observed.Facts) []explainedCertificate {
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
		out = append(out, explainedCertificate{ARN: arn, Default: arn != "" && arn == defaultARN, How: s.Search, Host: s.Host, From: from, Secret: tree.ImportedSecret(facts, arn)})
	}
	return out
}
