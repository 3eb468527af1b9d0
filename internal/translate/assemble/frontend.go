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

// frontendPort is a port of the frontend NLB, with the members that asked for it.
type frontendPort struct {
	number, target int32
	members        []*members.Member
}

// FrontendNLB builds the frontend NLB of the ALB, nil if no member asks for one. What cannot
// be read of it stays as it is, and the rest follows those who can be read. A new one is made when a member
// asks for it whose settings of it are valid.
func (b *Builder) FrontendNLB(alb *model.LoadBalancer) *model.LoadBalancer {
	live := b.LiveFrontend()
	on := members.Agree(&b.Translation, b.Members, b.name("enable-frontend-nlb"), func(m *members.Member) settings.Opt[bool] { return m.Set.FrontendNLB }, members.Equal[bool],
		func() members.LiveValue[bool] {
			return members.LiveValueOf(live != nil, b.LiveLoadBalancer() != nil, members.Equal[bool])
		})
	hold := false
	for _, m := range b.Members {
		if f := m.Set.FrontendNLB.Check(); f != nil {
			b.Fault(m, *f, finding.BlocksNothing)
			hold = hold || !on.Set // perhaps one is wanted: what is there must not go
		}
	}
	if !on.Value && !hold {
		return nil
	}
	scheme := frontendBuilder{b}.frontendScheme(alb)
	out := &model.LoadBalancer{
		Type: model.Network, Name: naming.FrontendNLB(alb.Name), Scheme: scheme.Or(b.DefaultScheme), AddressType: alb.AddressType,
		Subnets: model.SubnetsDiscovered{}, SecurityGroups: model.GroupsShared{}, Tags: alb.Tags, Of: on.Origin, Origins: map[string]finding.Origin{},
	}
	note := func(field string, o finding.Origin) {
		if o != (finding.Origin{}) {
			out.Origins[field] = o
		}
	}
	note("scheme", scheme.Origin)
	note("addressType", alb.Origins["addressType"])
	sound := false
	for _, m := range b.Members {
		// Which ports are its own is not known.
		b.Stack.Held.FrontendPorts = b.Stack.Held.FrontendPorts || m.Undetermined || m.Set.FrontendPorts.Fault != nil
		faults := m.Set.Frontend.Faults()
		for _, f := range faults {
			b.Fault(m, f, finding.BlocksNothing)
		}
		sound = sound || m.Set.FrontendNLB.Value && len(faults) == 0
	}
	b.Stack.Held.Frontend = hold || live == nil && !sound
	if s := mergeFrontend(b, "frontend-nlb-subnets", func(m *members.Member) settings.Opt[[]string] { return settings.NonEmptyList(m.Set.FrontendSubnets) }, members.SameSet, func() members.LiveValue[[]string] { return frontendBuilder{b}.liveFrontendSubnets(live) }); s.Set {
		out.Subnets = model.SubnetsNamed{Refs: s.Value, Of: s.Origin}
		note("subnets", s.Origin)
	}
	if g := (frontendBuilder{b}).frontendGroups(live); g.Set && len(g.Value) > 0 {
		out.SecurityGroups = model.GroupsGiven{Refs: g.Value, Of: g.Origin}
		note("securityGroups", g.Origin)
	}
	frontendBuilder{b}.frontendAddresses(out)
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
		out.Tags = b.AllowedTags(b.MemberOf(tags.Origin), tags.Value, tags.Origin)
	}
	for _, p := range (frontendBuilder{b}).frontendPorts(out) {
		frontendBuilder{b}.frontendListener(out, p)
	}
	return out
}

// frontendBuilder builds the frontend NLB.
type frontendBuilder struct{ *Builder }

// frontendGroups returns the security groups that members ask for; unset, those of the ALB. Who only asks for the
// network load balancer asks for these, and where they are live, they stay.
func (b frontendBuilder) frontendGroups(live *observed.LoadBalancer) members.Merged[[]string] {
	var current members.LiveValue[[]string]
	if live != nil {
		current = groupBuilder(b).liveGroups(live)
	}
	const name = "frontend-nlb-security-groups"
	incumbent := func() members.LiveValue[[]string] { return current }
	asked := withoutContested(b.Builder, b.Members, b.name(name), func(m *members.Member) settings.Opt[[]string] {
		return settings.NonEmptyList(m.Set.FrontendSecurityGroups)
	}, incumbent, affectsFrontend)
	return members.Agree(&b.Translation, b.Members, b.name(name), func(m *members.Member) settings.Opt[[]string] {
		o := asked(m)
		b.Stack.Contested = b.Stack.Contested || o.Present() && len(b.Members) > 1
		if o.Present() || !current.Known || len(current.Value) > 0 || !m.Set.FrontendNLB.Value {
			return o
		}
		return settings.NewOpt([]string(nil), m.Set.FrontendNLB.Origin)
	}, slices.Equal, incumbent)
}

