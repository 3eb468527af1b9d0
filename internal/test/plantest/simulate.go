package plantest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Simulate returns a copy of the observed state have, changed as AWS would change it for the steps. known has the IDs of
// existing resources. New resources get an ID made from their address. Simulate ignores waits: it performs a step that
// has to wait immediately, so callers must omit such steps. It panics if AWS would reject a step.
func Simulate(have observed.Stack, known plan.KnownIDs, steps []plan.Step) observed.Stack {
	s := simulation{have: Clone(have), known: maps.Clone(known)}
	for _, st := range steps {
		s.applyStep(st)
	}
	return s.have
}

type simulation struct {
	have  observed.Stack
	known plan.KnownIDs
}

// ResolveActions returns desired actions as AWS would return them: they contain the ARNs of target groups, not resource
// IDs or names.
func ResolveActions(have observed.Stack, known plan.KnownIDs, actions []model.Action) []model.Action {
	s := simulation{have: have, known: known}
	return s.actionsWithARNs(actions)
}

// Clone returns a copy of h. Simulate can change the copy without changing h.
func Clone(h observed.Stack) observed.Stack {
	h.LoadBalancers = slices.Clone(h.LoadBalancers)
	for i := range h.LoadBalancers {
		lb := &h.LoadBalancers[i]
		lb.Tags, lb.Attributes = maps.Clone(lb.Tags), maps.Clone(lb.Attributes)
		lb.Listeners = slices.Clone(lb.Listeners)
		for j := range lb.Listeners {
			l := &lb.Listeners[j]
			l.Rules, l.Certificates = slices.Clone(l.Rules), slices.Clone(l.Certificates)
			l.Tags, l.Attributes = maps.Clone(l.Tags), maps.Clone(l.Attributes)
			for k := range l.Rules {
				l.Rules[k].Tags = maps.Clone(l.Rules[k].Tags)
			}
		}
	}
	h.TargetGroups = slices.Clone(h.TargetGroups)
	for i := range h.TargetGroups {
		h.TargetGroups[i].Tags = maps.Clone(h.TargetGroups[i].Tags)
		h.TargetGroups[i].Attributes = maps.Clone(h.TargetGroups[i].Attributes)
	}
	h.SecurityGroups = slices.Clone(h.SecurityGroups)
	for i := range h.SecurityGroups {
		h.SecurityGroups[i].Tags = maps.Clone(h.SecurityGroups[i].Tags)
		h.SecurityGroups[i].Ingress = slices.Clone(h.SecurityGroups[i].Ingress)
	}
	h.Accelerators = cloneAccelerators(h.Accelerators)
	h.Bindings = slices.Clone(h.Bindings)
	h.Facts.ALBTargets = maps.Clone(h.Facts.ALBTargets)
	h.Facts.Health, h.Facts.AddOns = maps.Clone(h.Facts.Health), maps.Clone(h.Facts.AddOns)
	return h
}

func (s *simulation) id(a plan.Address) string { return cmp.Or(s.known[a], a.String()) }

// newID returns a unique ID for a new resource, and stores it in known.
func (s *simulation) newID(a plan.Address) string {
	id := a.String()
	for s.isUsedID(id) {
		id += "'"
	}
	s.known[a] = id
	return id
}

func (s *simulation) isUsedID(id string) bool {
	for _, lb := range s.have.LoadBalancers {
		if lb.ARN == id {
			return true
		}
		for _, l := range lb.Listeners {
			if l.ARN == id || slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return r.ARN == id }) {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.have.TargetGroups, func(g observed.TargetGroup) bool { return g.ARN == id }) ||
		slices.ContainsFunc(s.have.SecurityGroups, func(g observed.SecurityGroup) bool { return g.ID == id })
}

func (s *simulation) loadBalancer(a plan.Address) *observed.LoadBalancer {
	for i := range s.have.LoadBalancers {
		if s.have.LoadBalancers[i].ARN == s.id(a) {
			return &s.have.LoadBalancers[i]
		}
	}
	panic("simulate: no load balancer " + a.String())
}

func (s *simulation) listener(a plan.Address) *observed.Listener {
	for i := range s.have.LoadBalancers {
		for j := range s.have.LoadBalancers[i].Listeners {
			if l := &s.have.LoadBalancers[i].Listeners[j]; l.ARN == s.id(a) {
				return l
			}
		}
	}
	panic("simulate: no listener " + a.String())
}

