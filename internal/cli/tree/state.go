package tree

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Comparer compares the resources of one stack in AWS with its desired state. The differences are taken from the steps of
// the plan.
type Comparer struct {
	engine.Draft
	desired        model.Stack                  // the desired state from which the plan was made
	Facts          observed.Facts               // with the answers to ExtraQuestions
	addresses      map[string][]plan.Address    // addresses of a resource in the plan, by ARN
	steps          map[plan.Address][]plan.Step // by address of the resource
	targetGroupIDs map[string]string            // IDs of the target groups of the stack, by ARN
	ClusterTargets
}

// Compare compares the desired state of a stack with the observed state, and returns the result for output. facts must also
// have the answers to ExtraQuestions.
func Compare(d engine.Draft, facts observed.Facts, targets ClusterTargets) Stack {
	c := NewComparer(d, facts, targets)
	return Stack{
		stack: d.Stack.ID, Kind: string(d.Stack.ID.Kind), ID: d.Stack.ID.String(), Held: d.Stack.Held.AllResources, Findings: output.Findings(d.Findings), findingList: d.Findings, names: plan.ResourceNamesOf(d.Have),
		Members: output.MembersOf(d.Stack.Members), Accelerators: AcceleratorComparer{c}.accelerators(),
		LoadBalancers: c.loadBalancers(), TargetGroups: c.TargetGroups(), SecurityGroups: c.securityGroups(),
	}
}

// NewComparer returns a Comparer for the stack of a draft. facts must also have the answers to ExtraQuestions.
func NewComparer(d engine.Draft, facts observed.Facts, targets ClusterTargets) *Comparer {
	c := &Comparer{Draft: d, desired: d.Choices().Desired, Facts: facts, ClusterTargets: targets, addresses: map[string][]plan.Address{}, steps: map[plan.Address][]plan.Step{}, targetGroupIDs: map[string]string{}}
	for a, arn := range d.Plan.KnownIDs {
		c.addresses[arn] = append(c.addresses[arn], a)
	}
	for _, s := range d.Plan.Steps {
		c.steps[s.Address] = append(c.steps[s.Address], s)
	}
	for _, g := range d.Have.TargetGroups {
		c.targetGroupIDs[g.ARN] = g.ResourceID
	}
	return c
}

// stepsOf returns the steps that change the resource with an ARN, in the order of the plan.
func (c *Comparer) stepsOf(arn string) []plan.Step {
	var out []plan.Step
	for _, s := range c.Plan.Steps {
		if slices.Contains(c.addresses[arn], s.Address) || s.Address.ID == arn && plan.IsAcceleratorKind(s.Address.Kind) {
			out = append(out, s)
		}
	}
	return out
}

// comparisonOf returns the comparison of the resource with an ARN, which exists in AWS.
func (c *Comparer) comparisonOf(arn string) comparison {
	out := comparison{State: stateLive, ARN: arn}
	for _, s := range c.stepsOf(arn) {
		switch {
		case s.Verb == plan.Delete:
			out.State, out.Note, out.Replaced, out.Changes = stateSurplus, waitText(s), s.ReplacedLoadBalancer, nil
			return out
		case s.Verb == plan.Update && !isShownWithParts(s) && !plan.WritesToKubernetes(s.Do):
			out.State, out.Note = stateDiffers, cmp.Or(out.Note, waitText(s))
			for _, f := range s.Fields() {
				out.Changes = append(out.Changes, output.Field{Field: f.Path, From: f.From, To: f.To})
			}
		}
	}
	return out
}

// waitText returns a text about the condition for which a step waits, or "" if the step does not wait.
func waitText(s plan.Step) string {
	if !s.Waits() {
		return ""
	}
	return "waits for " + s.Wait.For
}

// isShownWithParts reports whether the change of a step is shown at the nested resources and not at the listener or
// endpoint group. The nested resources are certificates, rules and endpoints.
func isShownWithParts(s plan.Step) bool {
	switch s.Do.(type) {
	case plan.AddCertificate, plan.RemoveCertificate, plan.SetPriorities, plan.AddEndpoints, plan.SetEndpoints, plan.RemoveEndpoints:
		return true
	}
	return false
}

