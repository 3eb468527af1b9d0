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

// Comparer compares one stack.
type Comparer struct {
	engine.Draft
	desired model.Stack    // as the plan has completed it
	Facts   observed.Facts // with health and certificates
	// addresses by ARN, and steps by address.
	addresses map[string][]plan.Address
	steps     map[plan.Address][]plan.Step
	groups    map[string]string // ids of target groups by ARN
	Behind
}

// Compare makes the document of a stack. facts are those of the draft with the health of target groups
// and certificates.
func Compare(d engine.Draft, facts observed.Facts, of Behind) Stack {
	c := NewComparer(d, facts, of)
	return Stack{
		Kind: string(d.Stack.ID.Kind), ID: d.Stack.ID.String(), Held: d.Stack.Held.Everything, Findings: output.Findings(d.Findings), found: d.Findings, names: plan.NamesOf(d.Have),
		Members: membersOf(d.Stack), Accelerators: AcceleratorComparer{c}.accelerators(),
		LoadBalancers: c.loadBalancers(), TargetGroups: c.TargetGroups(), SecurityGroups: c.securityGroups(),
	}
}

func membersOf(s model.Stack) []output.Object {
	out := []output.Object{}
	for _, m := range s.Members {
		out = append(out, output.Object(m.Ref))
	}
	return out
}

// NewComparer compares the observed state of a draft with its desired state.
func NewComparer(d engine.Draft, facts observed.Facts, of Behind) *Comparer {
	c := &Comparer{Draft: d, desired: d.Choices().Desired, Facts: facts, Behind: of, addresses: map[string][]plan.Address{}, steps: map[plan.Address][]plan.Step{}, groups: map[string]string{}}
	for a, arn := range d.Plan.KnownIDs {
		c.addresses[arn] = append(c.addresses[arn], a)
	}
	for _, s := range d.Plan.Steps {
		c.steps[s.Address] = append(c.steps[s.Address], s)
	}
	for _, g := range d.Have.TargetGroups {
		c.groups[g.ARN] = g.ResourceID
	}
	return c
}

// stepsOf returns the steps about a resource of AWS, in the order of the plan.
func (c *Comparer) stepsOf(arn string) []plan.Step {
	var out []plan.Step
	for _, s := range c.Plan.Steps {
		if slices.Contains(c.addresses[arn], s.Address) || s.Address.ID == arn && plan.IsAcceleratorPart(s.Address.Kind) {
			out = append(out, s)
		}
	}
	return out
}

// compared returns how a resource of AWS compares.
func (c *Comparer) compared(arn string) compared {
	out := compared{State: live, ARN: arn}
	for _, s := range c.stepsOf(arn) {
		switch {
		case s.Verb == plan.Delete:
			out.State, out.Note, out.Replaced, out.Changes = surplus, waiting(s), s.Replaced, nil
			return out
		case s.Verb == plan.Update && !isPartOfListener(s) && !plan.InKubernetes(s.Do):
			out.State, out.Note = differs, cmp.Or(out.Note, waiting(s))
			for _, f := range s.Fields() {
				out.Changes = append(out.Changes, output.Field{Field: f.Path, From: f.From, To: f.To})
			}
		}
	}
	return out
}

func waiting(s plan.Step) string {
	if !s.Waits() {
		return ""
	}
	return "waits for " + s.Wait.For
}

// isPartOfListener reports whether a step about a listener is shown with its certificates and rules, or one about an
// endpoint group with its endpoints.
func isPartOfListener(s plan.Step) bool {
	switch s.Do.(type) {
	case plan.AddCertificate, plan.RemoveCertificate, plan.SetPriorities, plan.AddEndpoints, plan.SetEndpoints, plan.RemoveEndpoints:
		return true
	}
	return false
}

// compareCreated returns how something compares that a step makes.
func compareCreated(s plan.Step) compared {
	return compared{State: missing, Note: waiting(s), Replaced: s.Replaced}
}