// frontendFault holds the network load balancer for something that was written wrong.
func (b frontendBuilder) frontendFault(out *model.LoadBalancer, o finding.Origin, message, fix string) {
	ref := b.MemberOf(o).Ref
	b.Found.Add(finding.Finding{
		Object: ref, Field: members.FieldOn(ref, o), Reason: finding.AnnotationInvalid, Severity: finding.Error,
		Message: message + ", so the frontend NLB stays as it is", Fix: fix,
	})
	b.Stack.Held.Frontend = true
}

func (b frontendBuilder) frontendAddresses(out *model.LoadBalancer) {
	eips := mergeFrontend(b.Builder, "frontend-nlb-eip-allocations", func(m *members.Member) settings.Opt[[]string] { return settings.NonEmptyList(m.Set.FrontendAddresses) }, members.SameSet, func() members.LiveValue[[]string] {
		if live := b.LiveFrontend(); live != nil {
			return members.LiveValueOf(live.Addresses, true, members.SameSet)
		}
		return members.LiveValue[[]string]{}
	})
	switch {
	case !eips.Set:
		return
	case out.Scheme != model.InternetFacing && len(eips.Value) > 0:
		if b.LiveFrontend() == nil && !slices.ContainsFunc(b.Members, func(m *members.Member) bool { return m.Set.FrontendNLB.Value && m.Ref != eips.Origin.Object }) {
			b.frontendFault(out, eips.Origin, "elastic addresses need scheme internet-facing", "set "+b.name("frontend-nlb-scheme")+", or remove the addresses")
			break // who asks for it is to choose first
		}
		ref := b.MemberOf(eips.Origin).Ref
		b.Found.Add(finding.Finding{
			Object: ref, Field: members.FieldOn(ref, eips.Origin), Reason: finding.AnnotationInvalid, Severity: finding.Error,
			Message: "elastic addresses need scheme internet-facing; they are left out", Fix: "set " + b.name("frontend-nlb-scheme") + ", or remove the addresses",
		})
		return
	}
	out.Addresses = eips.Value
	out.Origins["addresses"] = eips.Origin
}

// frontendAsk is the port of the ALB to which a member maps a port of the frontend NLB.
type frontendAsk struct {
	m      *members.Member
	target int32
}

// frontendPorts unites what the members map. Of two targets of one port the live one stays as long as a
// member asks for it; otherwise the first member's.
func (b frontendBuilder) frontendPorts(out *model.LoadBalancer) []*frontendPort {
	byNumber := map[int32][]frontendAsk{}
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
			byNumber[number] = append(byNumber[number], frontendAsk{m, target})
		}
	}
	if len(byNumber) == 0 && !b.Stack.Held.FrontendPorts {
		b.frontendFault(out, out.Of, "no listener of the ALB has the mapped ports "+strings.Join(unmatched, ", "), "map to ports of "+b.name("listen-ports"))
	}
	var ports []*frontendPort
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		ports = append(ports, b.frontendPort(number, byNumber[number]))
	}
	return ports
}

// frontendPort resolves where a port of the frontend NLB leads.
func (b frontendBuilder) frontendPort(number int32, asks []frontendAsk) *frontendPort {
	won, isLive := asks[0], false
	if slices.ContainsFunc(asks, func(a frontendAsk) bool { return a.target != won.target }) {
		b.Stack.Contested = true
		if live := b.liveFrontendTarget(number); live != 0 {
			if i := slices.IndexFunc(asks, func(a frontendAsk) bool { return a.target == live }); i >= 0 {
				won, isLive = asks[i], true
			}
		}
	}
	p := &frontendPort{number: number, target: won.target}
	for _, a := range asks {
		if a.target == won.target {
			p.members = append(p.members, a.m)
			continue
		}
		b.ReportNotTaken(a.m, a.m.Set.FrontendPorts.Origin, finding.AnnotationConflict, fmt.Sprintf("%s of port %d", b.name("frontend-nlb-listener-port-mapping"), number), a.target, won.target, won.m.Ref, isLive)
	}
	return p
}