// comparisonOfCreated returns the comparison of a resource that a step creates.
func comparisonOfCreated(s plan.Step) comparison {
	return comparison{State: stateMissing, Note: waitText(s), Replaced: s.ReplacedLoadBalancer}
}

// loadBalancers returns the load balancers of the stack in AWS, the load balancers that the plan creates, and the desired
// ones that the plan does not create.
func (c *Comparer) loadBalancers() []LoadBalancer {
	out := []LoadBalancer{}
	listed := map[string]bool{} // IDs of load balancers that are not deleted, or are created
	for _, lb := range c.Have.LoadBalancers {
		loadBalancer := LoadBalancer{
			comparison: c.comparisonOf(lb.ARN), Name: lb.Name, Type: lb.Type, Scheme: lb.Scheme, Status: lb.State, DNSName: lb.DNSName,
			Listeners: c.listeners(lb.ResourceID, c.addresses[lb.ARN], &lb), forwardedTargetGroups: forwardedTargetGroups(lb),
		}
		if loadBalancer.State != stateSurplus {
			listed[lb.ResourceID] = true
		}
		for i := range loadBalancer.Listeners {
			if l := &loadBalancer.Listeners[i]; loadBalancer.State == stateSurplus || l.State == stateSurplus {
				l.markSurplus()
			}
		}
		out = append(out, loadBalancer)
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateLoadBalancer); ok {
			listed[s.Address.ID] = true
			out = append(out, LoadBalancer{
				comparison: comparisonOfCreated(s), Name: do.Name, Type: do.Type.String(), Scheme: do.Scheme,
				Listeners: c.listeners(s.Address.ID, []plan.Address{s.Address}, nil),
			})
		}
	}
	desired := c.desiredLoadBalancers()
	for _, id := range []string{model.LoadBalancerID, model.FrontendNLBID} {
		if lb := desired[id]; lb != nil && !listed[id] {
			out = append(out, LoadBalancer{comparison: c.comparisonOfUnplanned(), Name: lb.Name, Type: lb.Type.String(), Scheme: lb.Scheme, Listeners: c.listeners(id, nil, nil)})
		}
	}
	return out
}

// forwardedTargetGroups returns the ARNs of the target groups to which the listeners and rules of a load balancer forward in
// AWS. A stack may have other target groups, because two load balancers have different target groups while one replaces the
// other.
func forwardedTargetGroups(lb observed.LoadBalancer) map[string]bool {
	out := map[string]bool{}
	add := func(actions []model.Action) {
		for _, g := range model.ForwardedTargetGroups(actions) {
			out[g.Group.ARN] = true
		}
	}
	for _, l := range lb.Listeners {
		add(l.Default)
		for _, r := range l.Rules {
			add(r.Actions)
		}
	}
	return out
}

// desiredLoadBalancers returns the desired load balancers by id.
func (c *Comparer) desiredLoadBalancers() map[string]*model.LoadBalancer {
	return map[string]*model.LoadBalancer{model.LoadBalancerID: c.desired.LoadBalancer, model.FrontendNLBID: c.desired.FrontendNLB}
}

// comparisonOfUnplanned returns the comparison of a desired resource that does not exist and that the plan does not create.
func (c *Comparer) comparisonOfUnplanned() comparison {
	if slices.ContainsFunc(c.Findings, func(f finding.Finding) bool { return f.Severity == finding.Error }) {
		return comparison{State: stateMissing, Note: "held, see the findings"}
	}
	return comparison{State: stateMissing, Note: "created later, because a resource that it needs does not exist yet"}
}

// markSurplus sets the state of a listener, its certificates and its rules to surplus, because they are deleted together.
func (l *Listener) markSurplus() {
	l.State, l.Changes = stateSurplus, nil
	for i := range l.Certificates {
		l.Certificates[i].State = stateSurplus
	}
	for i := range l.Rules {
		l.Rules[i].State, l.Rules[i].Changes = stateSurplus, nil
	}
}

