package dataplane

import (
	"net/netip"
	"slices"
	"strings"
)

// nameView has the nodes and target groups that determine the addresses of a DNS name. It is immutable.
type nameView struct {
	nodes []nodeName
	// zonal is set for the DNS name of a single node.
	zonal bool
	// groups are the target groups that a Network Load Balancer forwards to.
	groups    []*targetGroup
	crossZone bool
}

type nodeName struct {
	zone    string
	address netip.Addr // of this machine
	at      netip.Addr // in the emulated network
	ipv6    netip.Addr // in the emulated network; invalid if the node has none
}

// Resolve returns the addresses of this machine for the DNS name of a load balancer or accelerator, and false for an
// unknown name. It has the signature of resolver.Lookup. For a Network Load Balancer it omits nodes whose zone has
// too few healthy targets, unless this applies to all zones. For Application Load Balancers it returns all nodes,
// unlike AWS.
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

// healthy reports whether each target group with targets has enough healthy targets in the zone.
func (v nameView) healthy(zone string) bool {
	for _, g := range v.groups {
		view := g.view.Load()
		cross := view.mayCrossZones(receivingNode{zone: zone, crossZone: v.crossZone})
		healthy, usable, registered := 0, 0, 0
		for _, m := range view.members {
			if !m.inService() {
				continue
			}
			registered++
			if !m.isReachable(zone, cross) {
				continue
			}
			usable++
			if m.health() == StateHealthy {
				healthy++
			}
		}
		if registered > 0 && (healthy < max(view.attr.dnsHealthy, 1) || healthy*100 < view.attr.dnsHealthyPart*usable) {
			return false
		}
	}
	return true
}

// applyNames publishes the DNS names of a configuration, including the zonal names of Network Load Balancers.
func (p *Plane) applyNames(cfg Config) {
	names := map[string]nameView{}
	for _, lb := range cfg.LoadBalancers {
		if lb.DNSName == "" {
			continue
		}
		name := strings.ToLower(lb.DNSName)
		attr, _ := parseLBAttributes("", lb) // compile reports invalid attributes
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

// forwarded returns the target groups to which the listeners of a load balancer forward. It omits target groups with
// weight 0, which do not affect the health of zones.
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