func (s *simulation) rule(a plan.Address) *observed.Rule {
	for i := range s.have.LoadBalancers {
		for j := range s.have.LoadBalancers[i].Listeners {
			l := &s.have.LoadBalancers[i].Listeners[j]
			for k := range l.Rules {
				if l.Rules[k].ARN == s.id(a) {
					return &l.Rules[k]
				}
			}
		}
	}
	panic("simulate: no rule " + a.String())
}

func (s *simulation) targetGroup(a plan.Address) *observed.TargetGroup {
	for i := range s.have.TargetGroups {
		if s.have.TargetGroups[i].ARN == s.id(a) {
			return &s.have.TargetGroups[i]
		}
	}
	panic("simulate: no target group " + a.String())
}

func (s *simulation) securityGroup(a plan.Address) *observed.SecurityGroup {
	for i := range s.have.SecurityGroups {
		if s.have.SecurityGroups[i].ID == s.id(a) {
			return &s.have.SecurityGroups[i]
		}
	}
	panic("simulate: no security group " + a.String())
}

func (s *simulation) actionsWithARNs(as []model.Action) []model.Action {
	return model.WithReplacedTargetGroups(as, func(g model.TargetGroupRef) model.TargetGroupRef {
		switch {
		case g.ID != "":
			return model.TargetGroupRef{ARN: s.id(plan.TargetGroupAddress(g.ID))}
		case g.Name != "":
			return model.TargetGroupRef{ARN: s.have.Facts.TargetGroups[g.Name]}
		}
		return g
	})
}

func (s *simulation) securityGroupIDs(gs []plan.SecurityGroupRef) []string {
	var out []string
	for _, g := range gs {
		out = append(out, cmp.Or(g.ID, s.id(g.Address)))
	}
	slices.Sort(out)
	return out
}

