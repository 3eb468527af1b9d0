package settings

import (
	"maps"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Prefix is the prefix of every annotation that is read from Ingresses, and from Services as their backends.
const Prefix = "alb.ingress.kubernetes.io/"

// Ingress has the settings of one Ingress, from its annotations; WithClass overlays them with the class parameters. A
// Service can also have the settings of the embedded Backend.
type Ingress struct {
	// Placement.
	GroupName  Opt[string] // as written, not checked
	GroupOrder Opt[int32]

	Shared
	Rules
	Backend

	// faults are the faults that hold all resources of the Ingress, in the order of the annotation keys.
	faults []Fault
}

// Shared has the settings of one object for the resources that the members of a stack share. The type is the same for
// all kinds of objects.
type Shared struct {
	LoadBalancer
	Listeners
	AddOns
	Frontend
	Network

	// Class has the class parameters that do not replace a whole annotation.
	Class Class
}

// LoadBalancer has the settings of the whole load balancer.
type LoadBalancer struct {
	Name        Opt[string]
	Scheme      Opt[model.Scheme]
	AddressType Opt[model.AddressType]
	Subnets     Opt[[]string]
	// SubnetTags choose subnets by their tags.
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
	// ElasticAddresses are allocation ids, in the order of the subnets.
	ElasticAddresses Opt[[]string]
	// PrivateIPv4 and IPv6 are canonical addresses in any order.
	PrivateIPv4, IPv6 Opt[[]string]
	// SourceNAT is "on" or "off". SourceNATPrefixes are IPv6 /80 ranges or auto_assigned, in the order of the
	// subnets.
	SourceNAT         Opt[string]
	SourceNATPrefixes Opt[[]string]
	// PrivateLinkRules is "on" or "off".
	PrivateLinkRules Opt[string]
	// NoSecurityGroups is true for a load balancer without security groups.
	NoSecurityGroups Opt[bool]
	// PathMTU is "on" if the managed security group admits the ICMP messages of path MTU discovery, otherwise "off".
	PathMTU Opt[string]
}

// Listeners has the settings of the ports that a member listens on.
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
	// ListenerAttributes are keyed by protocol and port, such as "HTTPS-443".
	ListenerAttributes map[string]Opt[map[string]string]
}

// Rules has the settings of the rules of one Ingress. Actions, Conditions and Transforms are keyed by the name of the
// backend that uses them.
type Rules struct {
	Actions    map[string]Opt[Action]
	Conditions map[string]Opt[[]model.Condition]
	Transforms map[string]Opt[[]model.Transform]
	RegexPaths Opt[bool]
	JWT        Opt[model.ValidateJWT]
}

// Backend has settings that a Service behind an Ingress may also have; settings of the Service have precedence.
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
	// ControlPorts are keyed by Service name and port, such as "web.80".
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

// WithDefaults returns a copy of t with the settings of defaults where t has none. MultiCluster is true if it is true in
// t or in defaults.
func (t TargetGroup) WithDefaults(defaults TargetGroup) TargetGroup {
	out := overrideSettings(t, defaults)
	if defaults.MultiCluster.ValueOr(false) {
		out.MultiCluster = defaults.MultiCluster
	}
	out.ControlPorts = map[string]Opt[int32]{}
	maps.Copy(out.ControlPorts, defaults.ControlPorts)
	maps.Copy(out.ControlPorts, t.ControlPorts)
	return out
}

// Faults returns the faults of all settings except ControlPorts, which are checked for each port that uses them.
func (t TargetGroup) Faults() []Fault { return faultsOf(t) }

// AddOns has the settings of associations with other AWS services.
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
	FrontendPorts          Opt[map[int32]int32] // port of the frontend NLB -> port of the application load balancer
	FrontendAddresses      Opt[[]string]        // allocation ids
	FrontendAttributes     Opt[map[string]string]
	FrontendTags           Opt[map[string]string]
	FrontendHealth         FrontendHealth
}

// FrontendHealth is the health check of the frontend NLB for the application load balancer. Interval and Timeout are
// in seconds.
type FrontendHealth struct {
	Port, Protocol, Path, Codes           Opt[string]
	Interval, Timeout, Healthy, Unhealthy Opt[int32]
}

// Faults returns the faults of all settings of the frontend NLB except FrontendNLB, which enables it.
func (f Frontend) Faults() []Fault {
	f.FrontendNLB = Opt[bool]{}
	return append(faultsOf(f), faultsOf(f.FrontendHealth)...)
}

// Class has the class parameters that replace single keys of an annotation, the class parameters that also have precedence
// over annotations of Services, and the class parameters without an annotation.
type Class struct {
	Origin     finding.Origin
	Tags       map[string]string
	TargetType Opt[model.TargetType]
	// Attributes are the attributes of the load balancer.
	Attributes map[string]string
	// ListenerAttributes are keyed by protocol and port, such as "HTTPS-443".
	ListenerAttributes map[string]map[string]string
	Capacity           *int32
	IPAMPool           string
	// SubnetIDs or SubnetTags select the subnets; both are empty if the class selects none.
	SubnetIDs  []string
	SubnetTags map[string][]string
}

// ParseIngress reads the annotations of an Ingress.
func ParseIngress(annotations map[string]string, object finding.Ref) Ingress {
	var in Ingress
	in.faults = readAnnotations(&in, ingressTable, annotations, object)
	return in
}

// ParseService reads the annotations of a Service that configure it as a backend of an Ingress.
func ParseService(annotations map[string]string, object finding.Ref) Backend {
	var in Ingress
	readAnnotations(&in, backendTable, annotations, object)
	return in.Backend
}
