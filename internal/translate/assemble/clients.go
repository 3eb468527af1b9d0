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

// errIPv6Only reports that all CIDRs of clients are IPv6, but the network load balancer has only IPv4 addresses.
var errIPv6Only = errors.New("all ranges are IPv6")

// clientBuilder builds the rules of the managed security group that admit clients.
type clientBuilder struct{ *Builder }

// ingressRules returns the rules that admit clients to a port, and reports members that disagree. ipv6 reports whether
// the load balancer has IPv6 addresses. managed is false if members name security groups. Then the caller does not use
// the rules.
func (b clientBuilder) ingressRules(p *members.Port, ipv6, managed bool) []model.IngressRule {
	if b.AdmitsNoClients {
		return nil
	}
	ranges := func(m *members.Member) settings.Opt[[]string] {
		o := settings.UnsetIfEmptyList(m.Set.InboundCIDRs)
		if b.Type == model.Network && !ipv6 && o.Set && !slices.ContainsFunc(o.Value, func(c string) bool { return !IsIPv6(c) }) {
			// The CIDRs are treated as invalid: it is better to keep the existing rules than to admit no clients.
			return settings.Opt[[]string]{Fault: errIPv6Only, Origin: o.Origin}
		}
		return o
	}
	prefixLists := func(m *members.Member) settings.Opt[[]string] { return settings.UnsetIfEmptyList(m.Set.PrefixLists) }
	cidrs := b.mergeClients(p, b.settingName("inbound-cidrs"), ranges, prefixLists, func() members.LiveValue[[]string] { return b.liveCIDRs(p, ipv6) })
	lists := b.mergeClients(p, b.settingName("security-group-prefix-lists"), prefixLists, ranges, func() members.LiveValue[[]string] { return b.livePrefixLists(p) })
	if len(cidrs.Value)+len(lists.Value) == 0 && !cidrs.RetainsObserved && !lists.RetainsObserved {
		if !slices.ContainsFunc(p.Members, func(m *members.Member) bool { return ranges(m).Check() == nil }) {
			// All settings are invalid, so the existing rules are held: this is better than to admit all clients.
			return nil
		}
		return portIngressRules(p, allClientRanges(), nil, ipv6)
	}
	out := portIngressRules(p, members.SortedUnique(cidrs.Value), members.SortedUnique(lists.Value), ipv6)
	if len(out) == 0 && managed && cidrs.Set && !cidrs.RetainsObserved {
		m := p.Members[0]
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldForObject(m.Ref, cidrs.Origin), Reason: finding.AnnotationInvalid,
			Message: fmt.Sprintf("port %d admits no clients, because all its ranges are IPv6 and the load balancer has only IPv4 addresses", p.Number),
			Fix:     "add an IPv4 range, or set " + b.settingName("ip-address-type") + " to dualstack",
		})
	}
	return out
}

// portIngressRules returns the rules that admit clients to a port with each of its protocols. If a member enables path
// MTU discovery, it also returns rules that admit the ICMP messages for it.
func portIngressRules(p *members.Port, cidrs, prefixLists []string, ipv6 bool) []model.IngressRule {
	var out []model.IngressRule
	for _, protocol := range protocolsOf(p) {
		out = append(out, ClientIngressRules(protocol, p.Number, cidrs, prefixLists, ipv6)...)
	}
	if !slices.ContainsFunc(p.Members, func(m *members.Member) bool { return m.Set.PathMTUDiscovery.Value == "on" }) {
		return out
	}
	for _, c := range cidrs {
		if ipv6 || !IsIPv6(c) {
			out = append(out, PathMTURule(c))
		}
	}
	return out
}

// protocolsOf returns the protocols of a port, in lower case as in security group rules.
func protocolsOf(p *members.Port) []string {
	var out []string
	for _, t := range transportProtocols(string(p.BaseProtocol)) {
		out = append(out, strings.ToLower(t))
	}
	return out
}

// mergeClients merges one of the two settings that name clients: CIDRs or prefix lists. For a member, get returns this
// setting and other returns the other one. current returns the value in AWS. If the value in AWS is empty, a member that
// sets only the other setting counts as a member that sets an empty list. Without this rule, the CIDRs of one member and the
// prefix lists of another would together admit more clients than each member sets.
func (b clientBuilder) mergeClients(p *members.Port, key string, get, other func(*members.Member) settings.Opt[[]string], current func() members.LiveValue[[]string]) members.MergedSetting[[]string] {
	mixed := slices.ContainsFunc(p.Members, func(m *members.Member) bool { return get(m).Set }) &&
		slices.ContainsFunc(p.Members, func(m *members.Member) bool { return !get(m).IsPresent() && other(m).Set })
	none := false
	if mixed && b.Live != nil {
		live := current()
		none = live.Known && len(live.Value) == 0
	}
	b.Stack.Contested = b.Stack.Contested || mixed
	return members.MergePortSetting(&b.Translation, p, key, func(m *members.Member) settings.Opt[[]string] {
		if o := get(m); o.IsPresent() || !none || !other(m).Set {
			return o
		}
		return settings.NewOpt([]string(nil), other(m).Origin)
	}, members.SameSet, current)
}

// liveClientRules returns the rules in AWS of the managed security group for a port. known is false if the existing load
// balancer has no managed security group, or no listener on the port.
func (b clientBuilder) liveClientRules(p *members.Port) (rules []model.IngressRule, known bool) {
	lb := b.LiveLoadBalancer()
	if lb.ListenerOnPort(p.Number) == nil {
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

// liveCIDRs returns the CIDRs that the managed security group in AWS admits to a port.
func (b clientBuilder) liveCIDRs(p *members.Port, ipv6 bool) members.LiveValue[[]string] {
	return b.liveClients(p, func(v []string) []model.IngressRule {
		return ClientIngressRules(protocolsOf(p)[0], p.Number, v, nil, ipv6)
	}, func(r model.IngressRule) string { return r.CIDR })
}

// livePrefixLists returns the prefix lists that the managed security group in AWS admits to a port.
func (b clientBuilder) livePrefixLists(p *members.Port) members.LiveValue[[]string] {
	return b.liveClients(p, func(v []string) []model.IngressRule {
		return ClientIngressRules(protocolsOf(p)[0], p.Number, nil, v, true)
	}, func(r model.IngressRule) string { return r.PrefixList })
}

func (b clientBuilder) liveClients(p *members.Port, rules func([]string) []model.IngressRule, part func(model.IngressRule) string) members.LiveValue[[]string] {
	live, known := b.liveClientRules(p)
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
