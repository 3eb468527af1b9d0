package model

import (
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

// TargetGroup is a target group of a stack, with the binding that registers its targets.
type TargetGroup struct {
	ID              string // id in the model, which is the value of the resource tag
	Name            string // not compared with the live name
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
	// Named reports whether a user sets the name. Otherwise it is generated.
	Named bool
	// NamesTaken are generated names that resources of other owners have, so that another name is generated.
	NamesTaken []string
	// LoadBalancer is, for type alb, the ARN of the load balancer of another stack that is the target; if empty, the target
	// is the ALB of this stack.
	LoadBalancer string
	// Members are those with rules that use the target group.
	Members []finding.Ref
	Origin  finding.Origin
}

// HealthCheck is the health check of a target group. Zero numbers and empty texts are not sent and not compared.
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

// Binding is the TargetGroupBinding that registers the targets of a target group. It has the name of the target group.
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
	// Managed reports whether rules of nodes and pods are managed. If it is set, an empty Networking means that there are none.
	Managed bool
}

// BindingRule opens ports of nodes or pods to peers.
type BindingRule struct {
	From  []Peer
	Ports []PeerPort
}

// Peer is a source of traffic: the shared backend security group, the managed security group of the stack, an address
// range, or the ranges of the subnets or of the VPC of the load balancer, which the plan adds.
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
