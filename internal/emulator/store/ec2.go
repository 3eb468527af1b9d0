package store

import (
	"net/netip"
	"time"
)

// VPC is a virtual network.
type VPC struct {
	ID        string
	CIDRs     []CIDRAssociation // the first is the primary block
	IPv6      []CIDRAssociation
	IsDefault bool
	Tenancy   string
	// DNSSupport and DNSHostnames are the attributes enableDnsSupport and enableDnsHostnames.
	DNSSupport, DNSHostnames bool
}

// CIDRAssociation associates an address block with a VPC or subnet.
type CIDRAssociation struct {
	ID    string
	Block netip.Prefix
}

// Contains reports whether a block lies within the VPC's blocks.
func (v *VPC) Contains(block netip.Prefix) bool {
	for _, list := range [][]CIDRAssociation{v.CIDRs, v.IPv6} {
		for _, a := range list {
			if a.Block.Bits() <= block.Bits() && a.Block.Contains(block.Addr()) {
				return true
			}
		}
	}
	return false
}

// Subnet is a part of a VPC in one zone.
type Subnet struct {
	ID, VPCID  string
	Zone       string
	ZoneID     string
	CIDR       netip.Prefix // invalid for an IPv6-only subnet
	IPv6       []CIDRAssociation
	PublicIP   bool // MapPublicIpOnLaunch
	AssignIPv6 bool // AssignIpv6AddressOnCreation
	IsDefault  bool // default subnet of its zone
	OutpostARN string
}

// IsIPv6Native reports whether the subnet has no IPv4 block.
func (s *Subnet) IsIPv6Native() bool { return !s.CIDR.IsValid() }

// SecurityGroup is a set of rules on ENIs.
type SecurityGroup struct {
	ID, VPCID         string
	Name, Description string
	Ingress, Egress   []SecurityGroupRule
	Created           time.Time
}

// SecurityGroupRule allows one protocol and port range for one peer.
type SecurityGroupRule struct {
	ID       string
	Protocol string // tcp, udp, icmp, icmpv6, a number or -1
	// From and To are ports, or ICMP type and code; nil for protocols without
	// them.
	From, To    *int32
	Peer        Peer
	Description string
	// The tags of the rule are in Partition.Tags.
}

// Peer is the source or destination in a rule: exactly one of CIDR, PrefixList and Group is set.
type Peer struct {
	CIDR       netip.Prefix // IPv4 or IPv6
	PrefixList string
	Group      string
	GroupOwner string // account of Group
}

// Instance is a virtual machine.
type Instance struct {
	ID, ReservationID string
	Type, ImageID     string
	SubnetID, VPCID   string
	Zone              string
	KeyName           string
	PrivateDNS        string
	Launched          time.Time
	// From is the state that began at Since. Next is the state that follows after Config.Delays.Instance, empty if
	// there is none.
	From, Next   string
	Since        time.Time
	HTTPTokens   string // metadata option: optional or required
	HopLimit     int32
	Interfaces   []string // in order of device index
	Monitoring   bool
	ClientToken  string
	LaunchIndex  int32
	TerminatedAt time.Time
}

// NetworkInterface is an ENI of an instance, or of a service such as a load balancer.
type NetworkInterface struct {
	ID, SubnetID, VPCID string
	Zone                string
	Description         string
	Type                string // interface, network_load_balancer, branch, …
	MAC                 string
	Groups              []string
	Private             []PrivateAddress // the primary address first
	IPv6                []netip.Addr
	IPv4Prefixes        []netip.Prefix
	IPv6Prefixes        []netip.Prefix
	RequesterID         string
	RequesterManaged    bool
	Owner               string
	SourceDestCheck     bool
	Attachment          *Attachment
	Created             time.Time
	// Gone is the time when a lingering ENI disappears; zero for an ENI in use.
	Gone time.Time
}

// PrivateAddress is an IPv4 address of an ENI.
type PrivateAddress struct {
	Addr    netip.Addr
	Primary bool
}

// Attachment attaches an ENI to an instance or to a service.
type Attachment struct {
	ID            string
	InstanceID    string // empty if not an instance of this account
	InstanceOwner string
	DeviceIndex   int32
	AttachTime    time.Time
	DeleteOnEnd   bool
}

// RouteTable is a route table of a VPC.
type RouteTable struct {
	ID, VPCID    string
	Routes       []Route
	Associations []RouteTableAssociation
}

// Route is a route of a route table.
type Route struct {
	Destination netip.Prefix
	PrefixList  string // destination instead of a block
	// Exactly one of the targets is set; Gateway may be "local".
	Gateway, NATGateway, Interface, Peering, TransitGateway, EgressOnly string
	Origin                                                              string
}

// RouteTableAssociation associates a route table with a subnet, or makes it the main route table.
type RouteTableAssociation struct {
	ID, SubnetID string
	Main         bool
}

// InternetGateway is an internet gateway.
type InternetGateway struct {
	ID    string
	VPCID string // empty while detached
}

// Address is an elastic IP.
type Address struct {
	AllocationID  string
	PublicIP      netip.Addr
	AssociationID string // empty while free
	InterfaceID   string
	PrivateIP     netip.Addr
	ServiceOwned  bool // associated by a service such as a load balancer
}

// PrefixList is a named set of blocks.
type PrefixList struct {
	ID, Name   string
	Family     string // IPv4 or IPv6
	MaxEntries int32
	Version    int64
	Owner      string // account, or AWS
	Entries    []PrefixListEntry
}

// PrefixListEntry is a block of a prefix list.
type PrefixListEntry struct {
	Block       netip.Prefix
	Description string
}

// IPAMPool is a pool of addresses. The emulator does not allocate addresses from it.
type IPAMPool struct {
	ID, ScopeID string
	Family      string
	Description string
	Locale      string
	CIDRs       []netip.Prefix
}

// CoIPPool is a pool of customer-owned addresses on an Outpost.
type CoIPPool struct {
	ID           string
	RouteTableID string
	CIDRs        []netip.Prefix
}

// Zone is an availability, local or wavelength zone.
type Zone struct {
	Name, ID    string
	Type        string // availability-zone, local-zone, wavelength-zone
	Group       string
	BorderGroup string
	Parent      string // parent zone of a local or wavelength zone
	OptIn       string // opt-in-not-required, opted-in, not-opted-in
	State       string // available, impaired, unavailable
}

// ZoneByName returns the zone with a name, nil if there is none.
func (p *Partition) ZoneByName(name string) *Zone {
	for _, z := range p.Zones {
		if z.Name == name {
			return z
		}
	}
	return nil
}

// CIDR returns the rule's block if it is of the given family, else "".
func (r SecurityGroupRule) CIDR(v4 bool) string {
	if r.Peer.CIDR.IsValid() && r.Peer.CIDR.Addr().Is4() == v4 {
		return r.Peer.CIDR.String()
	}
	return ""
}