func (c *Comparer) loadBalancers() []LoadBalancer {
	out := []LoadBalancer{}
	wanted := map[string]bool{} // ids that are there or are made
	for _, lb := range c.Have.LoadBalancers {
		one := LoadBalancer{
			compared: c.compared(lb.ARN), Name: lb.Name, Type: lb.Type, Scheme: lb.Scheme, Status: lb.State, DNSName: lb.DNSName,
			Listeners: c.listeners(lb.ResourceID, c.addresses[lb.ARN], &lb), groups: forwarded(lb),
		}
		if one.State != surplus {
			wanted[lb.ResourceID] = true
		}
		for i := range one.Listeners {
			if l := &one.Listeners[i]; one.State == surplus || l.State == surplus {
				l.surplus()
			}
		}
		out = append(out, one)
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateLoadBalancer); ok {
			wanted[s.Address.ID] = true
			out = append(out, LoadBalancer{
				compared: compareCreated(s), Name: do.Name, Type: do.Type.String(), Scheme: do.Scheme,
				Listeners: c.listeners(s.Address.ID, []plan.Address{s.Address}, nil),
			})
		}
	}
	desired := c.desiredLoadBalancers()
	for _, id := range []string{model.LoadBalancerID, model.FrontendNLBID} {
		if lb := desired[id]; lb != nil && !wanted[id] {
			out = append(out, LoadBalancer{compared: c.compareNotPlanned(), Name: lb.Name, Type: lb.Type.String(), Scheme: lb.Scheme, Listeners: c.listeners(id, nil, nil)})
		}
	}
	return out
}

