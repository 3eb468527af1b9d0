package model

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Scheme reports whether a load balancer has public addresses.
type Scheme string

// The schemes.
const (
	Internal       Scheme = "internal"
	InternetFacing Scheme = "internet-facing"
)

// AddressType is the IP address type of a load balancer or target group.
type AddressType string

// The address types. IPv6 is for target groups only.
const (
	IPv4                       AddressType = "ipv4"
	IPv6                       AddressType = "ipv6"
	DualStack                  AddressType = "dualstack"
	DualStackWithoutPublicIPv4 AddressType = "dualstack-without-public-ipv4"
)

// HasIPv6 reports whether clients may come by IPv6.
func (t AddressType) HasIPv6() bool { return t == DualStack || t == DualStackWithoutPublicIPv4 }

// LoadBalancerType is the type of a load balancer. The zero value is Application.
type LoadBalancerType string

// The types.
const (
	Application LoadBalancerType = ""
	Network     LoadBalancerType = "network"
)

// String returns AWS's word for the type.
func (t LoadBalancerType) String() string { return cmp.Or(string(t), "application") }

// LoadBalancer is a desired load balancer. Tags hold user and default tags; tracking tags are added
// when the plan is made. Attributes hold only what was asked for; others are left alone.
type LoadBalancer struct {
	Type LoadBalancerType
	Name string
	// NamesTaken are the names that others have, of those that a computed name stands for.
	NamesTaken  []string
	Scheme      Scheme
	AddressType AddressType
	Subnets     SubnetChoice
	// Addresses are allocation ids of elastic addresses, in the order of the subnets as they are named, or else
	// of their ids. PrivateIPv4 and IPv6 are addresses in any order, each within a range of one of the subnets.
	// AWS chooses where there are none.
	Addresses, PrivateIPv4, IPv6 []string
	// SourceNAT is on where clients of IPv6 UDP reach targets through a prefix of the subnet, off, or empty where
	// it is not managed. SourceNATPrefixes are IPv6 ranges of 80 bits in any order, each within a range of one of the
	// subnets, or auto_assigned for one where AWS chooses; it chooses all where there are none.
	SourceNAT         string
	SourceNATPrefixes []string
	// PrivateLinkRules reports whether traffic through AWS PrivateLink obeys the rules of the security groups: on,
	// off, or empty where it is not managed.
	PrivateLinkRules string

	SecurityGroups GroupChoice
	CoIPPool       string
	IPAMPool       string
	Attributes     map[string]string
	AttributesOf   []finding.Origin // the objects that ask for attributes
	Capacity       *int32           // LCU; nil: not managed, 0: none
	Tags           map[string]string
	Listeners      []Listener // ascending by port
	AddOns         AddOns
	// Of is where it was asked for; zero where it is what the whole stack is about.
	Of finding.Origin
	// Origins of settings that a plan explains, by field name ("scheme", "subnets", ...).
	Origins map[string]finding.Origin
}

// SchemeOpen reports that no object names a scheme, so that it is the default where one has to be made, and
// a live load balancer keeps its own.
func (lb *LoadBalancer) SchemeOpen() bool { return lb.Origins["scheme"] == finding.Origin{} }

// SubnetMapping is a subnet of a load balancer with its addresses there. AWS chooses those that are empty.
type SubnetMapping struct {
	Subnet      string
	Allocation  string // id of an elastic address
	PrivateIPv4 string
	IPv6        string
	// SourceNATPrefix is an IPv6 range of 80 bits.
	SourceNATPrefix string
}

// SubnetChoice determines how the subnets are found: SubnetsNamed, SubnetsTagged or SubnetsDiscovered.
type SubnetChoice interface{ subnetChoice() }

// SubnetsNamed are subnets by id (subnet-…) or value of their Name tag, in the order given.
type SubnetsNamed struct {
	Refs []string
	Of   finding.Origin
}

// SubnetsTagged are subnets that carry, for each key, one of the values.
type SubnetsTagged struct {
	Tags map[string][]string
	Of   finding.Origin
}

// SubnetsDiscovered keeps the subnets of the live load balancer if its scheme fits, and otherwise
// looks for subnets with the role tag of the scheme.
type SubnetsDiscovered struct{}

func (SubnetsNamed) subnetChoice()      {}
func (SubnetsTagged) subnetChoice()     {}
func (SubnetsDiscovered) subnetChoice() {}

// GroupChoice determines which security groups the load balancer gets: GroupsManaged, GroupsGiven or
// GroupsShared. It is nil for a network load balancer without security groups.
type GroupChoice interface{ groupChoice() }

// GroupsManaged asks for a security group of the stack's own.
type GroupsManaged struct {
	Group SecurityGroup
	// Backend adds the shared backend group.
	Backend bool
}

// GroupsGiven are groups by id (sg-…) or value of their Name tag.
type GroupsGiven struct {
	Refs []string
	Of   finding.Origin
	// Backend adds the shared backend group, so that rules of nodes and pods can be managed.
	Backend bool
}

// GroupsShared are the security groups of the load balancer that this one is in front of.
type GroupsShared struct{}

func (GroupsManaged) groupChoice() {}
func (GroupsGiven) groupChoice()   {}
func (GroupsShared) groupChoice()  {}

