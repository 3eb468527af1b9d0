package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// frontPort is a port of the network load balancer in front, with the members that asked for it.
type frontPort struct {
	number, target int32
	members        []*member
}

// front builds the network load balancer in front of the ALB, nil if nobody wants one. What cannot
// be read of it stays as it is, and the rest follows those who can be read. A new one is made when somebody
// asks for it in whose settings for it nothing is wrong.
func (t *translation) front(alb *model.LoadBalancer) *model.LoadBalancer {
	live := t.liveFront()
	on := agree(t, t.members, "enable-frontend-nlb", func(m *member) settings.Opt[bool] { return m.set.FrontendNLB }, equal[bool],
		func() incumbent[bool] { return serving(live != nil, t.liveALB() != nil, equal[bool]) })
	hold := false
	for _, m := range t.members {
		if f := m.set.FrontendNLB.Check(); f != nil {
			t.fault(m, *f, finding.BlocksNothing)
			hold = hold || !on.Set // perhaps one is wanted: what is there must not go
		}
	}
	if !on.Value && !hold {
		return nil
	}
	scheme := agree(t, t.members, "frontend-nlb-scheme", func(m *member) settings.Opt[model.Scheme] { return m.set.FrontendScheme }, equal[model.Scheme],
		of(live, func(lb *observed.LoadBalancer) model.Scheme { return lb.Scheme }))
	out := &model.LoadBalancer{
		Type: model.Network, Name: naming.FrontendNLB(alb.Name), Scheme: scheme.Or(t.opt.DefaultScheme), AddressType: alb.AddressType,
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
	for _, m := range t.members {
		// Which ports are its own is not known.
		t.stack.Held.FrontendPorts = t.stack.Held.FrontendPorts || m.lost || m.set.FrontendPorts.Fault != nil
		faults := m.set.Frontend.Faults()
		for _, f := range faults {
			t.fault(m, f, finding.BlocksNothing)
		}
		sound = sound || m.set.FrontendNLB.Value && len(faults) == 0
	}
	t.stack.Held.Frontend = hold || live == nil && !sound
	if s := agree(t, t.members, "frontend-nlb-subnets", func(m *member) settings.Opt[[]string] { return some(m.set.FrontendSubnets) }, sameSet, func() incumbent[[]string] { return t.liveFrontSubnets(live) }); s.Set {
		out.Subnets = model.SubnetsNamed{Refs: s.Value, Of: s.Origin}
		note("subnets", s.Origin)
	}
	if g := t.frontGroups(live); g.Set && len(g.Value) > 0 {
		out.SecurityGroups = model.GroupsGiven{Refs: g.Value, Of: g.Origin}
		note("securityGroups", g.Origin)
	}
	t.frontAddresses(out)
	same := func(a, b map[string]string) bool { return maps.Equal(a, b) }
	attributes := agree(t, t.members, "frontend-nlb-attributes", func(m *member) settings.Opt[map[string]string] { return m.set.FrontendAttributes }, same, func() incumbent[map[string]string] {
		attributes := t.liveAttributes(live)
		return serving(attributes, attributes != nil, func(live, asked map[string]string) bool {
			return !slices.ContainsFunc(sortedKeys(asked), func(k string) bool { return !plan.SameAttribute(live[k], asked[k]) })
		})
	})
	out.Attributes = attributes.Value
	if attributes.Set {
		out.AttributesOf = []finding.Origin{attributes.Origin}
	}
	if tags := agree(t, t.members, "frontend-nlb-tags", func(m *member) settings.Opt[map[string]string] { return m.set.FrontendTags }, same, func() incumbent[map[string]string] {
		if live == nil {
			return incumbent[map[string]string]{}
		}
		return serving(liveTags(live.Tags), true, func(live, asked map[string]string) bool {
			return !slices.ContainsFunc(sortedKeys(asked), func(k string) bool { return live[k] != asked[k] })
		})
	}); tags.Set {
		out.Tags = t.allowed(t.memberOf(tags.Origin), tags.Value, tags.Origin)
	}
	for _, p := range t.frontPorts(out) {
		t.frontListener(out, p)
	}
	return out
}

// frontGroups are the security groups that members ask for; unset, those of the ALB. Who only asks for the
// network load balancer asks for these, and where they are live, they stay.
func (t *translation) frontGroups(live *observed.LoadBalancer) merged[[]string] {
	var current incumbent[[]string]
	if live != nil {
		current = t.liveGroups(live)
	}
	return agree(t, t.members, "frontend-nlb-security-groups", func(m *member) settings.Opt[[]string] {
		o := some(m.set.FrontendGroups)
		t.stack.Contested = t.stack.Contested || o.Present() && len(t.members) > 1
		if o.Present() || !current.known || len(current.value) > 0 || !m.set.FrontendNLB.Value {
			return o
		}
		return settings.Of([]string(nil), m.set.FrontendNLB.Origin)
	}, slices.Equal, func() incumbent[[]string] { return current })
}

func (t *translation) memberOf(o finding.Origin) *member {
	for _, m := range t.members {
		if m.ref == o.Object {
			return m
		}
	}
	return t.members[0]
}

// frontFault holds the network load balancer for something that was written wrong.
func (t *translation) frontFault(out *model.LoadBalancer, o finding.Origin, message, fix string) {
	ref := t.refOf(o)
	t.found.Add(finding.Finding{
		Object: ref, Field: fieldOn(ref, o), Reason: finding.AnnotationInvalid, Severity: finding.Error,
		Message: message + ", so the network load balancer in front stays as it is", Fix: fix,
	})
	t.stack.Held.Frontend = true
}

func (t *translation) frontAddresses(out *model.LoadBalancer) {
	eips := agree(t, t.members, "frontend-nlb-eip-allocations", func(m *member) settings.Opt[[]string] { return some(m.set.FrontendAddresses) }, sameSet, func() incumbent[[]string] {
		if live := t.liveFront(); live != nil {
			return serving(live.Addresses, true, sameSet)
		}
		return incumbent[[]string]{}
	})
	switch {
	case !eips.Set:
		return
	case out.Scheme != model.InternetFacing && len(eips.Value) > 0:
		if t.liveFront() == nil && !slices.ContainsFunc(t.members, func(m *member) bool { return m.set.FrontendNLB.Value && m.ref != eips.Origin.Object }) {
			t.frontFault(out, eips.Origin, "elastic addresses need scheme internet-facing", "set frontend-nlb-scheme, or remove the addresses")
			break // who asks for it is to choose first
		}
		ref := t.refOf(eips.Origin)
		t.found.Add(finding.Finding{
			Object: ref, Field: fieldOn(ref, eips.Origin), Reason: finding.AnnotationInvalid, Severity: finding.Error,
			Message: "elastic addresses need scheme internet-facing; they are left out", Fix: "set frontend-nlb-scheme, or remove the addresses",
		})
		return
	}
	out.Addresses = eips.Value
	out.Origins["addresses"] = eips.Origin
}

// frontAsk is the port of the ALB to which a member maps a port of the frontend NLB.
type frontAsk struct {
	m      *member
	target int32
}

// frontPorts unites what the members map. Of two targets of one port the live one stays as long as a
// member asks for it; otherwise the first member's.
func (t *translation) frontPorts(out *model.LoadBalancer) []*frontPort {
	byNumber := map[int32][]frontAsk{}
	var unmatched []string
	for _, m := range t.members {
		wish := m.set.FrontendPorts.Value
		if len(wish) == 0 && m.set.FrontendPorts.Fault == nil {
			wish = map[int32]int32{}
			for _, p := range m.ports {
				wish[p.Port] = p.Port
			}
		}
		for _, number := range slices.Sorted(maps.Keys(wish)) {
			target := wish[number]
			if !slices.ContainsFunc(m.ports, func(p settings.ListenPort) bool { return p.Port == target }) {
				unmatched = append(unmatched, fmt.Sprintf("%d (%s)", target, m.ref))
				continue
			}
			byNumber[number] = append(byNumber[number], frontAsk{m, target})
		}
	}
	if len(byNumber) == 0 && !t.stack.Held.FrontendPorts {
		t.frontFault(out, out.Of, "nobody listens on the mapped ports "+strings.Join(unmatched, ", "), "map to ports of listen-ports")
	}
	var ports []*frontPort
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		ports = append(ports, t.frontPort(number, byNumber[number]))
	}
	return ports
}

