package model

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Scheme is the scheme of a load balancer: internet-facing, with public addresses, or internal.
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

// String returns the type as the AWS API names it.
func (t LoadBalancerType) String() string { return cmp.Or(string(t), "application") }

// LoadBalancer is the desired state of a load balancer. Tags are the tags of users and the default tags; the plan adds the
// tags of the controller. Attributes are the attributes that are set; all other attributes are not managed.
type LoadBalancer struct {
	Type LoadBalancerType
	Name string
	// NamesTaken are generated names that resources of other owners already have. The load balancer gets another generated
	// name.
	NamesTaken  []string
	Scheme      Scheme
	AddressType AddressType
	Subnets     SubnetChoice
	// Addresses are the allocation ids of Elastic IP addresses, in the order of the named subnets. If no subnets are named,
	// they are in the order of the ids of the subnets. PrivateIPv4 and IPv6 are addresses in any order, each within the
	// range of a subnet. If a list is empty, AWS chooses these addresses.
	Addresses, PrivateIPv4, IPv6 []string
	// SourceNAT allows clients to reach targets by UDP over IPv6, through an IPv6 prefix of the subnet. It is on, off, or
	// empty if it is not managed. SourceNATPrefixes are IPv6 /80 ranges in any order, each within the range of a subnet, or
	// auto_assigned for a prefix that AWS chooses. If there are none, AWS chooses all prefixes.
	SourceNAT         string
	SourceNATPrefixes []string
	// PrivateLinkRules selects whether the inbound rules of the security groups apply to traffic through AWS PrivateLink. It
	// is on, off, or empty if it is not managed.
	PrivateLinkRules string

	SecurityGroups SecurityGroupChoice
	CoIPPool       string
	IPAMPool       string
	Attributes     map[string]string
	AttributesOf   []finding.Origin // the objects and fields that set attributes
	Capacity       *int32           // reserved LCUs; nil if not managed, 0 for no reservation
	Tags           map[string]string
	Listeners      []Listener // in ascending order of port
	AddOns         AddOns
	// Of is the origin of a frontend NLB; zero for a load balancer that is not a frontend NLB.
	Of finding.Origin
	// Origins are the origins of settings that a plan explains, by field name ("scheme", "subnets", …).
	Origins map[string]finding.Origin
}

// IsSchemeUnset reports whether no object sets a scheme. A new load balancer then gets the default scheme, and an existing
// one keeps its scheme.
func (lb *LoadBalancer) IsSchemeUnset() bool { return lb.Origins["scheme"] == finding.Origin{} }

// SubnetMapping is a subnet of a load balancer with the addresses of the load balancer in it. AWS chooses the addresses that
// are empty.
type SubnetMapping struct {
	Subnet      string
	Allocation  string // allocation id of an Elastic IP address
	PrivateIPv4 string
	IPv6        string
	// SourceNATPrefix is an IPv6 /80 range.
	SourceNATPrefix string
}

// SubnetChoice is how subnets are selected: SubnetsNamed, SubnetsTagged or SubnetsDiscovered.
type SubnetChoice interface{ subnetChoice() }

// SubnetsNamed are subnets by id (subnet-…) or by the value of their tag Name, in the order in which the user names them.
type SubnetsNamed struct {
	Refs []string
	Of   finding.Origin
}

// SubnetsTagged are the subnets that have, for each key, a tag with one of the values.
type SubnetsTagged struct {
	Tags map[string][]string
	Of   finding.Origin
}

// Text returns the tags in the order of their keys, such as "team=a or b, zone=x".
func (s SubnetsTagged) Text() string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(s.Tags)) {
		out = append(out, k+"="+strings.Join(slices.Sorted(slices.Values(s.Tags[k])), " or "))
	}
	return strings.Join(out, ", ")
}

// SubnetsDiscovered are the subnets of the existing load balancer if it has the desired scheme, otherwise subnets with the
// role tag for the scheme.
type SubnetsDiscovered struct{}

func (SubnetsNamed) subnetChoice()      {}
func (SubnetsTagged) subnetChoice()     {}
func (SubnetsDiscovered) subnetChoice() {}

// SecurityGroupChoice is how the security groups of a load balancer are selected: SecurityGroupsManaged, SecurityGroupsGiven
// or SecurityGroupsShared. It is nil for a network load balancer without security groups.
type SecurityGroupChoice interface{ securityGroupChoice() }

// SecurityGroupsManaged selects a security group that the controller manages for the stack.
type SecurityGroupsManaged struct {
	Group SecurityGroup
	// Backend adds the shared backend security group to the load balancer.
	Backend bool
}

// SecurityGroupsGiven selects security groups by id (sg-…) or by the value of their tag Name.
type SecurityGroupsGiven struct {
	Refs []string
	Of   finding.Origin
	// Backend adds the shared backend security group to the load balancer, so that the security group rules of nodes and
	// pods can be managed.
	Backend bool
}

// SecurityGroupsShared selects, for a frontend NLB, the security groups of its ALB.
type SecurityGroupsShared struct{}

func (SecurityGroupsManaged) securityGroupChoice() {}
func (SecurityGroupsGiven) securityGroupChoice()   {}
func (SecurityGroupsShared) securityGroupChoice()  {}

