package dataplane

import (
	"net/netip"
	"slices"
)

// Accelerator is an accelerator with static addresses in front of load balancers, instances and elastic IPs. A disabled
// accelerator is left out of the configuration.
type Accelerator struct {
	ARN       string
	DNSNames  []string
	Addresses []StaticAddress
	Listeners []AcceleratorListener
}

// sourceAddress returns the address of this machine from which the accelerator sends packets over IPv4.
func (a Accelerator) sourceAddress() netip.AddrPort {
	for _, s := range a.Addresses {
		if s.Local.Is4() {
			return netip.AddrPortFrom(s.Local, 0)
		}
	}
	return netip.AddrPort{}
}

// StaticAddress is an address of an accelerator.
type StaticAddress struct {
	Public netip.Addr
	// Local is the address of this machine that replaces it. It is invalid for IPv6, whose sockets are bound to free
	// ports of ::1.
	Local netip.Addr
}

// AcceleratorListener is a set of ports of an accelerator.
type AcceleratorListener struct {
	ARN string
	// UDP is set for a UDP listener; otherwise the protocol is TCP.
	UDP   bool
	Ports []PortRange
	// ClientAffinity makes all flows of a client address go to the same endpoint.
	ClientAffinity bool
	EndpointGroups []EndpointGroup // at most one for each region
}

// PortRange is a range of ports, both ends included.
type PortRange struct{ From, To uint16 }

// EndpointGroup is the part of an accelerator's listener in one region.
type EndpointGroup struct {
	ARN, Region string
	// TrafficDial is the traffic dial: the percentage of the flows nearest to the region that stay in the endpoint group.
	TrafficDial float64
	// PortOverrides maps ports of the listener to ports of endpoints, where they differ.
	PortOverrides map[uint16]uint16
	Endpoints     []AcceleratorEndpoint
}

// Distances determine which regions are near to a client.
type Distances struct {
	// DefaultRegion is the nearest region for clients in no range.
	DefaultRegion string
	// Ranges has ranges of client addresses. The first range that contains a client determines its regions.
	Ranges []ClientRange
}

// ClientRange is a range of clients with the regions that are nearest to it, the nearest first.
type ClientRange struct {
	Clients netip.Prefix
	Regions []string
}

// OrderRegions sorts regions by their distance to a client. Regions without a known distance follow, sorted by name.
func (d Distances) OrderRegions(client netip.Addr, regions []string) []string {
	near := []string{d.DefaultRegion}
	for _, r := range d.Ranges {
		if r.Clients.Contains(client) {
			near = r.Regions
			break
		}
	}
	out := []string{}
	for _, r := range slices.Concat(near, slices.Sorted(slices.Values(regions))) {
		if slices.Contains(regions, r) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// AcceleratorEndpoint is an endpoint of an endpoint group.
type AcceleratorEndpoint struct {
	ID        string
	Weight    int
	IsHealthy bool
	// PreserveClientIP enables client IP preservation: the endpoint sees the address of the client instead of an
	// address of the accelerator.
	PreserveClientIP bool
	// LoadBalancer is the DNS name of a load balancer of the configuration.
	LoadBalancer string
	// Address is the address of an instance, or the address behind an elastic IP. It is used instead of
	// LoadBalancer. It is invalid if no instance has the elastic IP.
	Address netip.Addr
}
