package store

import (
	"net/netip"
	"time"
)

// VPC is a virtual network.
type VPC struct {
	ID        string
	CIDRs     []CIDRAssociation // the first one is the primary block
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

// Contains reports whether a block is within a block of the VPC.
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

// Subnet is a subnet of a VPC, in one Availability Zone.
type Subnet struct {
	ID, VPCID  string
	Zone       string
	ZoneID     string
	CIDR       netip.Prefix // the zero Prefix for an IPv6-only subnet
	IPv6       []CIDRAssociation
	PublicIP   bool // MapPublicIpOnLaunch
	AssignIPv6 bool // AssignIpv6AddressOnCreation
	IsDefault  bool // default subnet of its zone
	OutpostARN string
}

// IsIPv6Native reports whether the subnet has no IPv4 block.
func (s *Subnet) IsIPv6Native() bool { return !s.CIDR.IsValid() }

// SecurityGroup is a security group with its rules.
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
	// From and To are ports, or an ICMP type and code. They are nil for protocols that have neither.
	From, To    *int32
	Peer        Peer
	Description string
	// The tags of the rule are in Partition.Tags.
}

// Peer is the source or the destination of a rule. Exactly one of CIDR, PrefixList and Group is set.
type Peer struct {
	CIDR       netip.Prefix // IPv4 or IPv6
	PrefixList string
	Group      string
	GroupOwner string // account of the security group
}

// Instance is an EC2 instance.
type Instance struct {
	ID, ReservationID string
	Type, ImageID     string
	SubnetID, VPCID   string
	Zone              string
	KeyName           string
	PrivateDNS        string
	Launched          time.Time
	// From is the state of the instance since Since. Next is the state that replaces it after Config.Delays.Instance, or ""
	// if the state does not change.
	From, Next   string
	Since        time.Time
	HTTPEndpoint string // metadata option: "enabled" or "disabled"; empty means enabled
	HTTPTokens   string // metadata option: "optional" or "required"
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
	// RemoveAt is the time at which a deleted ENI is removed. It is zero for an ENI that is not deleted.
	RemoveAt time.Time
}

// PrivateAddress is an IPv4 address of an ENI.
type PrivateAddress struct {
	Addr    netip.Addr
	Primary bool
}

// Attachment attaches an ENI to an instance or to a service.
type Attachment struct {
	ID            string
	InstanceID    string // "" if the owner is a service
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
	PrefixList  string // the destination, if it is not a CIDR block
	// The target of the route. Exactly one of these fields is set. Gateway may be "local".
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
	VPCID string // "" if it is not attached
}

// Address is an Elastic IP address.
type Address struct {
	AllocationID  string
	PublicIP      netip.Addr
	AssociationID string // "" if the address is not associated
	InterfaceID   string
	PrivateIP     netip.Addr
	ServiceOwned  bool // associated by a service such as a load balancer
}

// PrefixList is a managed prefix list.
type PrefixList struct {
	ID, Name   string
	Family     string // IPv4 or IPv6
	MaxEntries int32
	Version    int64
	Owner      string // account ID, or "AWS"
	Entries    []PrefixListEntry
}

// PrefixListEntry is a block of a prefix list.
type PrefixListEntry struct {
	Block       netip.Prefix
	Description string
}

// IPAMPool is an IPAM pool of addresses. The emulator does not allocate addresses from it.
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

// Zone is an Availability Zone, a Local Zone or a Wavelength Zone.
type Zone struct {
	Name, ID    string
	Type        string // availability-zone, local-zone, wavelength-zone
	Group       string
	BorderGroup string
	Parent      string // parent zone of a Local Zone or a Wavelength Zone
	OptIn       string // opt-in-not-required, opted-in, not-opted-in
	State       string // available, impaired, unavailable
}

// ZoneByName returns the zone with a name, or nil if there is none.
func (p *Partition) ZoneByName(name string) *Zone {
	for _, z := range p.Zones {
		if z.Name == name {
			return z
		}
	}
	return nil
}

// CIDR returns the IPv4 block of the rule if v4 is true, and its IPv6 block if v4 is false. It returns "" if the rule has
// no such block.
func (r SecurityGroupRule) CIDR(v4 bool) string {
	if r.Peer.CIDR.IsValid() && r.Peer.CIDR.Addr().Is4() == v4 {
		return r.Peer.CIDR.String()
	}
	return ""
}