// listeners returns the listeners of a load balancer in AWS, the listeners that the plan creates, and the desired ones that
// the plan does not create. id and addresses are those of the load balancer. lb is nil if it does not exist.
func (c *Comparer) listeners(id string, addresses []plan.Address, lb *observed.LoadBalancer) []Listener {
	out := []Listener{}
	if lb != nil {
		for _, l := range lb.Listeners {
			out = append(out, Listener{
				comparison: c.comparisonOf(l.ARN), Protocol: l.Protocol, Port: l.Port, Default: c.ActionsText(l.Default), TargetGroups: c.TargetGroupsOf(l.Default),
				Certificates: c.certificates(l), Rules: c.rules(l.Port, c.addresses[l.ARN], l.Rules),
			})
		}
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateListener); ok && slices.Contains(addresses, do.LoadBalancer) {
			out = append(out, Listener{
				comparison: comparisonOfCreated(s), Protocol: do.Settings.Protocol, Port: do.Settings.Port, Default: c.ActionsText(do.Settings.Default), TargetGroups: c.TargetGroupsOf(do.Settings.Default),
				Certificates: c.newCertificates(do.Settings.Certificate, s.Address), Rules: c.rules(do.Settings.Port, []plan.Address{s.Address}, nil),
			})
		}
	}
	out = append(out, c.heldListeners(id, out)...)
	slices.SortStableFunc(out, func(a, b Listener) int { return cmp.Compare(a.Port, b.Port) })
	return out
}

// heldListeners returns the desired listeners of a load balancer that neither exist nor are created. They are the desired
// listeners that are not in listed.
func (c *Comparer) heldListeners(id string, listed []Listener) []Listener {
	var out []Listener
	lb := c.desiredLoadBalancers()[id]
	if lb == nil {
		return nil
	}
	for _, l := range lb.Listeners {
		if !slices.ContainsFunc(listed, func(o Listener) bool { return o.Port == l.Port && o.State != stateSurplus }) {
			out = append(out, Listener{comparison: c.comparisonOfUnplanned(), Protocol: l.Protocol(), Port: l.Port, Default: c.ActionsText(l.Default), TargetGroups: c.TargetGroupsOf(l.Default)})
		}
	}
	return out
}

