package assemble

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// errIPv6Only is the fault of client ranges that a network load balancer with IPv4 addresses has no use for.
var errIPv6Only = errors.New("all ranges are IPv6")

// clientBuilder builds which clients the managed security group admits.
type clientBuilder struct{ *Builder }

// sources returns the clients that a managed security group admits to a port. Where groups are given
// the answer is not used, but what the members disagree on is still worth saying.
func (b clientBuilder) sources(p *members.Port, ipv6, managed bool) []model.IngressRule {
	if b.NoClients {
		return nil
	}
	ranges := func(m *members.Member) settings.Opt[[]string] {
		o := settings.NonEmptyList(m.Set.InboundCIDRs)
		if b.Type == model.Network && !ipv6 && o.Set && !slices.ContainsFunc(o.Value, func(c string) bool { return !IsIPv6(c) }) {
			// To shut out all clients for it would be worse than to wait.
			return settings.Opt[[]string]{Fault: errIPv6Only, Origin: o.Origin}
		}
		return o
	}
	prefixLists := func(m *members.Member) settings.Opt[[]string] { return settings.NonEmptyList(m.Set.PrefixLists) }
	cidrs := b.clients(p, b.name("inbound-cidrs"), ranges, prefixLists, func() members.LiveValue[[]string] { return b.liveCIDRs(p, ipv6) })
	lists := b.clients(p, b.name("security-group-prefix-lists"), prefixLists, ranges, func() members.LiveValue[[]string] { return b.livePrefixLists(p) })
	if len(cidrs.Value)+len(lists.Value) == 0 && !cidrs.KeepsLive && !lists.KeepsLive {
		if !slices.ContainsFunc(p.Members, func(m *members.Member) bool { return ranges(m).Check() == nil }) {
			// Everything on the port is held, and to open it to everybody would be worse than to wait.
			return nil
		}
		return clientRules(p, AllClients(), nil, ipv6)
	}
	out := clientRules(p, members.SortedUnique(cidrs.Value), members.SortedUnique(lists.Value), ipv6)
	if len(out) == 0 && managed && cidrs.Set && !cidrs.KeepsLive {
		m := p.Members[0]
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldOn(m.Ref, cidrs.Origin), Reason: finding.AnnotationInvalid,
			Message: fmt.Sprintf("port %d admits no client, because all its ranges are IPv6 and the load balancer has IPv4 only", p.Number),
			Fix:     "add an IPv4 range, or set " + b.name("ip-address-type") + " to dualstack",
		})
	}
	return out
}

// clientRules returns the rules that admit clients to a port, over each of its protocols, and to path MTU discovery.
func clientRules(p *members.Port, cidrs, prefixLists []string, ipv6 bool) []model.IngressRule {
	var out []model.IngressRule
	for _, protocol := range protocolsOf(p) {
		out = append(out, Sources(protocol, p.Number, cidrs, prefixLists, ipv6)...)
	}
	if !slices.ContainsFunc(p.Members, func(m *members.Member) bool { return m.Set.PathMTU.Value == "on" }) {
		return out
	}
	for _, c := range cidrs {
		if ipv6 || !IsIPv6(c) {
			out = append(out, PathMTU(c))
		}
	}
	return out
}

// protocolsOf returns the protocols of a port in rules of security groups.
func protocolsOf(p *members.Port) []string {
	var out []string
	for _, t := range transports(string(p.Base)) {
		out = append(out, strings.ToLower(t))
	}
	return out
}

// clients merges one of the two ways to name clients. Who only uses the other way asks for none of this
// one, and where none is live, that stays: both together admit more than either.
func (b clientBuilder) clients(p *members.Port, key string, get, other func(*members.Member) settings.Opt[[]string], current func() members.LiveValue[[]string]) members.Merged[[]string] {
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
		return settings.NewOpt([]string(nil), other(m).Origin)
	}, members.SameSet, current)
}

// liveSources returns the rules of the managed group for a port, if the live load balancer carries it and
// listens there.
func (b clientBuilder) liveSources(p *members.Port) (rules []model.IngressRule, known bool) {
	lb := b.LiveLoadBalancer()
	if lb.OnPort(p.Number) == nil {
		return nil, false
	}
	for _, g := range b.Live.SecurityGroups {
		if !slices.Contains(lb.SecurityGroups, g.ID) {
			continue
		}
		known = true
		for _, r := range g.Ingress {
			if r.Protocol == protocolsOf(p)[0] && r.From == p.Number && r.To == p.Number && r.Group == "" {
				rules = append(rules, r)
			}
		}
	}
	return rules, known
}

// liveCIDRs and livePrefixLists compare client ranges with those that the managed group admits.
func (b clientBuilder) liveCIDRs(p *members.Port, ipv6 bool) members.LiveValue[[]string] {
	return b.liveClients(p, func(v []string) []model.IngressRule { return Sources(protocolsOf(p)[0], p.Number, v, nil, ipv6) }, func(r model.IngressRule) string { return r.CIDR })
}

func (b clientBuilder) livePrefixLists(p *members.Port) members.LiveValue[[]string] {
	return b.liveClients(p, func(v []string) []model.IngressRule { return Sources(protocolsOf(p)[0], p.Number, nil, v, true) }, func(r model.IngressRule) string { return r.PrefixList })
}

func (b clientBuilder) liveClients(p *members.Port, rules func([]string) []model.IngressRule, part func(model.IngressRule) string) members.LiveValue[[]string] {
	live, known := b.liveSources(p)
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
	return members.LiveValue[[]string]{Known: known, Value: is, Matches: func(v []string) bool { return members.SameSet(parts(rules(v)), is) }}
}