func (s *simulation) applyStep(st plan.Step) {
	if (acceleratorSteps{s}).applyAcceleratorStep(st) {
		return
	}
	switch do := st.Do.(type) {
	case plan.CreateSecurityGroup:
		g := observed.SecurityGroup{ID: s.newID(st.Address), ResourceID: st.Address.ID, Name: do.Name, Tags: maps.Clone(do.Tags)}
		if st.Address.Kind == plan.BackendSecurityGroup {
			s.have.Facts.BackendSecurityGroup = &g
			return
		}
		s.have.SecurityGroups = append(s.have.SecurityGroups, g)
	case plan.ChangeIngress:
		g := s.securityGroup(do.Group)
		g.Ingress = append(g.Ingress, do.Authorize...)
		g.Ingress = slices.DeleteFunc(g.Ingress, func(r model.IngressRule) bool { return slices.Contains(do.Revoke, r) })
	case plan.DeleteSecurityGroup:
		if st.Address.Kind == plan.BackendSecurityGroup {
			s.have.Facts.BackendSecurityGroup = nil
			return
		}
		s.have.SecurityGroups = slices.DeleteFunc(s.have.SecurityGroups, func(g observed.SecurityGroup) bool { return g.ID == do.GroupID })
	case plan.CreateLoadBalancer:
		if slices.ContainsFunc(s.have.LoadBalancers, func(o observed.LoadBalancer) bool { return o.Name != "" && o.Name == do.Name }) {
			panic("simulate: a load balancer with the name " + do.Name + " already exists")
		}
		lb := observed.LoadBalancer{
			ARN: s.newID(st.Address), ResourceID: st.Address.ID, Name: do.Name, Type: do.Type.String(), Scheme: do.Scheme,
			AddressType: do.AddressType, Subnets: subnetsOf(do.Subnets), SecurityGroups: s.securityGroupIDs(do.SecurityGroups),
			Addresses: allocationIDsOf(do.Subnets), CoIPPool: do.CoIPPool, IPAMPool: do.IPAMPool, Tags: maps.Clone(do.Tags), Attributes: map[string]string{},
			State: "active", DNSName: do.Name + ".example",
		}
		if do.Type == model.Network {
			setMappings(&lb, do.Subnets, do.SourceNAT)
			if len(lb.SecurityGroups) > 0 {
				lb.PrivateLinkRules = "on"
			}
		}
		s.have.LoadBalancers = append(s.have.LoadBalancers, lb)
	case plan.SetSecurityGroups:
		lb := s.loadBalancer(do.LoadBalancer)
		if lb.Type == model.Network.String() && len(lb.SecurityGroups) == 0 {
			panic("simulate: " + lb.Name + " was created without security groups")
		}
		lb.SecurityGroups = s.securityGroupIDs(do.Groups)
		lb.PrivateLinkRules = cmp.Or(do.PrivateLinkRules, lb.PrivateLinkRules)
	case plan.SetSubnets:
		lb := s.loadBalancer(do.LoadBalancer)
		lb.Subnets, lb.Addresses = subnetsOf(do.Subnets), allocationIDsOf(do.Subnets)
		lb.AddressType = cmp.Or(do.AddressType, lb.AddressType)
		if lb.Type == model.Network.String() {
			setMappings(lb, do.Subnets, do.SourceNAT)
		}
	case plan.SetAddressType:
		s.loadBalancer(do.LoadBalancer).AddressType = do.Type
	case plan.SetIPAMPool:
		s.loadBalancer(do.LoadBalancer).IPAMPool = do.Pool
	case plan.SetCapacity:
		s.loadBalancer(do.LoadBalancer).Capacity = &do.Units
	case plan.DeleteLoadBalancer:
		s.checkNotTarget(do.ARN, 0)
		s.have.LoadBalancers = slices.DeleteFunc(s.have.LoadBalancers, func(l observed.LoadBalancer) bool { return l.ARN == do.ARN })
	case plan.SetAttributes:
		s.applyAttributes(do)
	case plan.SetTags:
		s.applyTags(do)
	case plan.CreateTargetGroup:
		w := do.Group
		if slices.ContainsFunc(s.have.TargetGroups, func(o observed.TargetGroup) bool { return o.Name != "" && o.Name == w.Name }) {
			panic("simulate: a target group with the name " + w.Name + " already exists")
		}
		s.have.TargetGroups = append(s.have.TargetGroups, observed.TargetGroup{
			ARN: s.newID(st.Address), ResourceID: w.ID, Name: w.Name, Type: w.Type, Port: w.Port, Protocol: w.Protocol,
			ProtocolVersion: w.ProtocolVersion, AddressType: w.AddressType, ControlPort: w.ControlPort,
			HealthCheck: w.HealthCheck, Tags: maps.Clone(do.Tags), Attributes: map[string]string{},
		})
	case plan.SetHealthCheck:
		s.targetGroup(do.Group).HealthCheck = do.Check
	case plan.DeleteTargetGroup:
		delete(s.have.Facts.ALBTargets, do.ARN)
		s.have.Facts.TargetGroups = maps.Clone(s.have.Facts.TargetGroups)
		for name, arn := range s.have.Facts.TargetGroups {
			if arn == do.ARN {
				s.have.Facts.TargetGroups[name] = "" // later queries by name or ARN do not find the target group
			}
		}
		s.have.TargetGroups = slices.DeleteFunc(s.have.TargetGroups, func(g observed.TargetGroup) bool { return g.ARN == do.ARN })
	case plan.PutBinding:
		s.applyBinding(do)
	case plan.DeleteBinding:
		s.have.Bindings = slices.DeleteFunc(s.have.Bindings, func(h observed.Binding) bool { return h.Namespace == do.Namespace && h.Name == do.Name })
	default:
		s.applyListenerStep(st)
		s.checkOneLoadBalancer(st)
	}
}

// checkOneLoadBalancer panics if several load balancers forward to the same target group, which AWS rejects.
func (s *simulation) checkOneLoadBalancer(st plan.Step) {
	if len(s.have.LoadBalancers) < 2 {
		return
	}
	of := map[string]string{}
	for _, lb := range s.have.LoadBalancers {
		for _, l := range lb.Listeners {
			for _, r := range append(slices.Clone(l.Rules), observed.Rule{Actions: l.Default}) {
				for _, arn := range forwardTargetGroups(r.Actions) {
					if of[arn] != "" && of[arn] != lb.ARN {
						panic(fmt.Sprintf("simulate: after %s, %s serves %s and %s", st.ID, arn, of[arn], lb.ARN))
					}
					of[arn] = lb.ARN
				}
			}
		}
	}
}

// forwardTargetGroups returns the ARNs of the target groups to which actions forward.
func forwardTargetGroups(actions []model.Action) (out []string) {
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				out = append(out, g.Group.ARN)
			}
		}
	}
	return out
}

