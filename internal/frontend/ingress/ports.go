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
}

func (p *port) listens() settings.ListenPort {
	return settings.ListenPort{Port: p.number, TLS: p.tls}
}

// all are the members with rules to place on the port, in group order.
func (p *port) all(order []*member) []*member {
	var out []*member
	for _, m := range order {
		if slices.Contains(p.members, m) || slices.Contains(p.outvoted, m) {
			out = append(out, m)
		}
	}
	return out
}

// mergePorts unites the members' ports; the first member decides the protocol.
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
				continue
			}
			p.outvoted = append(p.outvoted, m)
			t.found.Add(finding.Finding{
				Object: m.ref, Field: settings.Prefix + "listen-ports", Reason: finding.ListenerConflict,
				Message: fmt.Sprintf("port %d is %s for %s, which comes first in the group, so its rules for %s are held", lp.Port, p.listens().Protocol(), p.members[0].ref, lp.Protocol()),
				Fix:     "use the same protocol or another port", Blocks: finding.BlocksListener,
			})
		}
	}
	slices.SortFunc(t.ports, func(a, b *port) int { return cmp.Compare(a.number, b.number) })
}

// sources are the clients that a managed security group admits to a port. Where groups are given
// the answer is not used, but what the members disagree on is still worth saying. It is unsure where
// members cannot be read that may decide.
func (t *translation) sources(p *port, ipv6, managed bool) (rules []model.IngressRule, unsure bool) {
	cidrs, unsure := guardedPort(t, p, "inbound-cidrs", func(m *member) settings.Opt[[]string] { return some(m.set.InboundCIDRs) }, sameSet)
	lists, unsureLists := guardedPort(t, p, "security-group-prefix-lists", func(m *member) settings.Opt[[]string] { return some(m.set.PrefixLists) }, sameSet)
	unsure = unsure || unsureLists
	if !cidrs.Set && !lists.Set {
		if slices.ContainsFunc(p.members, func(m *member) bool { return m.set.InboundCIDRs.Check() != nil }) {
			// To open the port to everybody would be worse than to change nothing.
			return nil, unsure
		}
		return assemble.Sources(p.number, assemble.Everybody(), nil, ipv6), unsure
	}
	out := assemble.Sources(p.number, sorted(cidrs.Value), sorted(lists.Value), ipv6)
	if len(out) == 0 && managed && cidrs.Set {
		m := p.members[0]
		t.found.Add(finding.Finding{
			Object: m.ref, Field: fieldOn(m.ref, cidrs.Origin), Reason: finding.AnnotationInvalid,
			Message: fmt.Sprintf("port %d admits nobody, since all its ranges are IPv6 and the load balancer has IPv4 only", p.number),
			Fix:     "add an IPv4 range, or set ip-address-type to dualstack",
		})
	}
	return out, unsure
}

// some takes an empty list for none.
func some(o settings.Opt[[]string]) settings.Opt[[]string] {
	if o.Set && len(o.Value) == 0 {
		return settings.Opt[[]string]{}
	}
	return o
}

func sorted(s []string) []string {
	out := slices.Clone(s)
	slices.Sort(out)
	return slices.Compact(out)
}

func sameSet(a, b []string) bool { return slices.Equal(sorted(a), sorted(b)) }

// perPort merges a setting that the members on a port must agree on.
func perPort[T any](t *translation, p *port, key string, get func(*member) settings.Opt[T], same func(a, b T) bool) settings.Opt[T] {
	return agree(t, p.members, fmt.Sprintf("%s on port %d", key, p.number), get, same)
}

// agree returns the first member's value; members that say something else get a finding.
func agree[T any](t *translation, members []*member, what string, get func(*member) settings.Opt[T], same func(a, b T) bool) settings.Opt[T] {
	var won settings.Opt[T]
	var winner *member
	for _, m := range members {
		o := get(m)
		switch {
		case !o.Set:
		case winner == nil:
			won, winner = o, m
		case !same(won.Value, o.Value):
			t.conflict(m, o.Origin, finding.AnnotationConflict, fmt.Sprintf("%s: %v (not %v)", what, o.Value, won.Value), winner.ref)
		}
	}
	return won
}

// agreeKeys unites maps; of different values for a key the first member's stays. Keys of decided
// are settled elsewhere and cannot conflict.
func agreeKeys(t *translation, members []*member, what string, get func(*member) settings.Opt[map[string]string], decided map[string]string) map[string]string {
	out, winner := map[string]string{}, map[string]*member{}
	for _, m := range members {
		o := get(m)
		for _, k := range sortedKeys(o.Value) {
			v := o.Value[k]
			_, settled := decided[k]
			switch {
			case winner[k] == nil:
				out[k], winner[k] = v, m
			case out[k] != v && !settled:
				t.conflict(m, o.Origin, finding.AnnotationConflict, fmt.Sprintf("%s: %s=%s (not %s)", what, k, v, out[k]), winner[k].ref)
			}
		}
	}
	return assemble.Overlay(out, decided)
}

// sslRedirect is the HTTPS port that HTTP listeners redirect to. One that is not an HTTPS
// listener of the group holds its member, whose rules must not be served in the clear instead.
func (t *translation) sslRedirect() (to settings.Opt[int32], unsure bool) {
	wishes := map[*member]settings.Opt[int32]{}
	for _, m := range t.members {
		o := m.set.SSLRedirect
		switch {
		case !o.Set || slices.ContainsFunc(t.ports, func(p *port) bool { return p.tls && p.number == o.Value }):
		case m.lost && t.claimed(m):
			// Its HTTPS listener may well be live; then its redirect is, too.
		case m.lost:
			o = settings.Opt[int32]{}
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
	return guarded(t, "ssl-redirect", func(m *member) settings.Opt[int32] { return wishes[m] }, equal[int32])
}

func equal[T comparable](a, b T) bool { return a == b }
