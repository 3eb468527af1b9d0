package model

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// TargetType is the type of the targets of a target group.
type TargetType string

// The values of TargetType.
const (
	InstanceTargets TargetType = "instance"
	IPTargets       TargetType = "ip"
	ALBTargets      TargetType = "alb"
)

// TargetGroup is the desired state of a target group of a stack, with the TargetGroupBinding that registers its targets.
type TargetGroup struct {
	ID              string // id in the model, which is the value of the resource tag
	Name            string // not compared with the name of an existing target group
	Type            TargetType
	Port            int32
	Protocol        string // HTTP, HTTPS, TCP, …
	ProtocolVersion string // HTTP1, HTTP2, GRPC or empty
	AddressType     AddressType
	ControlPort     *int32
	HealthCheck     HealthCheck
	Attributes      map[string]string
	Tags            map[string]string
	Binding         *Binding
	// Named reports whether a user sets Name. Otherwise, Name is generated.
	Named bool
	// NamesTaken are generated names that resources of other owners already have. The target group gets another generated
	// name.
	NamesTaken []string
	// LoadBalancer is, for type alb, the ARN of the load balancer of another stack that is the target. If it is empty, the
	// target is the ALB of this stack.
	LoadBalancer string
	// Members are the members whose rules use the target group.
	Members []finding.Ref
	Origin  finding.Origin
}

// HealthCheck is the health check of a target group. Numbers that are 0 and empty texts are neither sent to AWS nor
// compared.
type HealthCheck struct {
	Port               string // traffic-port or a number
	Protocol           string
	Path               string
	HTTPCodes          string
	GRPCCodes          string
	IntervalSeconds    int32
	TimeoutSeconds     int32
	HealthyThreshold   int32
	UnhealthyThreshold int32
}

// Text returns the settings with their names. It omits settings without a value, for which AWS uses its defaults.
func (h HealthCheck) Text() string {
	var out []string
	add := func(name, value string) {
		if value != "" && value != "0" {
			out = append(out, name+" "+value)
		}
	}
	number := func(n int32) string { return strconv.Itoa(int(n)) }
	add("protocol", h.Protocol)
	add("port", h.Port)
	add("path", h.Path)
	add("codes", h.HTTPCodes+h.GRPCCodes)
	add("interval", number(h.IntervalSeconds))
	add("timeout", number(h.TimeoutSeconds))
	add("healthy after", number(h.HealthyThreshold))
	add("unhealthy after", number(h.UnhealthyThreshold))
	return strings.Join(out, ", ")
}

// Binding is the TargetGroupBinding that registers the targets of a target group. Name is the name of the target group.
type Binding struct {
	Namespace    string
	Name         string
	Service      string
	Port         intstr.IntOrString
	NodeSelector *metav1.LabelSelector
	MultiCluster bool
	// Labels and Annotations do not include those that identify the stack.
	Labels, Annotations map[string]string
	// Networking has the rules for the security groups of nodes and pods.
	Networking []BindingRule
	// Managed reports whether the controller manages the rules for the security groups of nodes and pods. If it is set and
	// Networking is empty, there must be no such rules.
	Managed bool
}

// BindingRule opens ports of nodes or pods to some sources of traffic. If Optional is set, the rule is not added to an
// existing binding that has exactly the other rules.
type BindingRule struct {
	From     []Peer
	Ports    []PeerPort
	Optional bool
}

// Peer is a source of traffic. Exactly one field is set: the shared backend security group, the managed security group of
// the stack, the address ranges of the subnets or of the VPC of the load balancer, or one address range. The plan replaces
// Subnets and VPC by address ranges.
type Peer struct {
	BackendSecurityGroup bool
	ManagedSecurityGroup bool
	Subnets              bool
	VPC                  bool
	CIDR                 string
}

// Text returns text that names the source of traffic.
func (p Peer) Text() string {
	switch {
	case p.BackendSecurityGroup:
		return "the shared backend security group"
	case p.ManagedSecurityGroup:
		return "the managed security group"
	case p.Subnets:
		return "the subnets of the load balancer"
	case p.VPC:
		return "the VPC"
	}
	return p.CIDR
}

// PeerPort is a port of a BindingRule. A nil Port means all ports.
type PeerPort struct {
	Protocol string // TCP or UDP
	Port     *intstr.IntOrString
}
