package dataplane

import (
	"net/netip"
	"slices"
	"strings"
)

// dnsNameView contains the nodes and the target groups that determine to which addresses a DNS name resolves. It is
// immutable.
type dnsNameView struct {
	nodes []nodeAddresses
	// isZonal is true for the DNS name of a single node.
	isZonal bool
	// targetGroups are the target groups to which a Network Load Balancer forwards. It is empty for other DNS names.
	targetGroups []*targetGroup
	crossZone    bool
}

type nodeAddresses struct {
	zone         string
	localAddress netip.Addr // of this machine
	vpcAddress   netip.Addr // in the emulated network
	ipv6         netip.Addr // in the emulated network; invalid if the node has none
}

// Resolve returns the addresses of this machine for the DNS name of a load balancer or accelerator, or false if the name is
// unknown. It has the signature of resolver.Lookup. For a Network Load Balancer, it omits nodes in zones with too few
// healthy targets, unless all zones have too few. For an Application Load Balancer, it returns all nodes, unlike AWS.
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
		all = append(all, n.localAddress)
		if view.isZonal || view.isZoneHealthy(n.zone) {
			healthy = append(healthy, n.localAddress)
		}
	}
	if len(healthy) == 0 {
		return all, true
	}
	return healthy, true
}

// isZoneHealthy reports whether each target group that has targets has enough healthy targets for nodes in the zone.
func (v dnsNameView) isZoneHealthy(zone string) bool {
	for _, g := range v.targetGroups {
		view := g.view.Load()
		cross := view.mayCrossZones(receivingNode{zone: zone, crossZone: v.crossZone})
		healthy, usable, registered := 0, 0, 0
		for _, m := range view.members {
			if !m.isInService() {
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
		if registered > 0 && (healthy < max(view.attr.dnsMinHealthy, 1) || healthy*100 < view.attr.dnsMinHealthyPercent*usable) {
			return false
		}
	}
	return true
}

// applyNames publishes the DNS names in a configuration and the zonal names of Network Load Balancers.
func (p *Plane) applyNames(cfg Config) {
	names := map[string]dnsNameView{}
	for _, lb := range cfg.LoadBalancers {
		if lb.DNSName == "" {
			continue
		}
		name := strings.ToLower(lb.DNSName)
		attr, _ := parseLBAttributes("", lb) // compile reports invalid attributes
		view := dnsNameView{crossZone: attr.crossZone}
		for _, n := range lb.Nodes {
			node := nodeAddresses{zone: n.Zone, localAddress: p.opt.BindAddress(netip.AddrPortFrom(n.Address, 0)).Addr(), vpcAddress: n.Address}
			if lb.IsNetwork {
				node.ipv6 = n.IPv6
			}
			view.nodes = append(view.nodes, node)
			if lb.IsNetwork {
				names[n.Zone+"."+name] = dnsNameView{nodes: []nodeAddresses{node}, isZonal: true}
			}
		}
		if lb.IsNetwork {
			view.targetGroups = p.forwardedTargetGroups(lb)
		}
		names[name] = view
	}
	for _, a := range cfg.Accelerators {
		view := dnsNameView{}
		for _, s := range a.Addresses {
			if s.Local.Is4() {
				view.nodes = append(view.nodes, nodeAddresses{localAddress: p.opt.BindAddress(netip.AddrPortFrom(s.Local, 0)).Addr()})
			}
		}
		for _, name := range a.DNSNames {
			names[strings.ToLower(name)] = view
		}
	}
	p.names.Store(&names)
}

// forwardedTargetGroups returns the target groups to which the listeners of a Network Load Balancer forward. It omits target
// groups with weight 0, which do not affect the health of zones.
func (p *Plane) forwardedTargetGroups(lb LoadBalancer) []*targetGroup {
	var out []*targetGroup
	for _, l := range lb.Listeners {
		f, ok := l.DefaultRule.Action.(Forward)
		if !ok {
			continue
		}
		for _, w := range f.TargetGroups {
			if g := p.targetGroups[w.ARN]; g != nil && w.Weight > 0 && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	return out
}
