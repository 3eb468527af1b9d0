package assemble

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/members"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// sources are the clients that a managed security group admits to a port. Where groups are given
// the answer is not used, but what the members disagree on is still worth saying.
func (b *Builder) sources(p *members.Port, ipv6, managed bool) []model.IngressRule {
	ranges := func(m *members.Member) settings.Opt[[]string] { return settings.Filled(m.Set.InboundCIDRs) }
	prefixLists := func(m *members.Member) settings.Opt[[]string] { return settings.Filled(m.Set.PrefixLists) }
	cidrs := b.clients(p, b.name("inbound-cidrs"), ranges, prefixLists, func() members.Incumbent[[]string] { return b.liveCIDRs(p.Number, ipv6) })
	lists := b.clients(p, b.name("security-group-prefix-lists"), prefixLists, ranges, func() members.Incumbent[[]string] { return b.livePrefixLists(p.Number) })
	if len(cidrs.Value)+len(lists.Value) == 0 && !cidrs.Kept && !lists.Kept {
		if !slices.ContainsFunc(p.Members, func(m *members.Member) bool { return m.Set.InboundCIDRs.Check() == nil }) {
			// Everything on the port is held, and to open it to everybody would be worse than to wait.
			return nil
		}
		return Sources("tcp", p.Number, Everybody(), nil, ipv6)
	}
	out := Sources("tcp", p.Number, members.Sorted(cidrs.Value), members.Sorted(lists.Value), ipv6)
	if len(out) == 0 && managed && cidrs.Set && !cidrs.Kept {
		m := p.Members[0]
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldOn(m.Ref, cidrs.Origin), Reason: finding.AnnotationInvalid,
			Message: fmt.Sprintf("port %d admits nobody, since all its ranges are IPv6 and the load balancer has IPv4 only", p.Number),
			Fix:     "add an IPv4 range, or set " + b.name("ip-address-type") + " to dualstack",
		})
	}
	return out
}

// clients merges one of the two ways to name clients. Who only uses the other way asks for none of this
// one, and where none is live, that stays: both together admit more than either.
func (b *Builder) clients(p *members.Port, key string, get, other func(*members.Member) settings.Opt[[]string], current func() members.Incumbent[[]string]) members.Merged[[]string] {
	mixed := slices.ContainsFunc(p.Members, func(m *members.Member) bool { return get(m).Set }) &&
		slices.ContainsFunc(p.Members, func(m *members.Member) bool { return !get(m).Present() && other(m).Set })
	none := false
	if mixed && b.Live != nil {
		live := current()
		none = live.Known && len(live.Value) == 0
	}
	b.Stack.Contested = b.Stack.Contested || mixed
	return members.AgreeOn(&b.Translation, p, key, func(m *members.Member) settings.Opt[[]string] {
		if o := get(m); o.Present() || !none || !other(m).Set {
			return o
		}
		return settings.Of([]string(nil), other(m).Origin)
	}, members.SameSet, current)
}

// liveSources are the rules of the managed group for a port, if the live load balancer carries it and
// listens there.
func (b *Builder) liveSources(port int32) (rules []model.IngressRule, known bool) {
	lb := b.LiveLoadBalancer()
	if members.ListenerOf(lb, port) == nil {
		return nil, false
	}
	for _, g := range b.Live.SecurityGroups {
		if !slices.Contains(lb.SecurityGroups, g.ID) {
			continue
		}
		known = true
		for _, r := range g.Ingress {
			if r.Protocol == "tcp" && r.From == port && r.To == port && r.Group == "" {
				rules = append(rules, r)
			}
		}
	}
	return rules, known
}

// liveCIDRs and livePrefixLists compare client ranges with those that the managed group admits.
func (b *Builder) liveCIDRs(port int32, ipv6 bool) members.Incumbent[[]string] {
	return b.liveClients(port, func(v []string) []model.IngressRule { return Sources("tcp", port, v, nil, ipv6) }, func(r model.IngressRule) string { return r.CIDR })
}

func (b *Builder) livePrefixLists(port int32) members.Incumbent[[]string] {
	return b.liveClients(port, func(v []string) []model.IngressRule { return Sources("tcp", port, nil, v, true) }, func(r model.IngressRule) string { return r.PrefixList })
}

func (b *Builder) liveClients(port int32, rules func([]string) []model.IngressRule, part func(model.IngressRule) string) members.Incumbent[[]string] {
	live, known := b.liveSources(port)
	parts := func(rs []model.IngressRule) []string {
		var out []string
		for _, r := range rs {
			if p := part(r); p != "" {
				out = append(out, p)
			}
		}
		return out
	}
	is := parts(live)
	return members.Incumbent[[]string]{Known: known, Value: is, Is: func(v []string) bool { return members.SameSet(parts(rules(v)), is) }}
}
