package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IPAddressType is the type of the addresses of an accelerator: IPv4 only, or IPv4 and IPv6.
//
// +kubebuilder:validation:Enum=IPV4;DUAL_STACK
type IPAddressType string

// The address types.
const (
	IPAddressTypeIPv4      IPAddressType = "IPV4"
	IPAddressTypeDualStack IPAddressType = "DUAL_STACK"
)

// Protocol is the protocol of a listener.
//
// +kubebuilder:validation:Enum=TCP;UDP
type Protocol string

// The protocols.
const (
	ProtocolTCP Protocol = "TCP"
	ProtocolUDP Protocol = "UDP"
)

// ClientAffinity is SOURCE_IP if all connections of a client go to one endpoint.
//
// +kubebuilder:validation:Enum=SOURCE_IP;NONE
type ClientAffinity string

// The client affinities.
const (
	ClientAffinitySourceIP ClientAffinity = "SOURCE_IP"
	ClientAffinityNone     ClientAffinity = "NONE"
)

// EndpointType is the kind of reference to an endpoint: the identifier of an AWS resource, or a Kubernetes object.
//
// +kubebuilder:validation:Enum=EndpointID;Service;Ingress;Gateway
type EndpointType string

// The endpoint types.
const (
	EndpointTypeEndpointID EndpointType = "EndpointID"
	EndpointTypeService    EndpointType = "Service"
	EndpointTypeIngress    EndpointType = "Ingress"
	EndpointTypeGateway    EndpointType = "Gateway"
)

// PortRange is a range of ports, both ends included.
//
// +kubebuilder:validation:XValidation:rule="self.fromPort <= self.toPort",message="fromPort must not be greater than toPort"
type PortRange struct {
	// FromPort is the first port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	FromPort int32 `json:"fromPort"`

	// ToPort is the last port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ToPort int32 `json:"toPort"`
}

// PortOverride forwards traffic from a port of the listener to another port of the endpoints.
type PortOverride struct {
	// ListenerPort is a port of the listener.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ListenerPort int32 `json:"listenerPort"`

	// EndpointPort is the port of the endpoints. No listener of the accelerator may have it.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	EndpointPort int32 `json:"endpointPort"`
}

// Endpoint is a destination of the traffic of an endpoint group: the load balancer of an object, or an AWS resource by
// its identifier.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'EndpointID' ? has(self.endpointID) && !has(self.name) : has(self.name) && !has(self.endpointID)",message="type EndpointID needs endpointID and no name; every other type needs name and no endpointID"
type Endpoint struct {
	// Type of the endpoint: EndpointID, or the kind of the object whose load balancer it is.
	Type EndpointType `json:"type"`

	// EndpointID is the ARN of a load balancer, the id of an EC2 instance or the allocation id of an Elastic IP
	// address. For type EndpointID only.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	EndpointID string `json:"endpointID,omitempty"`

	// Name of the object. For the types Service, Ingress and Gateway only.
	// +optional
	Name string `json:"name,omitempty"`

	// Namespace of the object; the namespace of the GlobalAccelerator if not given. Another namespace must allow it
	// with a ReferenceGrant.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Weight is the share of the traffic of the endpoint group that the endpoint gets, relative to the weights of the
	// other endpoints. With weight 0 it gets none.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	// +kubebuilder:default=128
	// +optional
	Weight *int32 `json:"weight,omitempty"`

	// ClientIPPreservationEnabled reports whether the endpoint sees the IP address of the client.
	// +kubebuilder:default=true
	// +optional
	ClientIPPreservationEnabled *bool `json:"clientIPPreservationEnabled,omitempty"`
}