func (s *simulation) applyListenerStep(st plan.Step) {
	switch do := st.Do.(type) {
	case plan.SetWebACL, plan.SetClassicACL, plan.CreateProtection, plan.DeleteProtection:
		s.applyAddOn(st)
	case plan.RegisterALB, plan.DeregisterALB:
		s.applyALBTarget(st)
	case plan.RequestCertificate, plan.ImportCertificate, plan.DeleteCertificate, plan.CreateRecord, plan.DeleteRecord:
		s.applyCertificate(st)
	case plan.CreateListener:
		lb := s.loadBalancer(do.LoadBalancer)
		l := observed.Listener{ARN: s.newID(st.Address), Port: do.Settings.Port, Tags: maps.Clone(do.Tags), Attributes: map[string]string{}}
		lb.Listeners = append(lb.Listeners, l)
		s.applyListenerSettings(&lb.Listeners[len(lb.Listeners)-1], do.Settings)
		slices.SortFunc(lb.Listeners, func(a, b observed.Listener) int { return cmp.Compare(a.Port, b.Port) })
	case plan.ModifyListener:
		s.applyListenerSettings(s.listener(do.Listener), do.Settings)
	case plan.AddCertificate:
		l := s.listener(do.Listener)
		if l.Certificate == "" {
			panic(fmt.Sprintf("simulate: port %d is not secure", l.Port))
		}
		l.Certificates = sortedDistinct(append(l.Certificates, do.ARN))
	case plan.RemoveCertificate:
		l := s.listener(do.Listener)
		l.Certificates = slices.DeleteFunc(l.Certificates, func(a string) bool { return a == do.ARN })
	case plan.DeleteListener:
		for i := range s.have.LoadBalancers {
			lb := &s.have.LoadBalancers[i]
			for _, l := range lb.Listeners {
				if l.ARN == do.ARN {
					s.checkNotTarget(lb.ARN, l.Port)
				}
			}
			lb.Listeners = slices.DeleteFunc(lb.Listeners, func(l observed.Listener) bool { return l.ARN == do.ARN })
		}
	case plan.CreateRule:
		l := s.listener(do.Listener)
		if slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return r.Priority == do.Priority }) {
			panic(fmt.Sprintf("simulate: priority %d of port %d is in use", do.Priority, l.Port))
		}
		l.Rules = append(l.Rules, observed.Rule{
			ARN: s.newID(st.Address), Priority: do.Priority, Conditions: do.Rule.Conditions,
			Transforms: do.Rule.Transforms, Actions: s.actionsWithARNs(do.Rule.Actions), Tags: maps.Clone(do.Tags),
		})
		sortRules(l)
	case plan.ModifyRule:
		r := s.rule(do.Rule)
		r.Conditions, r.Transforms, r.Actions = do.Conditions, do.Transforms, s.actionsWithARNs(do.Actions)
	case plan.SetPriorities:
		for a, p := range do.Priorities {
			s.rule(a).Priority = p
		}
		for i := range s.have.LoadBalancers {
			for j := range s.have.LoadBalancers[i].Listeners {
				sortRules(&s.have.LoadBalancers[i].Listeners[j])
			}
		}
	case plan.DeleteRule:
		for i := range s.have.LoadBalancers {
			for j := range s.have.LoadBalancers[i].Listeners {
				l := &s.have.LoadBalancers[i].Listeners[j]
				l.Rules = slices.DeleteFunc(l.Rules, func(r observed.Rule) bool { return r.ARN == do.ARN })
			}
		}
	}
}

// maxRulePriority is the highest rule priority that AWS accepts.
const maxRulePriority = 50000