func (b frontendBuilder) frontendListener(out *model.LoadBalancer, p *frontendPort) {
	at := &members.Port{Number: p.number, Members: p.members}
	text := func(key string, get func(settings.FrontendHealth) settings.Opt[string], live func(model.HealthCheck) string) string {
		return agreeFrontendHealth(b.Builder, at, key, get, live).Value
	}
	num := func(key string, get func(settings.FrontendHealth) settings.Opt[int32], live func(model.HealthCheck) int32, def int32) int32 {
		return agreeFrontendHealth(b.Builder, at, key, get, live).Or(def)
	}
	const key = "frontend-nlb-healthcheck-"
	check := model.HealthCheck{
		Port:               cmp.Or(text(key+"port", func(h settings.FrontendHealth) settings.Opt[string] { return h.Port }, func(c model.HealthCheck) string { return c.Port }), TrafficPort),
		Protocol:           cmp.Or(text(key+"protocol", func(h settings.FrontendHealth) settings.Opt[string] { return h.Protocol }, func(c model.HealthCheck) string { return c.Protocol }), "HTTP"),
		Path:               cmp.Or(text(key+"path", func(h settings.FrontendHealth) settings.Opt[string] { return h.Path }, func(c model.HealthCheck) string { return c.Path }), "/"),
		HTTPCodes:          cmp.Or(text(key+"success-codes", func(h settings.FrontendHealth) settings.Opt[string] { return h.Codes }, func(c model.HealthCheck) string { return c.HTTPCodes }), "200"),
		IntervalSeconds:    num(key+"interval-seconds", func(h settings.FrontendHealth) settings.Opt[int32] { return h.Interval }, func(c model.HealthCheck) int32 { return c.IntervalSeconds }, 15),
		TimeoutSeconds:     num(key+"timeout-seconds", func(h settings.FrontendHealth) settings.Opt[int32] { return h.Timeout }, func(c model.HealthCheck) int32 { return c.TimeoutSeconds }, 5),
		HealthyThreshold:   num(key+"healthy-threshold-count", func(h settings.FrontendHealth) settings.Opt[int32] { return h.Healthy }, func(c model.HealthCheck) int32 { return c.HealthyThreshold }, 2),
		UnhealthyThreshold: num(key+"unhealthy-threshold-count", func(h settings.FrontendHealth) settings.Opt[int32] { return h.Unhealthy }, func(c model.HealthCheck) int32 { return c.UnhealthyThreshold }, 2),
	}
	id := naming.FrontendTargetGroupID(p.number)
	l := model.Listener{Port: p.number, Base: model.TCP, Tags: out.Tags, Default: []model.Action{
		model.Forward{Groups: []model.WeightedGroup{{Group: model.GroupRef{ID: id}}}},
	}}
	for _, m := range p.members {
		l.Members = append(l.Members, m.Ref)
	}
	out.Listeners = append(out.Listeners, l)
	b.Stack.TargetGroups = append(b.Stack.TargetGroups, model.TargetGroup{
		ID: id, Type: model.ALBTargets, Port: p.target, Protocol: "TCP", AddressType: model.IPv4,
		Name: naming.FrontendTargetGroup{
			Cluster: b.Cluster, Stack: b.ID, Port: p.number, Target: p.target, Protocol: "TCP", HealthPort: check.Port, HealthProtocol: check.Protocol,
		}.Name(),
		HealthCheck: check, Tags: out.Tags, Members: l.Members, Origin: out.Of,
	})
}

// FrontendSources are the clients of the network load balancer, where it carries the ALB's managed
// group: those of the ALB port that a port of its own leads to.
func (b *Builder) FrontendSources(alb, frontend *model.LoadBalancer) {
	managed, ok := alb.SecurityGroups.(model.GroupsManaged)
	if !ok || frontend == nil || b.Stack.Held.Frontend || frontend.SecurityGroups != (model.GroupsShared{}) {
		return
	}
	for _, l := range frontend.Listeners {
		target := b.Stack.TargetGroup(l.Target()).Port
		if slices.ContainsFunc(b.Ports, func(p *members.Port) bool { return p.Number == l.Port }) {
			continue
		}
		for _, r := range slices.Clone(managed.Group.Ingress) {
			if r.From == target {
				r.From, r.To = l.Port, l.Port
				managed.Group.Ingress = append(managed.Group.Ingress, r)
			}
		}
	}
	alb.SecurityGroups = managed
}

// liveFrontendSubnets compares the subnets that members give by id or name with those of the frontend NLB.
func (b frontendBuilder) liveFrontendSubnets(lb *observed.LoadBalancer) members.LiveValue[[]string] {
	live := subnetBuilder(b).liveSubnets(lb, true)
	return members.LiveValue[[]string]{Known: live.Known, Value: live.Value.ids, Matches: func(refs []string) bool { return live.Matches(subnetSetting{ids: refs}) }}
}

// liveFrontendTarget returns the port of the ALB to which a port of the live frontend NLB leads, 0 if there is none.
func (b frontendBuilder) liveFrontendTarget(port int32) int32 {
	if g := b.liveFrontendGroup(port); g != nil {
		return g.Port
	}
	return 0
}

func (b frontendBuilder) liveFrontendCheck(port int32) (model.HealthCheck, bool) {
	if g := b.liveFrontendGroup(port); g != nil {
		return g.HealthCheck, true
	}
	return model.HealthCheck{}, false
}

// liveFrontendGroup returns the target group to which a port of the live frontend NLB leads.
func (b frontendBuilder) liveFrontendGroup(port int32) *observed.TargetGroup {
	l := b.LiveFrontend().OnPort(port)
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