// forwarded returns the ARNs of the target groups that the listeners and rules of a load balancer forward to. While one
// load balancer replaces another, each has its own.
func forwarded(lb observed.LoadBalancer) map[string]bool {
	out := map[string]bool{}
	add := func(actions []model.Action) {
		for _, a := range actions {
			if f, ok := a.(model.Forward); ok {
				for _, g := range f.Groups {
					out[g.Group.ARN] = true
				}
			}
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

// compareNotPlanned returns how something compares that is desired, and that the plan does not make.
func (c *Comparer) compareNotPlanned() compared {
	if slices.ContainsFunc(c.Findings, func(f finding.Finding) bool { return f.Severity == finding.Error }) {
		return compared{State: missing, Note: "held, see the findings"}
	}
	return compared{State: missing, Note: "later, what it needs is not there yet"}
}

// surplus marks a listener with its parts, which go with it.
func (l *Listener) surplus() {
	l.State, l.Changes = surplus, nil
	for i := range l.Certificates {
		l.Certificates[i].State = surplus
	}
	for i := range l.Rules {
		l.Rules[i].State, l.Rules[i].Changes = surplus, nil
	}
}

// listeners of a load balancer, by its addresses. lb is nil for one that is not there.
func (c *Comparer) listeners(id string, at []plan.Address, lb *observed.LoadBalancer) []Listener {
	out := []Listener{}
	if lb != nil {
		for _, l := range lb.Listeners {
			out = append(out, Listener{
				compared: c.compared(l.ARN), Protocol: l.Protocol, Port: l.Port, Default: c.Actions(l.Default), TargetGroups: c.ForwardsTo(l.Default),
				Certificates: c.certificates(l), Rules: c.rules(l.Port, c.addresses[l.ARN], l.Rules),
			})
		}
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateListener); ok && slices.Contains(at, do.LoadBalancer) {
			out = append(out, Listener{
				compared: compareCreated(s), Protocol: do.Settings.Protocol, Port: do.Settings.Port, Default: c.Actions(do.Settings.Default), TargetGroups: c.ForwardsTo(do.Settings.Default),
				Certificates: c.newCertificates(do.Settings.Certificate, s.Address), Rules: c.rules(do.Settings.Port, []plan.Address{s.Address}, nil),
			})
		}
	}
	out = append(out, c.heldListeners(id, out)...)
	slices.SortStableFunc(out, func(a, b Listener) int { return cmp.Compare(a.Port, b.Port) })
	return out
}

// heldListeners returns the desired ones that are neither there nor made.
func (c *Comparer) heldListeners(id string, others []Listener) []Listener {
	var out []Listener
	lb := c.desiredLoadBalancers()[id]
	if lb == nil {
		return nil
	}
	for _, l := range lb.Listeners {
		if !slices.ContainsFunc(others, func(o Listener) bool { return o.Port == l.Port && o.State != surplus }) {
			out = append(out, Listener{compared: c.compareNotPlanned(), Protocol: l.Protocol(), Port: l.Port, Default: c.Actions(l.Default), TargetGroups: c.ForwardsTo(l.Default)})
		}
	}
	return out
}

// rules of a listener, by its addresses: those that are there and those that are made.
func (c *Comparer) rules(port int32, at []plan.Address, have []observed.Rule) []Rule {
	desired, moved := c.desiredRules(port), c.finalPriorities(at)
	have = slices.Clone(have)
	slices.SortStableFunc(have, func(a, b observed.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	var out []Rule
	for _, r := range have {
		one := Rule{compared: c.compared(r.ARN), Priority: r.Priority, Conditions: plan.ConditionsText(r.Conditions), Actions: c.Actions(r.Actions), TargetGroups: c.ForwardsTo(r.Actions)}
		var want model.Rule
		if same := desired[one.Conditions]; len(same) > 0 {
			want, desired[one.Conditions] = same[0], same[1:]
		}
		one.From, one.Note = OriginText(want.Origin), cmp.Or(one.Note, heldText(want))
		if to := moved[r.ARN]; to != 0 && to != r.Priority && one.State != surplus {
			one.State = differs
			one.Changes = append(one.Changes, output.Field{Field: "priority", From: fmt.Sprint(r.Priority), To: fmt.Sprint(to)})
		}
		out = append(out, one)
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateRule); ok && slices.Contains(at, do.Listener) {
			out = append(out, Rule{
				compared: compared{State: missing, Note: cmp.Or(waiting(s), heldText(do.Rule))}, Priority: cmp.Or(moved[s.Address.ID], do.Priority), Conditions: plan.ConditionsText(do.Rule.Conditions), Actions: c.Actions(do.Rule.Actions),
				From: OriginText(do.Rule.Origin), TargetGroups: c.ForwardsTo(do.Rule.Actions),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	return out
}

// finalPriorities returns the priorities that rules of a listener end with, by their ids.
func (c *Comparer) finalPriorities(at []plan.Address) map[string]int32 {
	out := map[string]int32{}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.SetPriorities); ok && slices.Contains(at, s.Address) {
			for a, priority := range do.Priorities {
				out[a.ID] = priority
			}
		}
	}
	return out
}

// desiredRules returns the desired rules of a port by their conditions, by which live ones are known again. Those that
// have the same conditions are in their order.
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

func heldText(r model.Rule) string {
	if r.Held == 0 {
		return ""
	}
	return "held, see the findings"
}

// OriginText returns the object and field that something comes from, "" if none is known.
func OriginText(o finding.Origin) string {
	if o == (finding.Origin{}) {
		return ""
	}
	return finding.Printable(o.String())
}

// Actions returns what is done with requests, with the stack's own target groups by id.
func (c *Comparer) Actions(actions []model.Action) string {
	return finding.Printable(plan.ActionsText(c.withGroupIDs(actions)))
}

// SameActions reports whether actions do the same. The order of target groups means nothing, and AWS shows them in its
// own.
func (c *Comparer) SameActions(x, y []model.Action) bool {
	ordered := func(actions []model.Action) string {
		out := c.withGroupIDs(actions)
		for _, a := range out {
			if f, ok := a.(model.Forward); ok {
				slices.SortFunc(f.Groups, func(x, y model.WeightedGroup) int {
					return cmp.Or(cmp.Compare(x.Group.ID, y.Group.ID), cmp.Compare(x.Group.ARN, y.Group.ARN), cmp.Compare(x.Group.Name, y.Group.Name))
				})
			}
		}
		return plan.ActionsText(out)
	}
	return ordered(x) == ordered(y)
}

// withGroupIDs returns actions with target groups of the stack by their ids. They share no list with those that are
// given.
func (c *Comparer) withGroupIDs(actions []model.Action) []model.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		f.Groups = slices.Clone(f.Groups)
		for j := range f.Groups {
			if id := c.groups[f.Groups[j].Group.ARN]; id != "" {
				f.Groups[j].Group = model.GroupRef{ID: id}
			}
		}
		out[i] = f
	}
	return out
}

// ForwardsTo returns the target groups of actions.
func (c *Comparer) ForwardsTo(actions []model.Action) []string {
	var out []string
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				out = append(out, cmp.Or(c.groups[g.Group.ARN], g.Group.ID, g.Group.ARN, g.Group.Name))
			}
		}
	}
	return out
}

// certificates of a live listener: those that it has and those that it gets.
func (c *Comparer) certificates(l observed.Listener) []Certificate {
	if l.Certificate == "" {
		return nil
	}
	out := []Certificate{c.certificate(l.Certificate, live, true)}
	gone := map[string]bool{}
	for _, s := range c.stepsOf(l.ARN) {
		if do, ok := s.Do.(plan.RemoveCertificate); ok {
			gone[do.ARN] = true
		}
	}
	for _, arn := range l.Certificates {
		switch {
		case gone[arn] && arn != l.Certificate:
			out = append(out, c.certificate(arn, surplus, false))
		case arn != l.Certificate:
			out = append(out, c.certificate(arn, live, false))
		}
	}
	return append(out, c.addedCertificates(c.addresses[l.ARN], l.Certificate)...)
}