// rules returns the rules of a listener that exist in AWS, and the rules that the plan creates, sorted by priority. have are
// the rules in AWS. addresses are the addresses of the listener.
func (c *Comparer) rules(port int32, addresses []plan.Address, have []observed.Rule) []Rule {
	desired, finalPriority := c.desiredRules(port), c.finalPriorities(addresses)
	have = slices.Clone(have)
	slices.SortStableFunc(have, func(a, b observed.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	var out []Rule
	for _, r := range have {
		rule := Rule{comparison: c.comparisonOf(r.ARN), Priority: r.Priority, Conditions: plan.ConditionsText(r.Conditions), Actions: c.ActionsText(r.Actions), TargetGroups: c.TargetGroupsOf(r.Actions)}
		var want model.Rule
		if same := desired[rule.Conditions]; len(same) > 0 {
			want, desired[rule.Conditions] = same[0], same[1:]
		}
		rule.From, rule.Note = OriginText(want.Origin), cmp.Or(rule.Note, heldText(want))
		if to := finalPriority[r.ARN]; to != 0 && to != r.Priority && rule.State != stateSurplus {
			rule.State = stateDiffers
			rule.Changes = append(rule.Changes, output.Field{Field: "priority", From: fmt.Sprint(r.Priority), To: fmt.Sprint(to)})
		}
		out = append(out, rule)
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateRule); ok && slices.Contains(addresses, do.Listener) {
			out = append(out, Rule{
				comparison: comparison{State: stateMissing, Note: cmp.Or(waitText(s), heldText(do.Rule))}, Priority: cmp.Or(finalPriority[s.Address.ID], do.Priority), Conditions: plan.ConditionsText(do.Rule.Conditions), Actions: c.ActionsText(do.Rule.Actions),
				From: OriginText(do.Rule.Origin), TargetGroups: c.TargetGroupsOf(do.Rule.Actions),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	return out
}

// finalPriorities returns the priorities that rules of a listener have after the plan. The keys are ARNs, or IDs of rules
// that the plan creates. It has only rules whose priority changes.
func (c *Comparer) finalPriorities(addresses []plan.Address) map[string]int32 {
	out := map[string]int32{}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.SetPriorities); ok && slices.Contains(addresses, s.Address) {
			for a, priority := range do.Priorities {
				out[a.ID] = priority
			}
		}
	}
	return out
}

// desiredRules returns the desired rules of a port, keyed by the text of their conditions, because a rule in AWS and a
// desired rule have no common ID. Rules with the same conditions are in their desired order.
func (c *Comparer) desiredRules(port int32) map[string][]model.Rule {
	out := map[string][]model.Rule{}
	if c.desired.LoadBalancer == nil {
		return out
	}
	for _, l := range c.desired.LoadBalancer.Listeners {
		if l.Port != port {
			continue
		}
		for _, r := range l.Rules {
			text := plan.ConditionsText(r.Conditions)
			out[text] = append(out[text], r)
		}
	}
	return out
}

// heldText returns a note for a held rule, or "" for other rules.
func heldText(r model.Rule) string {
	if r.Held == 0 {
		return ""
	}
	return "held, see the findings"
}

// OriginText returns the object and field of an origin as text, or "" if the origin is empty.
func OriginText(o finding.Origin) string {
	if o == (finding.Origin{}) {
		return ""
	}
	return finding.EscapeNonPrintable(o.String())
}

// certificates returns the certificates of a listener in AWS, the default certificate first, and the certificates that the
// plan adds.
func (c *Comparer) certificates(l observed.Listener) []Certificate {
	if l.Certificate == "" {
		return nil
	}
	out := []Certificate{c.certificate(l.Certificate, stateLive, true)}
	removed := map[string]bool{}
	for _, s := range c.stepsOf(l.ARN) {
		if do, ok := s.Do.(plan.RemoveCertificate); ok {
			removed[do.ARN] = true
		}
	}
	for _, arn := range l.Certificates {
		switch {
		case removed[arn] && arn != l.Certificate:
			out = append(out, c.certificate(arn, stateSurplus, false))
		case arn != l.Certificate:
			out = append(out, c.certificate(arn, stateLive, false))
		}
	}
	return append(out, c.addedCertificates(c.addresses[l.ARN], l.Certificate)...)
}

// newCertificates returns the certificates of a listener that the plan creates. defaultARN is its default certificate, or ""
// if it has no TLS.
func (c *Comparer) newCertificates(defaultARN string, listener plan.Address) []Certificate {
	if defaultARN == "" {
		return nil
	}
	return append([]Certificate{c.certificate(defaultARN, stateMissing, true)}, c.addedCertificates([]plan.Address{listener}, defaultARN)...)
}

// addedCertificates returns the certificates that the plan adds to a listener. It omits the default certificate, which is
// also in the list of certificates. listener has the addresses of the listener.
func (c *Comparer) addedCertificates(listener []plan.Address, defaultARN string) []Certificate {
	var out []Certificate
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.AddCertificate); ok && slices.Contains(listener, s.Address) && do.ARN != defaultARN {
			out = append(out, c.certificate(do.ARN, stateMissing, false))
		}
	}
	return out
}

// certificate returns a certificate with its domains and status in ACM, and the Secret that it was imported from.
func (c *Comparer) certificate(arn string, s state, isDefault bool) Certificate {
	out := Certificate{State: s, ARN: arn, Default: isDefault}
	for _, known := range c.Facts.Certificates {
		if known.ARN == arn {
			out.Domains, out.Status = known.Domains, known.Status
		}
	}
	out.Secret = ImportedSecret(c.Facts, arn)
	return out
}

// ImportedSecret returns NAMESPACE/NAME of the Secret that a certificate was imported from, or "" if none is known.
func ImportedSecret(f observed.Facts, arn string) string {
	id := f.CertificateOwners[arn].ResourceID
	for _, own := range f.OwnCertificates {
		if own.ARN == arn {
			id = own.ResourceID
		}
	}
	for _, known := range f.Certificates {
		if known.ARN == arn && known.Owner != nil {
			id = cmp.Or(id, known.Owner.ResourceID)
		}
	}
	secret, _ := naming.SecretOfImport(id)
	return secret
}

// TargetGroups returns the target groups of the stack in AWS, the target groups that the plan creates, and the desired ones
// that the plan does not create.
func (c *Comparer) TargetGroups() []TargetGroup {
	out := []TargetGroup{}
	from := map[string]string{} // origin by ID
	for _, want := range c.desired.TargetGroups {
		from[want.ID] = OriginText(want.Origin)
	}
	listed := map[string]bool{} // IDs of target groups that are not deleted, or are created
	for _, g := range c.Have.TargetGroups {
		targetGroup := TargetGroup{comparison: c.comparisonOf(g.ARN), ID: g.ResourceID, Name: g.Name, Type: g.Type, Protocol: g.Protocol, Port: g.Port}
		if targetGroup.State != stateSurplus {
			listed[g.ResourceID] = true
			targetGroup.From = from[g.ResourceID]
		}
		if h, known := c.Facts.Health[g.ARN]; known {
			endpoints, known := c.endpoints[g.ARN]
			if targetGroup.State == stateSurplus {
				endpoints, known = nil, false
			}
			targetGroup.Targets = compareTargets(h, endpoints, known)
			targetGroup.Note = cmp.Or(targetGroup.Note, c.noEndpointsReasons[g.ARN])
			if known && len(targetGroup.Targets) == 0 {
				targetGroup.Note = cmp.Or(targetGroup.Note, "its Service has no endpoints")
			}
		} else if f := c.Facts.Fault(model.AskHealth{ARN: g.ARN}); f != nil {
			targetGroup.Note = cmp.Or(targetGroup.Note, finding.EscapeNonPrintable(f.Message))
		}
		out = append(out, targetGroup)
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateTargetGroup); ok {
			listed[s.Address.ID] = true
			g := do.Group
			out = append(out, TargetGroup{comparison: comparisonOfCreated(s), ID: s.Address.ID, Name: g.Name, Type: g.Type, Protocol: g.Protocol, Port: g.Port, From: from[s.Address.ID]})
		}
	}
	for _, want := range c.desired.TargetGroups {
		if !listed[want.ID] {
			out = append(out, TargetGroup{comparison: c.comparisonOfUnplanned(), ID: want.ID, Name: want.Name, Type: want.Type, Protocol: want.Protocol, Port: want.Port, From: from[want.ID]})
		}
	}
	slices.SortStableFunc(out, func(a, b TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// securityGroups returns the security groups of the stack in AWS, and the security groups that the plan creates.
func (c *Comparer) securityGroups() []SecurityGroup {
	out := []SecurityGroup{}
	for _, g := range c.Have.SecurityGroups {
		securityGroup := SecurityGroup{comparison: c.comparisonOf(g.ID), ID: g.ID, Name: g.Name, Ingress: []string{}}
		securityGroup.ARN = "" // security groups are shown by their ids
		for _, r := range g.Ingress {
			securityGroup.Ingress = append(securityGroup.Ingress, r.String())
		}
		slices.Sort(securityGroup.Ingress)
		out = append(out, securityGroup)
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateSecurityGroup); ok && s.Address.Kind == plan.SecurityGroup {
			out = append(out, SecurityGroup{comparison: comparisonOfCreated(s), Name: do.Name, Ingress: []string{}})
		}
	}
	return out
}
