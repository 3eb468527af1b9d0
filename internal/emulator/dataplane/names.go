package dataplane

import (
	"net/netip"
	"slices"
	"strings"
)

// nameView is what the DNS name of a load balancer depends on. It is immutable.
type nameView struct {
	nodes []nodeName
	// zonal is set for the name of one node.
	zonal bool
	// groups are the target groups that a Network Load Balancer forwards to.
	groups    []*targetGroup
	crossZone bool
}

type nodeName struct {
	zone    string
	address netip.Addr // of this machine
	at      netip.Addr // in the emulated network
	ipv6    netip.Addr // likewise, if it has one that is served
}

// Resolve returns the addresses of this machine at which a load balancer is reached by
// its DNS name, and whether the name is one. It has the form of resolver.Lookup. A
// Network Load Balancer omits nodes whose zone has too few healthy targets, unless that
// is so in all zones; AWS does the same for Application Load Balancers, of which all
// nodes are given here.
func (p *Plane) Resolve(name string) ([]netip.Addr, bool) {
	names := p.names.Load()
	if names == nil {
		return nil, false
	}
	name = strings.TrimPrefix(strings.ToLower(strings.TrimSuffix(name, ".")), "dualstack.")
	view, ok := (*names)[name]
	if !ok {
		return nil, false
	}
	all, healthy := []netip.Addr{}, []netip.Addr{}
	for _, n := range view.nodes {
		all = append(all, n.address)
		if view.zonal || view.healthy(n.zone) {
			healthy = append(healthy, n.address)
		}
	}
	if len(healthy) == 0 {
		return all, true
	}
	return healthy, true
}

// healthy reports whether the zone has enough healthy targets in each target group that
// has targets at all.
func (v nameView) healthy(zone string) bool {
	for _, g := range v.groups {
		view := g.view.Load()
		cross := view.crosses(place{zone: zone, crossZone: v.crossZone})
		good, here, registered := 0, 0, 0
		for _, m := range view.members {
			if !m.inService() {
				continue
			}
			registered++
			if !m.serves(zone, cross) {
				continue
			}
			here++
			if m.health() == StateHealthy {
				good++
			}
		}
		if registered > 0 && (good < max(view.attr.dnsHealthy, 1) || good*100 < view.attr.dnsHealthyPart*here) {
			return false
		}
	}
	return true
}

// applyNames publishes the names of a configuration, those of single zones
// included, which only Network Load Balancers have.
func (p *Plane) applyNames(cfg Config) {
	names := map[string]nameView{}
	for _, lb := range cfg.LoadBalancers {
		if lb.DNSName == "" {
			continue
		}
		name := strings.ToLower(lb.DNSName)
		attr, _ := parseLBAttributes("", lb) // faults are reported where listeners are compiled
		view := nameView{crossZone: attr.crossZone}
		for _, n := range lb.Nodes {
			node := nodeName{zone: n.Zone, address: p.opt.Bind(netip.AddrPortFrom(n.Address, 0)).Addr(), at: n.Address}
			if lb.Network {
				node.ipv6 = n.IPv6
			}
			view.nodes = append(view.nodes, node)
			if lb.Network {
				names[n.Zone+"."+name] = nameView{nodes: []nodeName{node}, zonal: true}
			}
		}
		if lb.Network {
			view.groups = p.forwarded(lb)
		}
		names[name] = view
	}
	for _, a := range cfg.Accelerators {
		view := nameView{}
		for _, s := range a.Addresses {
			if s.Local.Is4() {
				view.nodes = append(view.nodes, nodeName{address: p.opt.Bind(netip.AddrPortFrom(s.Local, 0)).Addr()})
			}
		}
		for _, name := range a.DNSNames {
			names[strings.ToLower(name)] = view
		}
	}
	p.names.Store(&names)
}

// forwarded returns the target groups that the listeners of a load balancer forward to. One with
// weight 0 gets nothing, so its targets make no zone unhealthy.
func (p *Plane) forwarded(lb LoadBalancer) []*targetGroup {
	var out []*targetGroup
	for _, l := range lb.Listeners {
		f, ok := l.Default.Then.(Forward)
		if !ok {
			continue
		}
		for _, w := range f.Groups {
			if g := p.groups[w.ARN]; g != nil && w.Weight > 0 && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	return out
}