// newCertificates returns the certificates of a listener that is created.
func (c *Comparer) newCertificates(byDefault string, at plan.Address) []Certificate {
	if byDefault == "" {
		return nil
	}
	return append([]Certificate{c.certificate(byDefault, missing, true)}, c.addedCertificates([]plan.Address{at}, byDefault)...)
}

// addedCertificates leaves the default one out, which listeners have among the others too.
func (c *Comparer) addedCertificates(at []plan.Address, byDefault string) []Certificate {
	var out []Certificate
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.AddCertificate); ok && slices.Contains(at, s.Address) && do.ARN != byDefault {
			out = append(out, c.certificate(do.ARN, missing, false))
		}
	}
	return out
}

func (c *Comparer) certificate(arn string, s state, byDefault bool) Certificate {
	out := Certificate{State: s, ARN: arn, Default: byDefault}
	for _, known := range c.Facts.Certificates {
		if known.ARN == arn {
			out.Domains, out.Status = known.Domains, known.Status
		}
	}
	out.Secret = ImportedFrom(c.Facts, arn)
	return out
}

// ImportedFrom returns the Secret that a controller imported a certificate from, as namespace/name; "" if none is known.
func ImportedFrom(f observed.Facts, arn string) string {
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

// TargetGroups returns the target groups that AWS has, and those that it is to have.
func (c *Comparer) TargetGroups() []TargetGroup {
	out := []TargetGroup{}
	from := map[string]string{}
	for _, w := range c.desired.TargetGroups {
		from[w.ID] = OriginText(w.Origin)
	}
	there := map[string]bool{}
	for _, g := range c.Have.TargetGroups {
		one := TargetGroup{compared: c.compared(g.ARN), ID: g.ResourceID, Name: g.Name, Type: g.Type, Protocol: g.Protocol, Port: g.Port}
		if one.State != surplus {
			there[g.ResourceID] = true
			one.From = from[g.ResourceID]
		}
		if h, known := c.Facts.Health[g.ARN]; known {
			one.Targets = targetsOf(h)
			one.Note = cmp.Or(one.Note, c.without[g.ARN])
			if endpoints, known := c.bound[g.ARN]; known && one.State != surplus {
				one.Targets = compareTargets(h, endpoints)
				if len(one.Targets) == 0 {
					one.Note = cmp.Or(one.Note, "its Service has no endpoints")
				}
			}
		} else if f := c.Facts.Fault(model.AskHealth{ARN: g.ARN}); f != nil {
			one.Note = cmp.Or(one.Note, finding.Printable(f.Message))
		}
		out = append(out, one)
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateTargetGroup); ok {
			there[s.Address.ID] = true
			g := do.Group
			out = append(out, TargetGroup{compared: compareCreated(s), ID: s.Address.ID, Name: g.Name, Type: g.Type, Protocol: g.Protocol, Port: g.Port, From: from[s.Address.ID]})
		}
	}
	for _, w := range c.desired.TargetGroups {
		if !there[w.ID] {
			out = append(out, TargetGroup{compared: c.compareNotPlanned(), ID: w.ID, Name: w.Name, Type: w.Type, Protocol: w.Protocol, Port: w.Port, From: from[w.ID]})
		}
	}
	slices.SortStableFunc(out, func(a, b TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (c *Comparer) securityGroups() []SecurityGroup {
	out := []SecurityGroup{}
	for _, g := range c.Have.SecurityGroups {
		one := SecurityGroup{compared: c.compared(g.ID), ID: g.ID, Name: g.Name, Ingress: []string{}}
		one.ARN = ""
		for _, r := range g.Ingress {
			one.Ingress = append(one.Ingress, r.String())
		}
		slices.Sort(one.Ingress)
		out = append(out, one)
	}
	for _, s := range c.Plan.Steps {
		if do, ok := s.Do.(plan.CreateSecurityGroup); ok && s.Address.Kind == plan.SecurityGroup {
			out = append(out, SecurityGroup{compared: compareCreated(s), Name: do.Name, Ingress: []string{}})
		}
	}
	return out
}