func sortRules(l *observed.Listener) {
	slices.SortFunc(l.Rules, func(a, b observed.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	if n := len(l.Rules); n > 0 && (l.Rules[0].Priority < 1 || l.Rules[n-1].Priority > maxRulePriority) {
		panic(fmt.Sprintf("simulate: a rule of port %d has priority %d or %d", l.Port, l.Rules[0].Priority, l.Rules[n-1].Priority))
	}
	for i := 1; i < len(l.Rules); i++ {
		if l.Rules[i-1].Priority == l.Rules[i].Priority {
			panic(fmt.Sprintf("simulate: two rules of port %d have priority %d", l.Port, l.Rules[i].Priority))
		}
	}
}

func (s *simulation) applyListenerSettings(l *observed.Listener, set plan.ListenerSettings) {
	if l.Protocol != "" && l.Protocol != set.Protocol {
		l.Attributes = map[string]string{} // attributes depend on the protocol
	}
	l.Protocol, l.Policy, l.Certificate, l.ALPN = set.Protocol, set.Policy, set.Certificate, cmp.Or(set.ALPN, l.ALPN)
	l.MutualAuth, l.Default = set.MutualAuth, s.actionsWithARNs(set.Default)
	if set.Certificate == "" {
		l.Certificates, l.ALPN = nil, "" // only TLS listeners have them
	}
}

func (s *simulation) applyAttributes(do plan.SetAttributes) {
	var to map[string]string
	switch do.Resource.Kind {
	case plan.LoadBalancer:
		to = s.loadBalancer(do.Resource).Attributes
	case plan.Listener:
		to = s.listener(do.Resource).Attributes
	default:
		to = s.targetGroup(do.Resource).Attributes
	}
	maps.Copy(to, do.Values)
}

func (s *simulation) applyTags(do plan.SetTags) {
	var to map[string]string
	switch do.Resource.Kind {
	case plan.LoadBalancer:
		to = s.loadBalancer(do.Resource).Tags
	case plan.Listener:
		to = s.listener(do.Resource).Tags
	case plan.Rule:
		to = s.rule(do.Resource).Tags
	case plan.Accelerator:
		to = acceleratorSteps{s}.acceleratorAt(do.Resource).Tags
	case plan.TargetGroup:
		g := s.targetGroup(do.Resource)
		to = g.Tags
		for _, k := range model.Kinds {
			g.ResourceID = cmp.Or(do.Put[naming.ResourceTag(k)], g.ResourceID)
		}
	case plan.BackendSecurityGroup:
		g := *s.have.Facts.BackendSecurityGroup
		g.Tags = maps.Clone(g.Tags)
		s.have.Facts.BackendSecurityGroup, to = &g, g.Tags
	default:
		to = s.securityGroup(do.Resource).Tags
	}
	maps.Copy(to, do.Put)
	for _, k := range do.Remove {
		delete(to, k)
	}
}

func (s *simulation) applyBinding(do plan.PutBinding) {
	h := observed.Binding{
		Namespace: do.Binding.Namespace, Name: do.Binding.Name, ARN: s.id(do.Group), Type: do.Type, Protocol: do.Protocol,
		AddressType: do.Address, VPC: do.VPC, Service: do.Binding, HasNetworking: do.Binding.Managed, Labels: do.Labels, Annotations: do.Binding.Annotations,
	}
	for _, r := range do.Binding.Networking {
		rule := observed.BindingRule{Ports: r.Ports}
		for _, p := range r.From {
			switch {
			case p.BackendSecurityGroup:
				rule.SecurityGroups = append(rule.SecurityGroups, s.id(do.BackendSecurityGroup))
			case p.ManagedSecurityGroup:
				rule.SecurityGroups = append(rule.SecurityGroups, s.id(do.ManagedSecurityGroup))
			default:
				rule.CIDRs = append(rule.CIDRs, p.CIDR)
			}
		}
		h.Networking = append(h.Networking, rule)
	}
	if do.Existing != nil {
		if i := slices.IndexFunc(s.have.Bindings, func(o observed.Binding) bool { return o.ARN == h.ARN }); i >= 0 && do.RetainNetworking {
			h.HasNetworking, h.Networking = s.have.Bindings[i].HasNetworking, s.have.Bindings[i].Networking
		}
		s.have.Bindings = slices.DeleteFunc(s.have.Bindings, func(o observed.Binding) bool {
			return o.Namespace == do.Existing.Namespace && o.Name == do.Existing.Name
		})
	}
	s.have.Bindings = append(s.have.Bindings, h)
}

func subnetsOf(ms []model.SubnetMapping) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Subnet)
	}
	return sortedDistinct(out)
}

func allocationIDsOf(ms []model.SubnetMapping) []string {
	var out []string
	for _, m := range ms {
		if m.Allocation != "" {
			out = append(out, m.Allocation)
		}
	}
	return sortedDistinct(out)
}

// sortedDistinct returns the strings sorted, without duplicates.
func sortedDistinct(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}
