package assemble

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// frontendPort is a port of the frontend NLB, with the port of the ALB to which it forwards and the members that set this
// mapping.
type frontendPort struct {
	number, target int32
	members        []*members.Member
}

// BuildFrontendNLB returns the frontend NLB of the ALB, or nil if no member enables it. Settings that cannot be read
// keep their values in AWS. A new frontend NLB is created only if a member enables it and all its frontend NLB settings
// are valid.
func (b *Builder) BuildFrontendNLB(alb *model.LoadBalancer) *model.LoadBalancer {
	live := b.LiveFrontendNLB()
	on := members.MergeSetting(&b.Translation, b.Members, b.settingName("enable-frontend-nlb"), func(m *members.Member) settings.Opt[bool] { return m.Set.FrontendNLB }, members.Equal[bool],
		func() members.LiveValue[bool] {
			return members.LiveValueOf(live != nil, b.LiveLoadBalancer() != nil, members.Equal[bool])
		})
	hold := false
	for _, m := range b.Members {
		if f := m.Set.FrontendNLB.Check(); f != nil {
			b.ReportFault(m, *f, finding.BlocksNothing)
			hold = hold || !on.Set // the value may be true, so an existing frontend NLB must not be deleted
		}
	}
	if !on.Value && !hold {
		return nil
	}
	scheme := frontendBuilder{b}.frontendScheme(alb)
	out := &model.LoadBalancer{
		Type: model.Network, Name: naming.FrontendNLBName(alb.Name), Scheme: scheme.ValueOr(b.DefaultScheme), AddressType: alb.AddressType,
		Subnets: model.SubnetsDiscovered{}, SecurityGroups: model.SecurityGroupsShared{}, Tags: alb.Tags, Of: on.Origin, Origins: map[string]finding.Origin{},
	}
	setOrigin(out, "scheme", scheme.Origin)
	setOrigin(out, "addressType", alb.Origins["addressType"])
	hasValidMember := false
	for _, m := range b.Members {
		// Listeners of the existing frontend NLB may belong to a member whose ports are unknown.
		b.Stack.Held.FrontendPorts = b.Stack.Held.FrontendPorts || m.Undetermined || m.Set.FrontendPorts.Fault != nil
		faults := m.Set.Frontend.Faults()
		for _, f := range faults {
			b.ReportFault(m, f, finding.BlocksNothing)
		}
		hasValidMember = hasValidMember || m.Set.FrontendNLB.Value && len(faults) == 0
	}
	b.Stack.Held.Frontend = hold || live == nil && !hasValidMember
	if s := mergeFrontend(b, "frontend-nlb-subnets", func(m *members.Member) settings.Opt[[]string] {
		return settings.UnsetIfEmptyList(m.Set.FrontendSubnets)
	}, members.SameSet, func() members.LiveValue[[]string] { return frontendBuilder{b}.liveFrontendSubnets(live) }); s.Set {
		out.Subnets = model.SubnetsNamed{Refs: s.Value, Of: s.Origin}
		setOrigin(out, "subnets", s.Origin)
	}
	if g := (frontendBuilder{b}).frontendSecurityGroups(live); g.Set && len(g.Value) > 0 {
		out.SecurityGroups = model.SecurityGroupsGiven{Refs: g.Value, Of: g.Origin}
		setOrigin(out, "securityGroups", g.Origin)
	}
	frontendBuilder{b}.setFrontendAddresses(out)
	same := func(a, b map[string]string) bool { return maps.Equal(a, b) }
	attributes := mergeFrontend(b, "frontend-nlb-attributes", func(m *members.Member) settings.Opt[map[string]string] { return m.Set.FrontendAttributes }, same, func() members.LiveValue[map[string]string] {
		attributes := b.LiveAttributes(live)
		return members.LiveValueOf(attributes, attributes != nil, func(live, asked map[string]string) bool {
			return !slices.ContainsFunc(slices.Sorted(maps.Keys(asked)), func(k string) bool { return !equal.SameAttribute(live[k], asked[k]) })
		})
	})
	out.Attributes = attributes.Value
	if attributes.Set {
		out.AttributesOf = []finding.Origin{attributes.Origin}
	}
	if tags := mergeFrontend(b, "frontend-nlb-tags", func(m *members.Member) settings.Opt[map[string]string] { return m.Set.FrontendTags }, same, func() members.LiveValue[map[string]string] {
		if live == nil {
			return members.LiveValue[map[string]string]{}
		}
		return members.LiveValueOf(members.LiveTags(live.Tags), true, func(live, asked map[string]string) bool {
			return !slices.ContainsFunc(slices.Sorted(maps.Keys(asked)), func(k string) bool { return live[k] != asked[k] })
		})
	}); tags.Set {
		m := b.MemberOf(tags.Origin)
		out.Tags = tagBuilder{b}.fitTags(finding.Origin{Object: m.Ref, Field: b.settingField("frontend-nlb-tags")}, " for the frontend NLB", naming.MaxTags-reservedTagCount, b.AllowedTags(m, tags.Value, tags.Origin))
	}
	for _, p := range (frontendBuilder{b}).frontendPorts(out) {
		frontendBuilder{b}.addFrontendListener(out, p)
	}
	return out
}

