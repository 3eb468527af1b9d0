package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TargetType is the type of the targets in a target group: instances or IP addresses.
//
// +kubebuilder:validation:Enum=instance;ip
type TargetType string

// The target types.
const (
	TargetTypeInstance TargetType = "instance"
	TargetTypeIP       TargetType = "ip"
)

// TargetGroupIPAddressType is the address family of a target group.
//
// +kubebuilder:validation:Enum=ipv4;ipv6
type TargetGroupIPAddressType string

// The address families.
const (
	TargetGroupIPAddressTypeIPv4 TargetGroupIPAddressType = "ipv4"
	TargetGroupIPAddressTypeIPv6 TargetGroupIPAddressType = "ipv6"
)

// Protocol of a target group.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS;TCP;TLS;UDP;TCP_UDP;QUIC;TCP_QUIC
type Protocol string

// The protocols.
const (
	ProtocolHTTP    Protocol = "HTTP"
	ProtocolHTTPS   Protocol = "HTTPS"
	ProtocolTCP     Protocol = "TCP"
	ProtocolTLS     Protocol = "TLS"
	ProtocolUDP     Protocol = "UDP"
	ProtocolTCPUDP  Protocol = "TCP_UDP"
	ProtocolQUIC    Protocol = "QUIC"
	ProtocolTCPQUIC Protocol = "TCP_QUIC"
)

// NetworkingProtocol is the protocol of a networking rule.
//
// +kubebuilder:validation:Enum=TCP;UDP
type NetworkingProtocol string

// The protocols of networking rules.
const (
	NetworkingProtocolTCP NetworkingProtocol = "TCP"
	NetworkingProtocolUDP NetworkingProtocol = "UDP"
)

// ServiceReference names a port of a Service in the binding's own namespace.
type ServiceReference struct {
	// Name of the Service.
	Name string `json:"name"`

	// Port of the Service, by number or by name.
	Port intstr.IntOrString `json:"port"`
}

// IPBlock is a range of addresses.
type IPBlock struct {
	// CIDR of IPv4 or IPv6.
	CIDR string `json:"cidr"`
}

// SecurityGroup is a security group of AWS.
type SecurityGroup struct {
	// GroupID of the security group.
	GroupID string `json:"groupID"`
}

// NetworkingPeer is a source of traffic: a range or a security group, not both.
type NetworkingPeer struct {
	// IPBlock is a range of source addresses.
	// +optional
	IPBlock *IPBlock `json:"ipBlock,omitempty"`

	// SecurityGroup is a security group; the traffic of its members is admitted.
	// +optional
	SecurityGroup *SecurityGroup `json:"securityGroup,omitempty"`
}

// NetworkingPort is a port to open.
type NetworkingPort struct {
	// Protocol is TCP if not given.
	// +optional
	Protocol *NetworkingProtocol `json:"protocol,omitempty"`

	// Port is a number or, for ip targets, the name of a container port; all ports if not given.
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`
}

// NetworkingIngressRule opens ports to peers.
type NetworkingIngressRule struct {
	// From lists the sources.
	From []NetworkingPeer `json:"from"`

	// Ports lists the ports; an entry without a number means all ports, an empty list opens none.
	Ports []NetworkingPort `json:"ports"`
}

// TargetGroupBindingNetworking configures rules in the security groups of the targets.
type TargetGroupBindingNetworking struct {
	// Ingress lists the rules.
	// +optional
	Ingress []NetworkingIngressRule `json:"ingress,omitempty"`
}

// TargetGroupBindingSpec names a target group, and the Service whose endpoints are registered in it as targets.
type TargetGroupBindingSpec struct {
	// The order of the fields affects the checkpoint that is stored on each object, so it must not change.

	// TargetGroupARN is the ARN of the target group. It has precedence over the name.
	// +optional
	TargetGroupARN string `json:"targetGroupARN,omitempty"`

	// TargetGroupName is the name of the target group.
	// +optional
	TargetGroupName string `json:"targetGroupName,omitempty"`

	// MultiClusterTargetGroup is set if several clusters register targets in the target
	// group.
	// +optional
	MultiClusterTargetGroup bool `json:"multiClusterTargetGroup,omitempty"`

	// TargetType of the target group; taken from AWS if not given.
	// +optional
	TargetType *TargetType `json:"targetType,omitempty"`

	// TargetGroupProtocol of the target group; taken from AWS if not given.
	// +optional
	TargetGroupProtocol *Protocol `json:"targetGroupProtocol,omitempty"`

	// ServiceRef names the Service and port whose endpoints are registered.
	ServiceRef ServiceReference `json:"serviceRef"`

	// Networking configures rules in the security groups of the targets.
	// +optional
	Networking *TargetGroupBindingNetworking `json:"networking,omitempty"`

	// NodeSelector chooses the nodes to register; for instance targets only.
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`

	// IPAddressType of the target group; taken from AWS if not given.
	// +optional
	IPAddressType *TargetGroupIPAddressType `json:"ipAddressType,omitempty"`

	// VpcID is the VPC of the target group; taken from AWS if not given.
	// +optional
	VpcID string `json:"vpcID,omitempty"`

	// IamRoleArnToAssume is the role for calls on a target group of another account.
	// +optional
	IamRoleArnToAssume string `json:"iamRoleArnToAssume,omitempty"`

	// AssumeRoleExternalId is the external ID that is sent when the role is assumed.
	// +optional
	AssumeRoleExternalId string `json:"assumeRoleExternalId,omitempty"` //nolint:revive // wire name
}

// TargetGroupBindingStatus is the observed state.
type TargetGroupBindingStatus struct {
	// ObservedGeneration is the newest generation whose targets were registered.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// Conditions of the binding; the controller sets condition Ready.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TargetGroupBinding keeps the targets of one target group equal to the endpoints of one Service
// port.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=tgb
// +kubebuilder:printcolumn:name="SERVICE-NAME",type="string",JSONPath=".spec.serviceRef.name",description="The Kubernetes Service's name"
// +kubebuilder:printcolumn:name="SERVICE-PORT",type="string",JSONPath=".spec.serviceRef.port",description="The Kubernetes Service's port"
// +kubebuilder:printcolumn:name="TARGET-TYPE",type="string",JSONPath=".spec.targetType",description="The target group's target type"
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".spec.targetGroupARN",description="The target group's ARN",priority=1
// +kubebuilder:printcolumn:name="NAME",type="string",JSONPath=".spec.targetGroupName",description="The target group's name",priority=2
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the targets are registered"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type TargetGroupBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TargetGroupBindingSpec   `json:"spec,omitempty"`
	Status TargetGroupBindingStatus `json:"status,omitempty"`
}

// TargetGroupBindingList is a list of TargetGroupBindings.
//
// +kubebuilder:object:root=true
type TargetGroupBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TargetGroupBinding `json:"items"`
}
