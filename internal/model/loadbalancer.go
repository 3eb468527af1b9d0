package model

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Scheme is the scheme of a load balancer: whether it has public addresses.
type Scheme string

// The values of Scheme.
const (
	Internal       Scheme = "internal"
	InternetFacing Scheme = "internet-facing"
)

// AddressType is the IP address type of a load balancer or target group.
type AddressType string

// The values of AddressType. IPv6 is for target groups only.
const (
	IPv4                       AddressType = "ipv4"
	IPv6                       AddressType = "ipv6"
	DualStack                  AddressType = "dualstack"
	DualStackWithoutPublicIPv4 AddressType = "dualstack-without-public-ipv4"
)

// HasIPv6 reports whether a load balancer of the type has IPv6 addresses.
func (t AddressType) HasIPv6() bool { return t == DualStack || t == DualStackWithoutPublicIPv4 }

// LoadBalancerType is the type of a load balancer. The zero value is Application.
type LoadBalancerType string

// The values of LoadBalancerType.
const (
	Application LoadBalancerType = ""
	Network     LoadBalancerType = "network"
)

// String returns the type as in the API of AWS.
func (t LoadBalancerType) String() string { return cmp.Or(string(t), "application") }

// LoadBalancer is a desired load balancer. Tags are those of users and the default tags; tags of the controller are added
// when the plan is made. Attributes are those that are set; others are not managed.
type LoadBalancer struct {
	Type LoadBalancerType
	Name string
	// NamesTaken are generated names that resources of other owners have, so that another name is generated.
	NamesTaken  []string
	Scheme      Scheme
	AddressType AddressType
	Subnets     SubnetChoice
	// Addresses are allocation ids of Elastic IP addresses, in the order of the named subnets, or of the ids of subnets
	// that are not named. PrivateIPv4 and IPv6 are addresses in any order, each within the range of a subnet. If there are
	// none, AWS chooses the addresses.
	Addresses, PrivateIPv4, IPv6 []string
	// SourceNAT is on, off, or empty if it is not managed: whether clients of UDP over IPv6 reach targets through a prefix
	// of the subnet. SourceNATPrefixes are IPv6 ranges of 80 bits in any order, each within the range of a subnet, or
	// auto_assigned for a prefix that AWS chooses. If there are none, AWS chooses all.
	SourceNAT         string
	SourceNATPrefixes []string
	// PrivateLinkRules is on, off, or empty if it is not managed: whether the rules of the security groups apply to traffic
	// through AWS PrivateLink.
	PrivateLinkRules string

	SecurityGroups GroupChoice
	CoIPPool       string
	IPAMPool       string
	Attributes     map[string]string
	AttributesOf   []finding.Origin // the objects that set attributes
	Capacity       *int32           // reservation in LCU; nil if it is not managed, 0 for none
	Tags           map[string]string
	Listeners      []Listener // ascending by port
	AddOns         AddOns
	// Of is the origin of a frontend NLB; zero for the load balancer of the stack.
	Of finding.Origin
	// Origins of settings that a plan explains, by field name ("scheme", "subnets", ...).
	Origins map[string]finding.Origin
}

// IsSchemeUnset reports whether no object sets a scheme. Then a new load balancer gets the default, and a live one keeps its
// scheme.
func (lb *LoadBalancer) IsSchemeUnset() bool { return lb.Origins["scheme"] == finding.Origin{} }

// SubnetMapping is a subnet of a load balancer with the addresses in it. Empty ones are chosen by AWS.
type SubnetMapping struct {
	Subnet      string
	Allocation  string // id of an elastic address
	PrivateIPv4 string
	IPv6        string
	// SourceNATPrefix is an IPv6 range of 80 bits.
	SourceNATPrefix string
}

// SubnetChoice is how subnets are selected: SubnetsNamed, SubnetsTagged or SubnetsDiscovered.
type SubnetChoice interface{ subnetChoice() }

// SubnetsNamed are subnets by id (subnet-…) or value of their Name tag, in the order given.
type SubnetsNamed struct {
	Refs []string
	Of   finding.Origin
}

// SubnetsTagged are subnets that have, for each key, a tag with one of the values.
type SubnetsTagged struct {
	Tags map[string][]string
	Of   finding.Origin
}

// SubnetsDiscovered are the subnets of the live load balancer if it has the desired scheme, otherwise subnets with the
// role tag of the scheme.
type SubnetsDiscovered struct{}

func (SubnetsNamed) subnetChoice()      {}
func (SubnetsTagged) subnetChoice()     {}
func (SubnetsDiscovered) subnetChoice() {}

// GroupChoice is how the security groups of a load balancer are selected: GroupsManaged, GroupsGiven or GroupsShared. It is
// nil for a network load balancer without security groups.
type GroupChoice interface{ groupChoice() }

// GroupsManaged is a security group that the controller manages for the stack.
type GroupsManaged struct {
	Group SecurityGroup
	// Backend adds the shared backend security group.
	Backend bool
}

// GroupsGiven are security groups by id (sg-…) or value of their Name tag.
type GroupsGiven struct {
	Refs []string
	Of   finding.Origin
	// Backend adds the shared backend security group, so that rules of nodes and pods can be managed.
	Backend bool
}

// GroupsShared are, for a frontend NLB, the security groups of its ALB.
type GroupsShared struct{}

func (GroupsManaged) groupChoice() {}
func (GroupsGiven) groupChoice()   {}
func (GroupsShared) groupChoice()  {}