// frontendBuilder builds the frontend NLB.
type frontendBuilder struct{ *Builder }

// frontendSecurityGroups returns the security groups that members set for the frontend NLB. An empty list means the
// security groups of the ALB, which are the default. If the existing frontend NLB has the security groups of the ALB, a
// member that enables the frontend NLB and sets no security groups counts as a member that sets those of the ALB.
func (b frontendBuilder) frontendSecurityGroups(frontend *observed.LoadBalancer) members.MergedSetting[[]string] {
	var current members.LiveValue[[]string]
	if frontend != nil {
		current = securityGroupBuilder(b).liveSecurityGroups(frontend)
	}
	const name = "frontend-nlb-security-groups"
	live := func() members.LiveValue[[]string] { return current }
	asked := requireAllNamespaces(b.Builder, b.Members, b.settingName(name), func(m *members.Member) settings.Opt[[]string] {
		return settings.UnsetIfEmptyList(m.Set.FrontendSecurityGroups)
	}, live, affectsFrontend)
	return members.MergeSetting(&b.Translation, b.Members, b.settingName(name), func(m *members.Member) settings.Opt[[]string] {
		o := asked(m)
		b.Stack.Contested = b.Stack.Contested || o.IsPresent() && len(b.Members) > 1
		if o.IsPresent() || !current.Known || len(current.Value) > 0 || !m.Set.FrontendNLB.Value {
			return o
		}
		return settings.NewOpt([]string(nil), m.Set.FrontendNLB.Origin)
	}, slices.Equal, live)
}

// holdFrontend holds the frontend NLB because a setting is invalid, and reports this.
func (b frontendBuilder) holdFrontend(o finding.Origin, message, fix string) {
	ref := b.MemberOf(o).Ref
	b.Found.Add(finding.Finding{
		Object: ref, Field: members.FieldForObject(ref, o), Reason: finding.AnnotationInvalid, Severity: finding.Error,
		Message: message + "; the frontend NLB stays unchanged if it exists, and is not created otherwise", Fix: fix,
	})
	b.Stack.Held.Frontend = true
}

func (b frontendBuilder) setFrontendAddresses(out *model.LoadBalancer) {
	eips := mergeFrontend(b.Builder, "frontend-nlb-eip-allocations", func(m *members.Member) settings.Opt[[]string] {
		return settings.UnsetIfEmptyList(m.Set.FrontendAddresses)
	}, members.SameSet, func() members.LiveValue[[]string] {
		if live := b.LiveFrontendNLB(); live != nil {
			return members.LiveValueOf(live.Addresses, true, members.SameSet)
		}
		return members.LiveValue[[]string]{}
	})
	switch {
	case !eips.Set:
		return
	case out.Scheme != model.InternetFacing && len(eips.Value) > 0:
		if b.LiveFrontendNLB() == nil && !slices.ContainsFunc(b.Members, func(m *members.Member) bool { return m.Set.FrontendNLB.Value && m.Ref != eips.Origin.Object }) {
			b.holdFrontend(eips.Origin, "Elastic IP addresses need scheme internet-facing", "set "+b.settingName("frontend-nlb-scheme")+", or remove the addresses")
			break // the frontend NLB is held, so it is not created with these addresses
		}
		ref := b.MemberOf(eips.Origin).Ref
		b.Found.Add(finding.Finding{
			Object: ref, Field: members.FieldForObject(ref, eips.Origin), Reason: finding.AnnotationInvalid, Severity: finding.Error,
			Message: "Elastic IP addresses need scheme internet-facing; the addresses are left out", Fix: "set " + b.settingName("frontend-nlb-scheme") + ", or remove the addresses",
		})
		return
	}
	out.Addresses = eips.Value
	out.Origins["addresses"] = eips.Origin
}

