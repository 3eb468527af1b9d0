package dataplane

import (
	"net/netip"
	"slices"
)

// Accelerator is an accelerator with static addresses in front of load balancers, instances and Elastic IP addresses. Config
// does not contain disabled accelerators.
type Accelerator struct {
	ARN       string
	DNSNames  []string
	Addresses []StaticAddress
	Listeners []AcceleratorListener
}

// sourceAddress returns the address, with port 0, of this machine from which the accelerator connects over IPv4. It is
// invalid if the accelerator has no IPv4 address.
func (a Accelerator) sourceAddress() netip.AddrPort {
	for _, s := range a.Addresses {
		if s.Local.Is4() {
			return netip.AddrPortFrom(s.Local, 0)
		}
	}
	return netip.AddrPort{}
}

// StaticAddress is a static address of an accelerator.
type StaticAddress struct {
	Public netip.Addr
	// Local is the address of this machine that replaces Public. It is invalid if Public is an IPv6 address, whose sockets
	// are bound to free ports of ::1.
	Local netip.Addr
}

// AcceleratorListener is a listener of an accelerator: a protocol and port ranges.
type AcceleratorListener struct {
	ARN string
	// UDP is true for a UDP listener and false for a TCP listener.
	UDP   bool
	Ports []PortRange
	// ClientAffinity sends all flows of a client address to the same endpoint.
	ClientAffinity bool
	EndpointGroups []EndpointGroup // at most one for each region
}

// PortRange is a range of ports. It includes From and To.
type PortRange struct{ From, To uint16 }

// EndpointGroup contains the endpoints of an accelerator's listener in one region.
type EndpointGroup struct {
	ARN, Region string
	// TrafficDial is the percentage of the flows nearest to the region that the endpoint group gets. If the listener has
	// another endpoint group, that endpoint group gets all other flows.
	TrafficDial float64
	// PortOverrides maps a port of the listener to the port of the endpoints, where the two differ.
	PortOverrides map[uint16]uint16
	Endpoints     []AcceleratorEndpoint
}

// Distances determine which regions are near to a client.
type Distances struct {
	// DefaultRegion is the nearest region of clients that no range contains.
	DefaultRegion string
	// Ranges maps client addresses to regions. The first range that contains a client determines its nearest regions.
	Ranges []ClientRange
}

// ClientRange is a range of client addresses with the regions that are nearest to it, the nearest first.
type ClientRange struct {
	Clients netip.Prefix
	Regions []string
}

// OrderRegions returns regions sorted by their distance to a client. Regions without a known distance come last, sorted by
// name.
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
	// PreserveClientIP enables client IP preservation: the endpoint sees the address of the client, not an address of the
	// accelerator.
	PreserveClientIP bool
	// LoadBalancer is the DNS name of a load balancer in Config. It is empty for an endpoint with an Address.
	LoadBalancer string
	// Address is the address of an instance, or the private address with the Elastic IP address of the endpoint. It is
	// invalid for a load balancer, and if the Elastic IP address is not associated.
	Address netip.Addr
}
