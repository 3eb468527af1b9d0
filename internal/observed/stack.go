package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Stack is all that exists for one stack, and the facts that its questions asked for.
type Stack struct {
	LoadBalancers []LoadBalancer // with our tags, of any resource id, ascending by ARN
	Accelerators  []Accelerator  // with all tags of the stack, ascending by ARN
	// Shared is the accelerator of another owner that AskSharedAccelerator names, nil if the account has none. It has parts only
	// if its tags let the stack have some of them.
	Shared         *Accelerator
	TargetGroups   []TargetGroup   // with our tags, of any resource id, ascending by ARN
	SecurityGroups []SecurityGroup // managed security groups of the stack, ascending by id
	Bindings       []Binding       // TargetGroupBindings with the stack's labels
	// Adopted is the stack whose resources are shown here too, as AskAdopted asks; zero if there is none.
	Adopted model.StackID
	// AdoptedBy is the stack that has taken over from that one already; zero if none has.
	AdoptedBy model.StackID
	Facts     Facts
}

// Live returns the load balancer with the resource id, nil if there is none. With several, the
// first by ARN is returned and the others are surplus.
func (s Stack) Live(resourceID string) *LoadBalancer {
	for i := range s.LoadBalancers {
		if s.LoadBalancers[i].ResourceID == resourceID {
			return &s.LoadBalancers[i]
		}
	}
	return nil
}

// Provisioning is the state of a load balancer that AWS is still creating.
const Provisioning = "provisioning"

// LoadBalancer is a load balancer in AWS. Attributes hold all attributes that AWS reports;
// nil means that they were not read because nothing asked for them.
type LoadBalancer struct {
	ARN            string
	ResourceID     string
	Name           string
	Type           string // application, network
	Scheme         model.Scheme
	AddressType    model.AddressType
	DNSName        string
	State          string // Provisioning, active, active_impaired, failed
	VPC            string
	Subnets        []string // sorted
	SecurityGroups []string // sorted
	Addresses      []string // allocation ids of elastic addresses, sorted
	// Mappings are the subnets of a network load balancer with the addresses that AWS shows there, ascending by
	// subnet. SourceNAT and PrivateLinkRules are on, off, or empty where AWS shows none.
	Mappings         []model.SubnetMapping
	SourceNAT        string
	PrivateLinkRules string

	CoIPPool   string
	IPAMPool   string
	Attributes map[string]string
	Capacity   *int32
	Tags       map[string]string
	Listeners  []Listener // ascending by port
}

// OnPort returns the listener of a port, nil if there is none.
func (lb *LoadBalancer) OnPort(port int32) *Listener {
	if lb == nil {
		return nil
	}
	for i := range lb.Listeners {
		if lb.Listeners[i].Port == port {
			return &lb.Listeners[i]
		}
	}
	return nil
}

// Listener is a listener in AWS.
type Listener struct {
	ARN          string
	Port         int32
	Protocol     string
	Policy       string
	ALPN         string
	Certificate  string   // default
	Certificates []string // additional ones, sorted, the default again where it is attached twice
	MutualAuth   *model.MutualAuth
	Default      []Action
	Rules        []Rule // without the default rule, ascending by priority
	Attributes   map[string]string
	Tags         map[string]string
}

// Rule is a listener rule in AWS.
type Rule struct {
	ARN        string
	Priority   int32
	Conditions []model.Condition
	Transforms []model.Transform
	Actions    []Action
	Tags       map[string]string
}

// Action is a model action in which every target group is named by ARN.
type Action = model.Action

// TargetGroup is a target group in AWS.
type TargetGroup struct {
	ARN             string
	ResourceID      string
	Name            string
	Type            model.TargetType
	Port            int32
	Protocol        string
	ProtocolVersion string
	AddressType     model.AddressType
	ControlPort     *int32
	HealthCheck     model.HealthCheck
	Attributes      map[string]string
	LoadBalancers   []string // ARNs of load balancers that use it
	Tags            map[string]string
}

// SecurityGroup is a security group in AWS, with one rule per source.
type SecurityGroup struct {
	ID         string
	ResourceID string
	Name       string
	VPC        string
	Tags       map[string]string
	Ingress    []model.IngressRule
}

// Binding is a TargetGroupBinding with the stack's labels.
type Binding struct {
	Namespace, Name string
	ARN             string
	Type            model.TargetType
	Protocol        string
	AddressType     model.AddressType
	VPC             string
	Service         model.Binding // service, port, selector, multi-cluster
	// Networking with security groups by id; nil when absent.
	Networking    []BindingRule
	HasNetworking bool
	Deleting      bool
	// UpToDate reports that the targets of the present generation are registered.
	UpToDate bool
	// Labels and Annotations that the controller owns or finds.
	Labels, Annotations map[string]string
}

// BindingRule is a networking rule whose peers are ids and ranges.
type BindingRule struct {
	Groups []string
	CIDRs  []string
	Ports  []model.PeerPort
}

// Target is one registered target and its health.
type Target struct {
	ID          string
	Port        int32
	Zone        string
	State       string // initial, healthy, unhealthy, unused, draining, unavailable
	Reason      string
	Description string
	// ServerID is the QUIC server id, empty for other protocols.
	ServerID string
}

// Health is the state of a target group's targets. The targets are shared and must not be changed.
type Health struct {
	Targets []*Target
	At      time.Time
}

// ReasonNotInUse is AWS's reason for a target that no load balancer sends requests to: because of its target group, or of its
// zone.
const ReasonNotInUse = "Target.NotInUse"

// NotInUse reports whether no load balancer checks a target.
func (t *Target) NotInUse() bool { return t.State == "unused" && t.Reason == ReasonNotInUse }

// Count returns how many targets are in one of the states.
func (h Health) Count(states ...string) int {
	n := 0
	for _, t := range h.Targets {
		for _, s := range states {
			if t.State == s {
				n++
			}
		}
	}
	return n
}