// frontendPortMapping is the port of the ALB to which a member maps a port of the frontend NLB.
type frontendPortMapping struct {
	member  *members.Member
	albPort int32
}

// frontendPorts merges the port mappings of all members. If members map a port to different ports of the ALB, the
// mapping in AWS stays while a member sets it. Otherwise the mapping of the first member is used.
func (b frontendBuilder) frontendPorts(out *model.LoadBalancer) []*frontendPort {
	byNumber := map[int32][]frontendPortMapping{}
	var unmatched []string
	for _, m := range b.Members {
		chosen := m.Set.FrontendPorts.Value
		if len(chosen) == 0 && m.Set.FrontendPorts.Fault == nil {
			chosen = map[int32]int32{}
			for _, p := range m.Ports {
				chosen[p.Port] = p.Port
			}
		}
		for _, number := range slices.Sorted(maps.Keys(chosen)) {
			target := chosen[number]
			if !slices.ContainsFunc(m.Ports, func(p settings.ListenPort) bool { return p.Port == target }) {
				unmatched = append(unmatched, fmt.Sprintf("%d (%s)", target, m.Ref))
				continue
			}
			byNumber[number] = append(byNumber[number], frontendPortMapping{m, target})
		}
	}
	if len(byNumber) == 0 && !b.Stack.Held.FrontendPorts {
		b.holdFrontend(out.Of, "no listener of the ALB has the mapped ports "+strings.Join(unmatched, ", "), "map to ports of "+b.settingName("listen-ports"))
	}
	var ports []*frontendPort
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		ports = append(ports, b.chooseFrontendPort(number, byNumber[number]))
	}
	return ports
}

// chooseFrontendPort chooses one of the mappings of a port of the frontend NLB, and reports the members with another
// mapping.
func (b frontendBuilder) chooseFrontendPort(number int32, mappings []frontendPortMapping) *frontendPort {
	chosen, isLive := mappings[0], false
	if slices.ContainsFunc(mappings, func(a frontendPortMapping) bool { return a.albPort != chosen.albPort }) {
		b.Stack.Contested = true
		if live := b.liveFrontendTargetGroup(number); live != nil {
			if i := slices.IndexFunc(mappings, func(a frontendPortMapping) bool { return a.albPort == live.Port }); i >= 0 {
				chosen, isLive = mappings[i], true
			}
		}
	}
	p := &frontendPort{number: number, target: chosen.albPort}
	for _, a := range mappings {
		if a.albPort == chosen.albPort {
			p.members = append(p.members, a.member)
			continue
		}
		b.ReportIgnoredValue(a.member, a.member.Set.FrontendPorts.Origin, finding.AnnotationConflict, fmt.Sprintf("%s of port %d", b.settingName("frontend-nlb-listener-port-mapping"), number), a.albPort, chosen.albPort, chosen.member.Ref, isLive)
	}
	return p
}