// frontPort settles where a port of the frontend NLB leads.
func (t *translation) frontPort(number int32, asks []frontAsk) *frontPort {
	won, isLive := asks[0], false
	if slices.ContainsFunc(asks, func(a frontAsk) bool { return a.target != won.target }) {
		t.stack.Contested = true
		if live := t.liveFrontTarget(number); live != 0 {
			if i := slices.IndexFunc(asks, func(a frontAsk) bool { return a.target == live }); i >= 0 {
				won, isLive = asks[i], true
			}
		}
	}
	p := &frontPort{number: number, target: won.target}
	for _, a := range asks {
		if a.target == won.target {
			p.members = append(p.members, a.m)
			continue
		}
		t.notTaken(a.m, a.m.set.FrontendPorts.Origin, finding.AnnotationConflict, fmt.Sprintf("frontend-nlb-listener-port-mapping of port %d", number), a.target, won.target, won.m.ref, isLive)
	}
	return p
}

func (t *translation) frontListener(out *model.LoadBalancer, p *frontPort) {
	at := &port{number: p.number, members: p.members}
	text := func(key string, get func(settings.FrontendHealth) settings.Opt[string], live func(model.HealthCheck) string) string {
		return agreeOn(t, at, key, func(m *member) settings.Opt[string] { return get(m.set.FrontendHealth) }, equal[string], func() incumbent[string] {
			check, known := t.liveFrontCheck(p.number)
			return serving(live(check), known, equal[string])
		}).Value
	}
	num := func(key string, get func(settings.FrontendHealth) settings.Opt[int32], live func(model.HealthCheck) int32, def int32) int32 {
		return agreeOn(t, at, key, func(m *member) settings.Opt[int32] { return get(m.set.FrontendHealth) }, equal[int32], func() incumbent[int32] {
			check, known := t.liveFrontCheck(p.number)
			return serving(live(check), known, equal[int32])
		}).Or(def)
	}
	const key = "frontend-nlb-healthcheck-"
	check := model.HealthCheck{
		Port:               cmp.Or(text(key+"port", func(h settings.FrontendHealth) settings.Opt[string] { return h.Port }, func(c model.HealthCheck) string { return c.Port }), assemble.TrafficPort),
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
		l.Members = append(l.Members, m.ref)
	}
	out.Listeners = append(out.Listeners, l)
	t.stack.TargetGroups = append(t.stack.TargetGroups, model.TargetGroup{
		ID: id, Type: model.ALBTargets, Port: p.target, Protocol: "TCP", AddressType: model.IPv4,
		Name: naming.FrontendTargetGroup{
			Cluster: t.opt.Cluster, Stack: t.id, Port: p.number, Target: p.target, Protocol: "TCP", HealthPort: check.Port, HealthProtocol: check.Protocol,
		}.Name(),
		HealthCheck: check, Tags: out.Tags, Members: l.Members, Origin: out.Of,
	})
}

// frontSources are the clients of the network load balancer, where it carries the ALB's managed
// group: those of the ALB port that a port of its own leads to.
func (t *translation) frontSources(alb, front *model.LoadBalancer) {
	managed, ok := alb.SecurityGroups.(model.GroupsManaged)
	if !ok || front == nil || t.stack.Held.Frontend || front.SecurityGroups != (model.GroupsShared{}) {
		return
	}
	for _, l := range front.Listeners {
		target := t.stack.TargetGroup(l.Target()).Port
		if slices.ContainsFunc(t.ports, func(p *port) bool { return p.number == l.Port }) {
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