// SecurityGroup is a group that belongs to the stack. All its ingress rules are owned.
type SecurityGroup struct {
	Name        string
	Description string
	Tags        map[string]string
	Ingress     []IngressRule
}

// IngressRule admits one source. Exactly one of CIDR, PrefixList and Group is set; a Group of
// BackendGroup or ManagedGroup stands for the id of that group.
type IngressRule struct {
	Protocol    string // tcp, udp, icmp, icmpv6
	From, To    int32
	CIDR        string // canonical, IPv4 or IPv6
	PrefixList  string
	Group       string
	Description string
}

// String returns the rule in readable form, without its description.
func (r IngressRule) String() string {
	ports := strconv.Itoa(int(r.From))
	if r.To != r.From {
		ports += "-" + strconv.Itoa(int(r.To))
	}
	return r.Protocol + " " + ports + " from " + cmp.Or(r.Group, r.CIDR, r.PrefixList)
}

// Base is the protocol of a listener without TLS. The zero value is HTTP.
type Base string

// The protocols. All but HTTP are those of network load balancers.
const (
	HTTP    Base = ""
	TCP     Base = "TCP"
	UDP     Base = "UDP"
	TCPUDP  Base = "TCP_UDP"
	QUIC    Base = "QUIC"
	TCPQUIC Base = "TCP_QUIC"
)

// String returns AWS's word for the protocol.
func (b Base) String() string { return cmp.Or(string(b), "HTTP") }

// Listener of a load balancer. Those of a network load balancer have no rules.
type Listener struct {
	Port int32
	Base Base
	// TLS is nil for a listener without it. It goes with HTTP and TCP.
	TLS *TLS
	// Default is what happens when no rule matches. DefaultHeld keeps the live one.
	Default     []Action
	DefaultHeld Held
	// DefaultInPlace changes the default action in one call, without stages that a quota has no room for.
	DefaultInPlace bool
	DefaultOf      finding.Origin
	Rules          []Rule // in order of precedence; priorities are 1, 2, 3, …
	// Covered are all rules, those included that Rules lacks because an earlier redirect answers their
	// requests; nil if it lacks none. Covering is how they were found.
	Covered  []Rule
	Covering Shadowing
	// OrderHeld is set while AWS refuses to reorder the rules: none is moved.
	OrderHeld  Held
	Attributes map[string]string
	// AttributesOf are the objects that ask for attributes.
	AttributesOf []finding.Origin
	Tags         map[string]string
	// Members that listen on this port, in group order.
	Members []finding.Ref
}

// Protocol returns AWS's word for the protocol of the listener.
func (l Listener) Protocol() string {
	switch {
	case l.TLS == nil:
		return l.Base.String()
	case l.Base == HTTP:
		return "HTTPS"
	}
	return "TLS"
}

// Target returns the id of the one target group of the stack to which the default action forwards, empty if
// it does something else.
func (l Listener) Target() string {
	if len(l.Default) != 1 {
		return ""
	}
	f, ok := l.Default[0].(Forward)
	if !ok || len(f.Groups) != 1 {
		return ""
	}
	return f.Groups[0].Group.ID
}

// TLS holds the settings of a secure listener.
type TLS struct {
	Policy string
	// ALPN is the policy of a TLS listener; empty leaves the live one.
	ALPN string
	// Certificates by member in group order; the plan merges them into one list.
	Certificates []CertChoice
	// Refused are ARNs of certificates that AWS refuses to attach, NoRoom those for which it has no room. Who names them keeps
	// what is live for its hosts.
	Refused, NoRoom []string
	MutualAuth      *MutualAuth
	// NotImported reports that members name TLS Secrets, which are not imported.
	NotImported bool
}

// CertChoice is one member's contribution to a listener's certificates: CertARNs or CertHosts.
type CertChoice interface{ certChoice() }

// CertARNs are certificates named outright.
type CertARNs struct {
	Member finding.Ref
	ARNs   []string
	Field  string
	// Live is set for those that are held as they are live, and which Field does not name itself.
	Live bool
}

// CertHosts asks for all issued certificates that cover the hosts.
type CertHosts struct {
	Member finding.Ref
	Hosts  []string // sorted, unique
	Fields []string // where the member names them, in the order of Hosts
}

// Field returns where the member names a host, "" if that is not known.
func (c CertHosts) Field(host string) string {
	for i, h := range c.Hosts {
		if h == host && i < len(c.Fields) {
			return c.Fields[i]
		}
	}
	return ""
}

func (CertARNs) certChoice()  {}
func (CertHosts) certChoice() {}

// MutualAuth is the client certificate setting of a listener.
type MutualAuth struct {
	Mode         string // off, passthrough, verify
	TrustStore   string // ARN or name
	IgnoreExpiry *bool
	AdvertiseCA  string // on, off or empty
	Of           finding.Origin
	Members      []finding.Ref // the members that ask for client certificates on the port
}

// ByName reports whether the trust store is given by name.
func (m *MutualAuth) ByName() bool {
	return m != nil && m.TrustStore != "" && !strings.HasPrefix(m.TrustStore, "arn:")
}