func (b frontendBuilder) addFrontendListener(out *model.LoadBalancer, p *frontendPort) {
	at := &members.Port{Number: p.number, Members: p.members}
	text := func(key string, get func(settings.FrontendHealthCheck) settings.Opt[string], live func(model.HealthCheck) string) string {
		return mergeFrontendHealth(b.Builder, at, key, get, live).Value
	}
	num := func(key string, get func(settings.FrontendHealthCheck) settings.Opt[int32], live func(model.HealthCheck) int32, def int32) int32 {
		return mergeFrontendHealth(b.Builder, at, key, get, live).ValueOr(def)
	}
	const key = "frontend-nlb-healthcheck-"
	check := model.HealthCheck{
		Port:               cmp.Or(text(key+"port", func(h settings.FrontendHealthCheck) settings.Opt[string] { return h.Port }, func(c model.HealthCheck) string { return c.Port }), HealthCheckOnTrafficPort),
		Protocol:           cmp.Or(text(key+"protocol", func(h settings.FrontendHealthCheck) settings.Opt[string] { return h.Protocol }, func(c model.HealthCheck) string { return c.Protocol }), "HTTP"),
		Path:               cmp.Or(text(key+"path", func(h settings.FrontendHealthCheck) settings.Opt[string] { return h.Path }, func(c model.HealthCheck) string { return c.Path }), "/"),
		HTTPCodes:          cmp.Or(text(key+"success-codes", func(h settings.FrontendHealthCheck) settings.Opt[string] { return h.Codes }, func(c model.HealthCheck) string { return c.HTTPCodes }), "200"),
		IntervalSeconds:    num(key+"interval-seconds", func(h settings.FrontendHealthCheck) settings.Opt[int32] { return h.Interval }, func(c model.HealthCheck) int32 { return c.IntervalSeconds }, 15),
		TimeoutSeconds:     num(key+"timeout-seconds", func(h settings.FrontendHealthCheck) settings.Opt[int32] { return h.Timeout }, func(c model.HealthCheck) int32 { return c.TimeoutSeconds }, 5),
		HealthyThreshold:   num(key+"healthy-threshold-count", func(h settings.FrontendHealthCheck) settings.Opt[int32] { return h.Healthy }, func(c model.HealthCheck) int32 { return c.HealthyThreshold }, 2),
		UnhealthyThreshold: num(key+"unhealthy-threshold-count", func(h settings.FrontendHealthCheck) settings.Opt[int32] { return h.Unhealthy }, func(c model.HealthCheck) int32 { return c.UnhealthyThreshold }, 2),
	}
	id := naming.FrontendTargetGroupID(p.number)
	l := model.Listener{Port: p.number, BaseProtocol: model.TCP, Tags: out.Tags, Default: []model.Action{
		model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: id}}}},
	}}
	for _, m := range p.members {
		l.Members = append(l.Members, m.Ref)
	}
	out.Listeners = append(out.Listeners, l)
	b.Stack.TargetGroups = append(b.Stack.TargetGroups, model.TargetGroup{
		ID: id, Type: model.ALBTargets, Port: p.target, Protocol: "TCP", AddressType: model.IPv4,
		Name: naming.FrontendTargetGroup{
			Cluster: b.Cluster, Stack: b.ID, Port: p.number, ALBPort: p.target, Protocol: "TCP", HealthPort: check.Port, HealthProtocol: check.Protocol,
		}.Name(),
		HealthCheck: check, Tags: out.Tags, Members: l.Members, Origin: out.Of,
	})
}

// AddFrontendRules adds rules for the ports of the frontend NLB to the managed security group of the ALB, if the
// frontend NLB has the same security group. Each port of the frontend NLB admits the same clients as the port of the ALB
// to which it forwards. Ports that the ALB also has are left out.
func (b *Builder) AddFrontendRules(alb, frontend *model.LoadBalancer) {
	managed, ok := alb.SecurityGroups.(model.SecurityGroupsManaged)
	if !ok || frontend == nil || b.Stack.Held.Frontend || frontend.SecurityGroups != (model.SecurityGroupsShared{}) {
		return
	}
	ofALB := slices.Clone(managed.Group.Ingress)
	for _, l := range frontend.Listeners {
		target := b.Stack.TargetGroup(l.DefaultTargetGroupID()).Port
		if slices.ContainsFunc(b.Ports, func(p *members.Port) bool { return p.Number == l.Port }) {
			continue
		}
		for _, r := range ofALB {
			if r.From == target {
				r.From, r.To = l.Port, l.Port
				managed.Group.Ingress = append(managed.Group.Ingress, r)
			}
		}
	}
	alb.SecurityGroups = managed
}

// liveFrontendSubnets returns the subnets of the existing frontend NLB, for comparison with subnets by ID or name.
func (b frontendBuilder) liveFrontendSubnets(lb *observed.LoadBalancer) members.LiveValue[[]string] {
	live := subnetBuilder(b).observedSubnets(lb, true)
	return members.LiveValue[[]string]{Known: live.Known, Value: live.Value.ids, Matches: func(refs []string) bool { return live.Matches(subnetSetting{ids: refs}) }}
}

// liveFrontendTargetGroup returns the target group to which a port of the existing frontend NLB forwards, or nil if
// there is none.
func (b frontendBuilder) liveFrontendTargetGroup(port int32) *observed.TargetGroup {
	l := b.LiveFrontendNLB().ListenerOnPort(port)
	if l == nil || len(l.Default) != 1 {
		return nil
	}
	to, ok := l.Default[0].(model.Forward)
	if !ok || len(to.Groups) != 1 {
		return nil
	}
	for i, g := range b.Live.TargetGroups {
		if g.ARN == to.Groups[0].Group.ARN {
			return &b.Live.TargetGroups[i]
		}
	}
	return nil
}
