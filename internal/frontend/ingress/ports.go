package ingress

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// port is one listener port with the members that listen on it, in group order. Those that want
// another protocol are outvoted: their rules are held.
type port struct {
	number   int32
	tls      bool
	members  []*member
	outvoted []*member
	// held reports that all want another protocol than the live one, with which somebody is served whose
	// class cannot be read.
	held bool
}

func (p *port) listens() settings.ListenPort {
	return settings.ListenPort{Port: p.number, TLS: p.tls}
}

// all are the members with rules to place on the port, in group order.
func (p *port) all(order []*member) []*member {
	if len(p.outvoted) == 0 {
		return p.members
	}
	on := map[*member]bool{}
	for _, m := range append(slices.Clone(p.members), p.outvoted...) {
		on[m] = true
	}
	return slices.DeleteFunc(slices.Clone(order), func(m *member) bool { return !on[m] })
}

// mergePorts unites the members' ports. Where they disagree on the protocol, the live one stays as long
// as a member asks for it; otherwise the first member decides.
func (t *translation) mergePorts() {
	byNumber := map[int32]*port{}
	for _, m := range t.members {
		for _, lp := range m.ports {
			p := byNumber[lp.Port]
			if p == nil {
				p = &port{number: lp.Port, tls: lp.TLS}
				byNumber[lp.Port] = p
				t.ports = append(t.ports, p)
			}
			if p.tls == lp.TLS {
				p.members = append(p.members, m)
			} else {
				p.outvoted = append(p.outvoted, m)
			}
		}
	}
	slices.SortFunc(t.ports, func(a, b *port) int { return cmp.Compare(a.number, b.number) })
	for _, p := range t.ports {
		t.settleProtocol(p)
	}
}

// settleProtocol chooses the protocol of a port on which members disagree, and tells those that lose.
func (t *translation) settleProtocol(p *port) {
	same, known := t.liveProtocol(p.listens())
	absent := t.absentFrom(p.number)
	if len(p.outvoted) == 0 && (absent == nil || same) {
		return
	}
	t.stack.Contested = true
	why, losers := "comes first in group order", p.outvoted
	switch {
	case known && !same && len(p.outvoted) == 0:
		why, losers, p.tls, p.held = "has what is live", p.members, !p.tls, true
	case known && !same:
		why, p.tls, p.members, p.outvoted = "has what is live", !p.tls, p.outvoted, p.members
		losers = p.outvoted
	case known:
		why = "has what is live"
	}
	winner := absent
	if !p.held {
		winner = p.members[0]
	}
	for _, m := range losers {
		lp := settings.ListenPort{Port: p.number, TLS: !p.tls}
		t.found.Add(finding.Finding{
			Object: m.ref, Field: settings.Prefix + "listen-ports", Reason: finding.ListenerConflict,
			Message: fmt.Sprintf("port %d is %s for %s, which %s; the rules of this Ingress for %s are held", p.number, p.listens().Protocol(), winner.ref, why, lp.Protocol()),
			Fix:     "use the same protocol or another port", Blocks: finding.BlocksListener,
		})
	}
}

// sources are the clients that a managed security group admits to a port. Where groups are given
// the answer is not used, but what the members disagree on is still worth saying.
func (t *translation) sources(p *port, ipv6, managed bool) []model.IngressRule {
	ranges := func(m *member) settings.Opt[[]string] { return some(m.set.InboundCIDRs) }
	prefixLists := func(m *member) settings.Opt[[]string] { return some(m.set.PrefixLists) }
	cidrs := t.clients(p, "inbound-cidrs", ranges, prefixLists, func() incumbent[[]string] { return t.liveCIDRs(p.number, ipv6) })
	lists := t.clients(p, "security-group-prefix-lists", prefixLists, ranges, func() incumbent[[]string] { return t.livePrefixLists(p.number) })
	if len(cidrs.Value)+len(lists.Value) == 0 && !cidrs.kept && !lists.kept {
		if !slices.ContainsFunc(p.members, func(m *member) bool { return m.set.InboundCIDRs.Check() == nil }) {
			// Everything on the port is held, and to open it to everybody would be worse than to wait.
			return nil
		}
		return assemble.Sources(p.number, assemble.Everybody(), nil, ipv6)
	}
	out := assemble.Sources(p.number, sorted(cidrs.Value), sorted(lists.Value), ipv6)
	if len(out) == 0 && managed && cidrs.Set && !cidrs.kept {
		m := p.members[0]
		t.found.Add(finding.Finding{
			Object: m.ref, Field: fieldOn(m.ref, cidrs.Origin), Reason: finding.AnnotationInvalid,
			Message: fmt.Sprintf("port %d admits nobody, since all its ranges are IPv6 and the load balancer has IPv4 only", p.number),
			Fix:     "add an IPv4 range, or set ip-address-type to dualstack",
		})
	}
	return out
}

// clients merges one of the two ways to name clients. Who only uses the other way asks for none of this
// one, and where none is live, that stays: both together admit more than either.
func (t *translation) clients(p *port, key string, get, other func(*member) settings.Opt[[]string], current func() incumbent[[]string]) merged[[]string] {
	mixed := slices.ContainsFunc(p.members, func(m *member) bool { return get(m).Set }) &&
		slices.ContainsFunc(p.members, func(m *member) bool { return !get(m).Present() && other(m).Set })
	none := false
	if mixed && t.live != nil {
		live := current()
		none = live.known && len(live.value) == 0
	}
	t.stack.Contested = t.stack.Contested || mixed
	return agreeOn(t, p, key, func(m *member) settings.Opt[[]string] {
		if o := get(m); o.Present() || !none || !other(m).Set {
			return o
		}
		return settings.Of([]string(nil), other(m).Origin)
	}, sameSet, current)
}

// sslRedirect is the HTTPS port that HTTP listeners redirect to. One that is not an HTTPS listener of
// the group holds its member, whose rules must not be served in the clear instead.
func (t *translation) sslRedirect() settings.Opt[int32] {
	wishes := map[*member]settings.Opt[int32]{}
	for _, m := range t.members {
		o := m.set.SSLRedirect
		switch {
		case !o.Set || slices.ContainsFunc(t.ports, func(p *port) bool { return p.tls && p.number == o.Value }):
		case m.lost:
			// Its ports are not known. Where it serves on a live HTTPS listener, its redirect is live too.
			if l := listenerOf(t.liveALB(), o.Value); l == nil || l.Protocol != "HTTPS" || !t.serves(m) {
				o = settings.Opt[int32]{}
			}
		default:
			err := fmt.Errorf("port %d is not an HTTPS listener of the group", o.Value)
			m.blocked = true
			t.found.Add(finding.Finding{
				Object: m.ref, Field: fieldOn(m.ref, o.Origin), Reason: finding.RedirectPortInvalid,
				Message: err.Error(), Fix: "add the port to listen-ports, or correct ssl-redirect", Blocks: finding.BlocksMember,
			})
			o = settings.Opt[int32]{Fault: err, Origin: o.Origin}
		}
		wishes[m] = o
	}
	return agree(t, t.members, "ssl-redirect", func(m *member) settings.Opt[int32] { return wishes[m] }, equal[int32], t.liveRedirect).Opt
}
