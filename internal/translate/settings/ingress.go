package settings

import (
	"maps"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Prefix is the prefix of the annotations that are read from Ingresses, and from Services that are their backends.
const Prefix = "alb.ingress.kubernetes.io/"

// Ingress has the settings of one Ingress from its annotations. WithClass replaces some of them by class parameters. The
// settings in Backend can also come from a Service.
type Ingress struct {
	// GroupName and GroupOrder are the IngressGroup, and the position of the Ingress in the IngressGroup.
	GroupName  Opt[string] // as in the annotation, not checked
	GroupOrder Opt[int32]

	Shared
	Rules
	Backend

	// faults are the faults that hold all resources of the Ingress, in the order of the annotation keys.
	faults []Fault
}

// Shared has the settings of one object (Ingress, Service or Gateway) for resources that several members of a stack share.
type Shared struct {
	LoadBalancer
	Listeners
	AddOns
	Frontend
	Network

	// Class has the class parameters that do not replace a whole annotation.
	Class Class
}

// LoadBalancer has the settings of the load balancer as a whole.
type LoadBalancer struct {
	Name        Opt[string]
	Scheme      Opt[model.Scheme]
	AddressType Opt[model.AddressType]
	Subnets     Opt[[]string]
	// SubnetTags select subnets by their tags.
	SubnetTags         Opt[map[string][]string]
	SecurityGroups     Opt[[]string]
	ManageBackendRules Opt[bool]
	CoIPPool           Opt[string]
	IPAMPool           Opt[string]
	Attributes         Opt[map[string]string]
	Capacity           Opt[map[string]string]
}

// Network has the settings that only network load balancers have.
type Network struct {
	// ElasticAddresses are allocation ids of Elastic IP addresses, in the order of the subnets.
	ElasticAddresses Opt[[]string]
	// PrivateIPv4 and IPv6 are addresses in canonical form, in any order.
	PrivateIPv4, IPv6 Opt[[]string]
	// SourceNAT is "on" or "off". SourceNATPrefixes are IPv6 /80 ranges or auto_assigned, in the order of the
	// subnets.
	SourceNAT         Opt[string]
	SourceNATPrefixes Opt[[]string]
	// PrivateLinkRules is "on" or "off".
	PrivateLinkRules Opt[string]
	// NoSecurityGroups requests a load balancer without security groups.
	NoSecurityGroups Opt[bool]
	// PathMTUDiscovery is "on" if the managed security group must admit the ICMP messages of path MTU discovery, otherwise
	// "off".
	PathMTUDiscovery Opt[string]
}

// Listeners has the settings of the ports on which a member listens.
type Listeners struct {
	ListenPorts Opt[[]ListenPort]
	SSLRedirect Opt[int32]
	SSLPolicy   Opt[string]
	MutualAuth  Opt[map[int32]model.MutualAuth]
	// Certificates are ARNs of certificates.
	Certificates      Opt[[]string]
	CreateCertificate Opt[bool]
	CertificateCA     Opt[string]
	InboundCIDRs      Opt[[]string]
	PrefixLists       Opt[[]string]
	// ListenerAttributes has protocol and port of the listener as key, such as "HTTPS-443".
	ListenerAttributes map[string]Opt[map[string]string]
}

// Rules has the settings of the rules of one Ingress. The keys of Actions, Conditions and Transforms are the names of the
// backends that use them.
type Rules struct {
	Actions    map[string]Opt[Action]
	Conditions map[string]Opt[[]model.Condition]
	Transforms map[string]Opt[[]model.Transform]
	RegexPaths Opt[bool]
	JWT        Opt[model.ValidateJWT]
}

// Backend has the settings that can also come from a Service behind the Ingress. Settings of the Service have precedence.
type Backend struct {
	Tags   Opt[map[string]string]
	Target TargetGroup
	Auth   Auth
}

// TargetGroup has the settings of the target groups of a backend.
type TargetGroup struct {
	Type            Opt[model.TargetType]
	NodeLabels      Opt[map[string]string]
	Protocol        Opt[string]
	ProtocolVersion Opt[string]
	Attributes      Opt[map[string]string]
	MultiCluster    Opt[bool]
	// ControlPorts has "SERVICE.PORT" as key, such as "web.80".
	ControlPorts map[string]Opt[int32]

	HealthPort         Opt[string] // traffic-port, a number or a port name
	HealthProtocol     Opt[string]
	HealthPath         Opt[string]
	HealthInterval     Opt[int32] // seconds
	HealthTimeout      Opt[int32] // seconds
	HealthyThreshold   Opt[int32]
	UnhealthyThreshold Opt[int32]
	SuccessCodes       Opt[string]
}

// WithDefaults returns a copy of t with the settings of defaults where t has none. MultiCluster is true if it is true in t
// or in defaults. A value of MultiCluster in defaults that is not valid remains a fault.
func (t TargetGroup) WithDefaults(defaults TargetGroup) TargetGroup {
	out := overrideSettings(t, defaults)
	if o := defaults.MultiCluster; o.Value || o.Fault != nil {
		out.MultiCluster = defaults.MultiCluster
	}
	out.ControlPorts = map[string]Opt[int32]{}
	maps.Copy(out.ControlPorts, defaults.ControlPorts)
	maps.Copy(out.ControlPorts, t.ControlPorts)
	return out
}

// Faults returns the faults of all settings except ControlPorts, because only the ports that rules use are checked.
func (t TargetGroup) Faults() []Fault { return faultsOf(t) }

// AddOns has the settings for associations of the load balancer with other AWS services.
type AddOns struct {
	WAFv2ARN   Opt[string]
	WAFv2Name  Opt[string]
	WAFClassic Opt[string] // waf-acl-id, or web-acl-id if waf-acl-id is not set
	Shield     Opt[bool]
}

// Frontend has the settings of the frontend NLB.
type Frontend struct {
	FrontendNLB            Opt[bool]
	FrontendScheme         Opt[model.Scheme]
	FrontendSubnets        Opt[[]string]
	FrontendSecurityGroups Opt[[]string]
	FrontendPorts          Opt[map[int32]int32] // port of the frontend NLB -> port of the ALB
	FrontendAddresses      Opt[[]string]        // allocation ids of Elastic IP addresses
	FrontendAttributes     Opt[map[string]string]
	FrontendTags           Opt[map[string]string]
	FrontendHealth         FrontendHealthCheck
}

// FrontendHealthCheck has the settings of the health checks by which the frontend NLB checks the ALB. Interval and Timeout
// are in seconds.
type FrontendHealthCheck struct {
	Port, Protocol, Path, Codes           Opt[string]
	Interval, Timeout, Healthy, Unhealthy Opt[int32]
}

// Faults returns the faults of all settings of the frontend NLB except FrontendNLB, the setting that enables it.
func (f Frontend) Faults() []Fault {
	f.FrontendNLB = Opt[bool]{}
	return append(faultsOf(f), faultsOf(f.FrontendHealth)...)
}

// Class has the class parameters that do not replace the whole annotation of an Ingress. Tags and attributes have precedence
// over the same keys in annotations. TargetType has precedence over the annotations of the Ingress and the Service. Capacity
// and IPAMPool have precedence over annotations if the class is that of the first member of the stack.
type Class struct {
	Origin     finding.Origin
	Tags       map[string]string
	TargetType Opt[model.TargetType]
	// Attributes are the attributes of the load balancer.
	Attributes map[string]string
	// ListenerAttributes has protocol and port of the listener as key, such as "HTTPS-443".
	ListenerAttributes map[string]map[string]string
	Capacity           *int32
	IPAMPool           string
	// SubnetIDs or SubnetTags select the subnets; both are empty if the class parameters select none.
	SubnetIDs  []string
	SubnetTags map[string][]string
}

// ParseIngress parses the annotations of an Ingress.
func ParseIngress(annotations map[string]string, object finding.Ref) Ingress {
	var in Ingress
	in.faults = readAnnotations(&in, ingressTable, annotations, object)
	return in
}

// ParseService parses those annotations of a Service that configure it as a backend of an Ingress. More than
// MaxRepeatedEntries tags are a fault, because each target group of the Service has them.
func ParseService(annotations map[string]string, object finding.Ref) Backend {
	var in Ingress
	readAnnotations(&in, backendTable, annotations, object)
	if err := checkEntryLimit(len(in.Tags.Value)); err != nil {
		in.Tags = Opt[map[string]string]{Fault: err, Origin: in.Tags.Origin}
	}
	return in.Backend
}
