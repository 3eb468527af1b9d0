package observed

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Stack has all existing resources of a stack, and the answers to the questions of the stack.
type Stack struct {
	LoadBalancers []LoadBalancer // with the tags of the stack, of any resource id, ascending by ARN
	Accelerators  []Accelerator  // with all tags of the stack, ascending by ARN
	// SharedAccelerator is the accelerator of another owner that model.AskSharedAccelerator asks for; nil if it does not
	// exist. It has listeners only if its tags name the stack as a guest.
	SharedAccelerator *Accelerator
	TargetGroups      []TargetGroup   // with the tags of the stack, of any resource id, ascending by ARN
	SecurityGroups    []SecurityGroup // managed security groups of the stack, ascending by id
	Bindings          []Binding       // TargetGroupBindings with the stack's labels
	// AdoptedStack is the stack of the question model.AskAdopted. Its resources are included here. It is zero if there was
	// no such question.
	AdoptedStack model.StackID
	// AdoptedByStack is another stack that has already taken over the load balancer of AdoptedStack; zero if there is none.
	AdoptedByStack model.StackID
	Facts          Facts
}

// LiveLoadBalancer returns the load balancer with a resource id; nil if there is none. If there are several, it returns the
// first one by ARN; the others are superfluous.
func (s Stack) LiveLoadBalancer(resourceID string) *LoadBalancer {
	for i := range s.LoadBalancers {
		if s.LoadBalancers[i].ResourceID == resourceID {
			return &s.LoadBalancers[i]
		}
	}
	return nil
}

// LoadBalancerProvisioning is the state of a load balancer that AWS is still creating.
const LoadBalancerProvisioning = "provisioning"

// LoadBalancerFailed is the state of a load balancer that AWS could not create. The state usually stays until the load balancer
// is deleted.
const LoadBalancerFailed = "failed"

// LoadBalancer is the observed state of a load balancer. Attributes has all attributes that AWS reports; it is nil if no
// question asked for them.
type LoadBalancer struct {
	ARN            string
	ResourceID     string
	Name           string
	Type           string // application, network
	Scheme         model.Scheme
	AddressType    model.AddressType
	DNSName        string
	State          string // LoadBalancerProvisioning, active, active_impaired, LoadBalancerFailed
	VPC            string
	Subnets        []string // sorted
	SecurityGroups []string // sorted
	Addresses      []string // allocation ids of Elastic IP addresses, sorted
	// Mappings has the subnets of a network load balancer, each with the addresses that AWS reports for it, in ascending
	// order of subnet. SourceNAT and PrivateLinkRules are on, off, or empty if AWS reports no value.
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

// ListenerOnPort returns the listener on a port; nil if there is none.
func (lb *LoadBalancer) ListenerOnPort(port int32) *Listener {
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

// Listener is the observed state of a listener.
type Listener struct {
	ARN          string
	Port         int32
	Protocol     string
	Policy       string
	ALPN         string
	Certificate  string   // ARN of the default certificate
	Certificates []string // additional certificates, sorted; with the default one if it is also attached as an additional one
	MutualAuth   *model.MutualAuth
	Default      []model.Action // with target groups by ARN
	Rules        []Rule         // without the default rule, ascending by priority
	Attributes   map[string]string
	Tags         map[string]string
}

// HasCertificate reports whether a listener has a certificate, as its default or as an additional one.
func (l *Listener) HasCertificate(arn string) bool {
	return l != nil && (l.Certificate == arn || slices.Contains(l.Certificates, arn))
}

// Rule is the observed state of a listener rule.
type Rule struct {
	ARN        string
	Priority   int32
	Conditions []model.Condition
	Transforms []model.Transform
	Actions    []model.Action // with target groups by ARN
	Tags       map[string]string
}

// TargetGroup is the observed state of a target group.
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
	LoadBalancers   []string // ARNs of the load balancers that use the target group
	Tags            map[string]string
}

// SecurityGroup is the observed state of a security group. Each of its rules has one source.
type SecurityGroup struct {
	ID         string
	ResourceID string
	Name       string
	VPC        string
	Tags       map[string]string
	Ingress    []model.IngressRule
}

// Binding is the observed state of a TargetGroupBinding with the labels of the stack.
type Binding struct {
	Namespace, Name string
	ARN             string
	Type            model.TargetType
	Protocol        string
	AddressType     model.AddressType
	VPC             string
	Service         model.Binding // only Service, Port, NodeSelector and MultiCluster are set
	// Networking has the networking rules of the TargetGroupBinding; nil if there are none. HasNetworking reports whether
	// the TargetGroupBinding has the field networking.
	Networking    []BindingRule
	HasNetworking bool
	Created       time.Time
	Deleting      bool
	// Labels and Annotations include those that other clients have written, but not the checkpoint annotation.
	Labels, Annotations map[string]string
}

// BindingRule is a networking rule of a TargetGroupBinding. It has security groups, by id, and address ranges as sources.
type BindingRule struct {
	SecurityGroups []string
	CIDRs          []string
	Ports          []model.PeerPort
}

// Target is a registered target with its health.
type Target struct {
	ID          string
	Port        int32
	Zone        string
	State       string // initial, healthy, unhealthy, unused, draining, unavailable
	Reason      string
	Description string
	// ServerID is the QUIC server id; empty for other protocols.
	ServerID string
}

// Health has the targets of a target group with their health. The targets are shared and must not be changed.
type Health struct {
	Targets []*Target
	ReadAt  time.Time
}

// ReasonNotInUse is the reason in AWS of a target that gets no requests, because no load balancer uses its target group or
// its Availability Zone.
const ReasonNotInUse = "Target.NotInUse"

// IsNotInUse reports whether a target is unused because no load balancer checks its health.
func (t *Target) IsNotInUse() bool { return t.State == "unused" && t.Reason == ReasonNotInUse }

// IsReady reports whether a target group is ready for requests: it has a healthy target, and no target is still in its first
// health checks.
func (h Health) IsReady() bool {
	return h.CountInStates("healthy") > 0 && h.CountInStates("initial") == 0
}

// CountInStates returns how many targets are in one of the states.
func (h Health) CountInStates(states ...string) int {
	n := 0
	for _, t := range h.Targets {
		if slices.Contains(states, t.State) {
			n++
		}
	}
	return n
}