// SecurityGroup is a security group that the controller manages for the stack, with all its ingress rules.
type SecurityGroup struct {
	Name        string
	Description string
	Tags        map[string]string
	Ingress     []IngressRule
}

// IngressRule is an ingress rule of a security group for one source. Exactly one of CIDR, PrefixList and Group is set. Group
// is the id of a security group.
type IngressRule struct {
	Protocol    string // tcp, udp, icmp, icmpv6
	From, To    int32
	CIDR        string // canonical, IPv4 or IPv6
	PrefixList  string
	Group       string
	Description string
}

// String returns the ingress rule for messages, without its description.
func (r IngressRule) String() string {
	ports := strconv.Itoa(int(r.From))
	if r.To != r.From {
		ports += "-" + strconv.Itoa(int(r.To))
	}
	return r.Protocol + " " + ports + " from " + cmp.Or(r.Group, r.CIDR, r.PrefixList)
}

// BaseProtocol is the protocol of a listener, regardless of TLS. The zero value is HTTP.
type BaseProtocol string

// The values of BaseProtocol. Only network load balancers have values other than HTTP.
const (
	HTTP    BaseProtocol = ""
	TCP     BaseProtocol = "TCP"
	UDP     BaseProtocol = "UDP"
	TCPUDP  BaseProtocol = "TCP_UDP"
	QUIC    BaseProtocol = "QUIC"
	TCPQUIC BaseProtocol = "TCP_QUIC"
)

// String returns the protocol as the AWS API names it.
func (b BaseProtocol) String() string { return cmp.Or(string(b), "HTTP") }

// Listener is the desired state of a listener. Listeners of network load balancers have no rules.
type Listener struct {
	Port         int32
	BaseProtocol BaseProtocol
	// TLS is nil for a listener without TLS. Only the protocols HTTP and TCP can have TLS.
	TLS *TLS
	// Default are the actions for requests that match no rule. If DefaultHeld is not 0, the existing default actions stay
	// unchanged.
	Default     []Action
	DefaultHeld Held
	// DefaultInPlace is set if the default action is changed in one call, because a quota does not permit the additional
	// resources of a change in several steps.
	DefaultInPlace bool
	DefaultOf      finding.Origin
	// DefaultRuleTags are the tags of a rule that takes the place of the default action: those of the Ingress in DefaultOf.
	DefaultRuleTags map[string]string
	Rules           []Rule // in order of precedence; priorities are 1, 2, 3, …
	// AllRules has all rules, including those that are not in Rules because an earlier redirect answers all their requests.
	// It is nil if Rules has all rules. Shadowing is the value with which Rules was computed.
	AllRules  []Rule
	Shadowing Shadowing
	// OrderHeld is not 0 while AWS refuses to reorder the rules. All rules then keep their priorities.
	OrderHeld  Held
	Attributes map[string]string
	// AttributesOf are the objects that set Attributes.
	AttributesOf []finding.Origin
	Tags         map[string]string
	// Members are the members that listen on the port, in the order of the members of the stack.
	Members []finding.Ref
	// ListenerSets are the ListenerSets that define the port, if the Gateway itself has no listener on it.
	ListenerSets []finding.Ref
}

// Owners returns the objects whose namespaces own the port: the ListenerSets, or else the Members.
func (l Listener) Owners() []finding.Ref {
	if len(l.ListenerSets) > 0 {
		return l.ListenerSets
	}
	return l.Members
}

// Protocol returns the protocol of the listener as the AWS API names it.
func (l Listener) Protocol() string {
	switch {
	case l.TLS == nil:
		return l.BaseProtocol.String()
	case l.BaseProtocol == HTTP:
		return "HTTPS"
	}
	return "TLS"
}

// DefaultTargetGroupID returns the id in the model of the target group to which the default action forwards; "" if it does
// not forward to exactly one target group of the stack.
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

// TLS has the settings of a listener with TLS.
type TLS struct {
	Policy string
	// ALPN is the ALPN policy of a listener with protocol TLS. If it is empty, the existing policy stays unchanged.
	ALPN string
	// Certificates are the certificates of each member, in the order of the members of the stack. The plan merges them into
	// one list.
	Certificates []CertChoice
	// Refused are the ARNs of certificates that AWS refuses to attach. OverQuota are the ARNs of certificates that exceed a
	// quota. Members that name these certificates keep their existing certificates.
	Refused, OverQuota []string
	MutualAuth         *MutualAuth
	// NotImported reports whether members name TLS Secrets whose certificates are not imported.
	NotImported bool
}

// CertChoice is how the certificates of one member for a listener are chosen: CertARNs, CertHosts or CertManaged.
type CertChoice interface{ certChoice() }

// CertARNs chooses certificates by ARN. Field is the field of the member that names them.
type CertARNs struct {
	Member finding.Ref
	ARNs   []string
	Field  string
	// Live reports whether these are existing certificates of the listener that are held. Field then does not name them.
	Live bool
}

// CertHosts chooses all issued certificates in ACM that cover one of the hosts.
type CertHosts struct {
	Member finding.Ref
	Hosts  []string // sorted, unique
	Fields []string // the fields that name the hosts, in the order of Hosts
}

// Field returns the field that names a host; "" if it is not known.
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

// MutualAuth has the settings of a listener for mutual TLS authentication.
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