// SecurityGroup is a security group that belongs to the stack, with all its ingress rules.
type SecurityGroup struct {
	Name        string
	Description string
	Tags        map[string]string
	Ingress     []IngressRule
}

// IngressRule is a rule of a security group for one source. Exactly one of CIDR, PrefixList and Group is set. Group is the
// id of a security group, or BackendGroup or ManagedGroup in place of the id of that one.
type IngressRule struct {
	Protocol    string // tcp, udp, icmp, icmpv6
	From, To    int32
	CIDR        string // canonical, IPv4 or IPv6
	PrefixList  string
	Group       string
	Description string
}

// String returns the rule for messages, without its description.
func (r IngressRule) String() string {
	ports := strconv.Itoa(int(r.From))
	if r.To != r.From {
		ports += "-" + strconv.Itoa(int(r.To))
	}
	return r.Protocol + " " + ports + " from " + cmp.Or(r.Group, r.CIDR, r.PrefixList)
}

// BaseProtocol is the protocol of a listener without TLS. The zero value is HTTP.
type BaseProtocol string

// The values of BaseProtocol. All but HTTP are for network load balancers.
const (
	HTTP    BaseProtocol = ""
	TCP     BaseProtocol = "TCP"
	UDP     BaseProtocol = "UDP"
	TCPUDP  BaseProtocol = "TCP_UDP"
	QUIC    BaseProtocol = "QUIC"
	TCPQUIC BaseProtocol = "TCP_QUIC"
)

// String returns the protocol as in the API of AWS.
func (b BaseProtocol) String() string { return cmp.Or(string(b), "HTTP") }

// Listener is a listener of a load balancer. Listeners of network load balancers have no rules.
type Listener struct {
	Port         int32
	BaseProtocol BaseProtocol
	// TLS is nil for a listener without TLS. It is for the protocols HTTP and TCP.
	TLS *TLS
	// Default are the actions if no rule matches. If DefaultHeld is set, the live actions stay unchanged.
	Default     []Action
	DefaultHeld Held
	// DefaultInPlace changes the default action in one call instead of in steps, for which a quota has no room.
	DefaultInPlace bool
	DefaultOf      finding.Origin
	Rules          []Rule // in order of precedence; priorities are 1, 2, 3, …
	// Covered has all rules, including those that are not in Rules because an earlier redirect answers their requests; nil
	// if there are none of these. Covering is the method by which they were found.
	Covered  []Rule
	Covering Shadowing
	// OrderHeld is set while AWS refuses to reorder the rules, so that all keep their priorities.
	OrderHeld  Held
	Attributes map[string]string
	// AttributesOf are the objects that set attributes.
	AttributesOf []finding.Origin
	Tags         map[string]string
	// Members are those that listen on the port, in group order.
	Members []finding.Ref
}

// Protocol returns the protocol of the listener as in the API of AWS.
func (l Listener) Protocol() string {
	switch {
	case l.TLS == nil:
		return l.BaseProtocol.String()
	case l.BaseProtocol == HTTP:
		return "HTTPS"
	}
	return "TLS"
}

// DefaultTargetGroupID returns the id of the target group of the stack to which the default action forwards, empty if it
// does not forward to exactly one.
func (l Listener) DefaultTargetGroupID() string {
	if len(l.Default) != 1 {
		return ""
	}
	f, ok := l.Default[0].(Forward)
	if !ok || len(f.Groups) != 1 {
		return ""
	}
	return f.Groups[0].Group.ID
}

// TLS are the settings of a listener with TLS.
type TLS struct {
	Policy string
	// ALPN is the ALPN policy of a TLS listener; if empty, the live policy stays unchanged.
	ALPN string
	// Certificates are those of each member, in group order. The plan merges them into one list.
	Certificates []CertChoice
	// Refused are the ARNs of certificates that AWS refuses to attach. NoRoom are the ARNs of certificates beyond a quota.
	// Members that name them keep the live certificates for their hosts.
	Refused, NoRoom []string
	MutualAuth      *MutualAuth
	// NotImported reports whether members name TLS Secrets that are not imported.
	NotImported bool
}

// CertChoice are the certificates of one member for a listener: CertARNs, CertHosts or CertManaged.
type CertChoice interface{ certChoice() }

// CertARNs are certificates by ARN.
type CertARNs struct {
	Member finding.Ref
	ARNs   []string
	Field  string
	// Live reports whether these are held live certificates, which Field does not name by ARN.
	Live bool
}

// CertHosts are all issued certificates in ACM that cover the hosts.
type CertHosts struct {
	Member finding.Ref
	Hosts  []string // sorted, unique
	Fields []string // the fields that name the hosts, in the order of Hosts
}

// Field returns the field that names a host, "" if it is not known.
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

// MutualAuth are the settings of a listener for mutual authentication.
type MutualAuth struct {
	Mode         string // off, passthrough, verify
	TrustStore   string // ARN or name
	IgnoreExpiry *bool
	AdvertiseCA  string // on, off or empty
	Of           finding.Origin
	Members      []finding.Ref // the members that set mutual authentication on the port
}

// HasTrustStoreName reports whether TrustStore is a name and not an ARN.
func (m *MutualAuth) HasTrustStoreName() bool {
	return m != nil && m.TrustStore != "" && !strings.HasPrefix(m.TrustStore, "arn:")
}