// EndpointGroup has the endpoints of a listener in one region.
type EndpointGroup struct {
	// Region of the endpoints; the region of the cluster if not given. A listener has at most one group in a region.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Region string `json:"region,omitempty"`

	// TrafficDialPercentage is the percentage of the traffic for this region that this endpoint group accepts.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=100
	// +optional
	TrafficDialPercentage *int32 `json:"trafficDialPercentage,omitempty"`

	// PortOverrides lists listener ports for which the endpoints have other ports.
	// +optional
	PortOverrides []PortOverride `json:"portOverrides,omitempty"`

	// Endpoints lists the endpoints.
	// +optional
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// Listener accepts traffic on ports of the addresses of the accelerator.
type Listener struct {
	// Protocol of the traffic. If not set, it is taken from the endpoint; this requires a single listener with a single
	// endpoint group with a single endpoint.
	// +optional
	Protocol Protocol `json:"protocol,omitempty"`

	// PortRanges lists the ports. If not set, they are taken from the endpoint; this requires a single
	// listener with a single endpoint group with a single endpoint.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	PortRanges []PortRange `json:"portRanges,omitempty"`

	// ClientAffinity is SOURCE_IP to keep all connections of a client at one endpoint.
	// +kubebuilder:default=NONE
	// +optional
	ClientAffinity ClientAffinity `json:"clientAffinity,omitempty"`

	// EndpointGroups lists the endpoint groups, one for each region.
	// +optional
	EndpointGroups []EndpointGroup `json:"endpointGroups,omitempty"`
}

// GlobalAcceleratorSpec is the desired state.
type GlobalAcceleratorSpec struct {
	// The order of the fields affects stored checkpoints, so it must not change.

	// Name of the accelerator; generated from the cluster name, namespace and name of the object if not set.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_-]{1,64}$`
	// +optional
	Name string `json:"name,omitempty"`

	// IPAddresses are addresses from ranges that were brought to AWS (BYOIP). They are used when the accelerator is
	// created and cannot be changed later.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +optional
	IPAddresses []string `json:"ipAddresses,omitempty"`

	// IPAddressType is the type of the addresses. A change from DUAL_STACK to IPV4 removes the IPv6 addresses permanently.
	// +kubebuilder:default=IPV4
	// +optional
	IPAddressType IPAddressType `json:"ipAddressType,omitempty"`

	// Tags of the accelerator.
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// Listeners lists the listeners. Without any, the accelerator accepts no traffic.
	// +optional
	Listeners []Listener `json:"listeners,omitempty"`
}

// IPSet has the static addresses of one address family.
type IPSet struct {
	// IPAddresses of the set.
	// +optional
	IPAddresses []string `json:"ipAddresses,omitempty"`

	// IPAddressFamily is IPv4 or IPv6.
	// +optional
	IPAddressFamily string `json:"ipAddressFamily,omitempty"`
}

// GlobalAcceleratorStatus is the observed state.
type GlobalAcceleratorStatus struct {
	// ObservedGeneration is the newest generation that was processed.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// AcceleratorARN is the ARN of the accelerator.
	// +optional
	AcceleratorARN string `json:"acceleratorARN,omitempty"`

	// DNSName resolves to the static IPv4 addresses.
	// +optional
	DNSName string `json:"dnsName,omitempty"`

	// DualStackDNSName resolves to the static addresses of both families.
	// +optional
	DualStackDNSName string `json:"dualStackDnsName,omitempty"`

	// IPSets lists the static addresses.
	// +optional
	IPSets []IPSet `json:"ipSets,omitempty"`

	// Status of the accelerator in AWS: IN_PROGRESS, DEPLOYED, or DELETING while it is deleted.
	// +optional
	Status string `json:"status,omitempty"`

	// Conditions of the accelerator; condition Ready reports whether it is deployed.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GlobalAccelerator is an accelerator of AWS Global Accelerator: static addresses that lead to load balancers in
// several regions.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="ACCELERATOR-NAME",type="string",JSONPath=".spec.name",description="The accelerator's name"
// +kubebuilder:printcolumn:name="DNS-NAME",type="string",JSONPath=".status.dnsName",description="The accelerator's DNS name"
// +kubebuilder:printcolumn:name="TYPE",type="string",JSONPath=".spec.ipAddressType",description="The accelerator's address type"
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.status",description="The accelerator's status in AWS"
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.acceleratorARN",description="The accelerator's ARN",priority=1
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type GlobalAccelerator struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GlobalAcceleratorSpec   `json:"spec,omitempty"`
	Status GlobalAcceleratorStatus `json:"status,omitempty"`
}

// GlobalAcceleratorList is a list of GlobalAccelerators.
//
// +kubebuilder:object:root=true
type GlobalAcceleratorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GlobalAccelerator `json:"items"`
}
