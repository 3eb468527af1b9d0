package dataplane

import (
	"net/netip"
	"strings"
)

// Resolve returns the addresses of this machine at which a load balancer is
// reached by its DNS name, and whether the name is one. It has the form of
// resolver.Lookup. AWS leaves nodes out whose zone has no healthy target; here
// all are given.
func (p *Plane) Resolve(name string) ([]netip.Addr, bool) {
	names := p.names.Load()
	if names == nil {
		return nil, false
	}
	name = strings.TrimPrefix(strings.ToLower(strings.TrimSuffix(name, ".")), "dualstack.")
	addresses, ok := (*names)[name]
	return addresses, ok
}

// applyNames publishes the names of a configuration.
func (p *Plane) applyNames(cfg Config) {
	names := map[string][]netip.Addr{}
	for _, lb := range cfg.LoadBalancers {
		if lb.DNSName == "" {
			continue
		}
		addresses := []netip.Addr{}
		for _, n := range lb.Nodes {
			addresses = append(addresses, p.opt.Bind(netip.AddrPortFrom(n.Address, 0)).Addr())
		}
		names[strings.ToLower(lb.DNSName)] = addresses
	}
	p.names.Store(&names)
}
