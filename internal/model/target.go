package model

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// TargetType is what is registered in a target group.
type TargetType string

// The target types.
const (
	InstanceTargets TargetType = "instance"
	IPTargets       TargetType = "ip"
	ALBTargets      TargetType = "alb"
)

// TargetGroup of a stack, with the binding that fills it.
type TargetGroup struct {
	ID              string // logical id, value of the resource tag
	Name            string // not compared with what is live
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
	// Named reports whether a user gave the name. Otherwise it is computed.
	Named bool
	// NamesTaken are the names that others have, of those that a computed name stands for.
	NamesTaken []string
	// LoadBalancer is the ARN of the load balancer of another stack that is the target; empty for others. Where the type is
	// alb and it is empty, the target is the stack's own.
	LoadBalancer string
	// Members whose rules use the group.
	Members []finding.Ref
	Origin  finding.Origin
}

// HealthCheck of a target group. Zero numbers and empty texts are not sent and not compared.
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

// Binding is the TargetGroupBinding that fills a target group. Its name is the target group's.
type Binding struct {
	Namespace    string
	Name         string
	Service      string
	Port         intstr.IntOrString
	NodeSelector *metav1.LabelSelector
	MultiCluster bool
	// Labels and Annotations besides those of the stack.
	Labels, Annotations map[string]string
	// Networking is nil when rules of nodes and pods are not managed.
	Networking []BindingRule
	// Managed reports whether rules of nodes and pods are managed. If it is set, an empty Networking asks for none.
	Managed bool
}

// BindingRule asks for the ports to be open from the peers.
type BindingRule struct {
	From  []Peer
	Ports []PeerPort
}

// Peer is the shared backend group, the stack's managed group, an address range, or what is known when the
// plan is made: the ranges of the load balancer's subnets or of its VPC, of the target group's address type.
type Peer struct {
	BackendGroup bool
	ManagedGroup bool
	Subnets      bool
	VPC          bool
	CIDR         string
}

// PeerPort is a port of a BindingRule; a nil Port means all.
type PeerPort struct {
	Protocol string // TCP or UDP
	Port     *intstr.IntOrString
}
