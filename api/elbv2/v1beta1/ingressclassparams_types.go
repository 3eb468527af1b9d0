package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LoadBalancerScheme is internet-facing for a load balancer with public addresses, and internal otherwise.
//
// +kubebuilder:validation:Enum=internal;internet-facing
type LoadBalancerScheme string

// The schemes.
const (
	LoadBalancerSchemeInternal       LoadBalancerScheme = "internal"
	LoadBalancerSchemeInternetFacing LoadBalancerScheme = "internet-facing"
)

// IPAddressType of a load balancer.
//
// +kubebuilder:validation:Enum=ipv4;dualstack;dualstack-without-public-ipv4
type IPAddressType string

// The address types.
const (
	IPAddressTypeIPv4                       IPAddressType = "ipv4"
	IPAddressTypeDualStack                  IPAddressType = "dualstack"
	IPAddressTypeDualStackWithoutPublicIPv4 IPAddressType = "dualstack-without-public-ipv4"
)

// SubnetID is the id of a subnet.
//
// +kubebuilder:validation:Pattern=subnet-[0-9a-f]+
type SubnetID string

// IngressGroup adds every Ingress of the class to one IngressGroup.
type IngressGroup struct {
	// Name of the IngressGroup.
	Name string `json:"name"`
}

// SubnetSelector chooses subnets by id or by tags, not both.
type SubnetSelector struct {
	// IDs of the subnets.
	// +kubebuilder:validation:MinItems=1
	// +optional
	IDs []SubnetID `json:"ids,omitempty"`

	// Tags that a subnet must have: for each key one of the values.
	// +optional
	Tags map[string][]string `json:"tags,omitempty"`
}

// Tag of an AWS resource.
type Tag struct {
	// Key of the tag.
	Key string `json:"key"`

	// Value of the tag.
	Value string `json:"value"`
}

// Attribute of a load balancer or listener.
type Attribute struct {
	// Key of the attribute.
	Key string `json:"key"`

	// Value of the attribute.
	Value string `json:"value"`
}

// Listener holds attributes for the listeners of one protocol and port.
type Listener struct {
	// Protocol of the listener, HTTP or HTTPS.
	// +optional
	Protocol ListenerProtocol `json:"protocol,omitempty"`

	// Port of the listener.
	// +optional
	Port int32 `json:"port,omitempty"`

	// ListenerAttributes to set.
	// +optional
	ListenerAttributes []Attribute `json:"listenerAttributes,omitempty"`
}

// ListenerProtocol is the protocol of a listener.
type ListenerProtocol string

// MinimumLoadBalancerCapacity is a capacity reservation.
type MinimumLoadBalancerCapacity struct {
	// CapacityUnits are load balancer capacity units.
	CapacityUnits int32 `json:"capacityUnits"`
}

// IPAMConfiguration names the IPAM pool of the public addresses.
type IPAMConfiguration struct {
	// IPv4IPAMPoolId is the pool of public IPv4 addresses.
	// +optional
	IPv4IPAMPoolId *string `json:"ipv4IPAMPoolId,omitempty"` //nolint:revive // wire name
}

// IngressClassParamsSpec has settings that have precedence over the annotations of every Ingress of a class.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.prefixListsIDs) && has(self.PrefixListsIDs))",message="prefixListsIDs and PrefixListsIDs cannot both be set"
type IngressClassParamsSpec struct {
	// LoadBalancerName is the name of the load balancer.
	// +optional
	LoadBalancerName string `json:"loadBalancerName,omitempty"`

	// CertificateArn lists the certificates of the HTTPS listeners.
	// +optional
	CertificateArn []string `json:"certificateArn,omitempty"`

	// NamespaceSelector chooses the namespaces that may use the class; all if empty.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// Group is the IngressGroup that every Ingress of the class joins.
	// +optional
	Group *IngressGroup `json:"group,omitempty"`

	// Scheme of the load balancer.
	// +optional
	Scheme *LoadBalancerScheme `json:"scheme,omitempty"`

	// InboundCIDRs are the address ranges of the clients that are admitted.
	// +optional
	InboundCIDRs []string `json:"inboundCIDRs,omitempty"`

	// SSLPolicy of the HTTPS listeners.
	// +optional
	SSLPolicy string `json:"sslPolicy,omitempty"`

	// SSLRedirectPort is the HTTPS port to which HTTP requests are redirected.
	// +optional
	SSLRedirectPort string `json:"sslRedirectPort,omitempty"`

	// Subnets of the load balancer.
	// +optional
	Subnets *SubnetSelector `json:"subnets,omitempty"`

	// IPAddressType of the load balancer.
	// +optional
	IPAddressType *IPAddressType `json:"ipAddressType,omitempty"`

	// Tags of the AWS resources.
	// +optional
	Tags []Tag `json:"tags,omitempty"`

	// TargetType of the target groups.
	// +optional
	TargetType *TargetType `json:"targetType,omitempty"`

	// LoadBalancerAttributes to set.
	// +optional
	LoadBalancerAttributes []Attribute `json:"loadBalancerAttributes,omitempty"`

	// Listeners with attributes to set.
	// +optional
	Listeners []Listener `json:"listeners,omitempty"`

	// MinimumLoadBalancerCapacity to reserve.
	// +optional
	MinimumLoadBalancerCapacity *MinimumLoadBalancerCapacity `json:"minimumLoadBalancerCapacity,omitempty"`

	// IPAMConfiguration of the load balancer.
	// +optional
	IPAMConfiguration *IPAMConfiguration `json:"ipamConfiguration,omitempty"`

	// PrefixListsIDs are the managed prefix lists of the clients that are admitted.
	// +optional
	PrefixListsIDs []string `json:"prefixListsIDs,omitempty"`

	// PrefixListsIDsLegacy is the older spelling of prefixListsIDs.
	// +optional
	PrefixListsIDsLegacy []string `json:"PrefixListsIDs,omitempty"`

	// WAFv2ACLArn is the ARN of the web ACL.
	// +optional
	WAFv2ACLArn string `json:"wafv2AclArn,omitempty"`

	// WAFv2ACLName is the name of the web ACL.
	// +optional
	WAFv2ACLName string `json:"wafv2AclName,omitempty"`
}

// IngressClassParams holds settings for every Ingress of a class.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,singular=ingressclassparam
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="GROUP-NAME",type="string",JSONPath=".spec.group.name",description="The Ingress group's name"
// +kubebuilder:printcolumn:name="SCHEME",type="string",JSONPath=".spec.scheme",description="The load balancer's scheme"
// +kubebuilder:printcolumn:name="IP-ADDRESS-TYPE",type="string",JSONPath=".spec.ipAddressType",description="The load balancer's IP address type"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type IngressClassParams struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec IngressClassParamsSpec `json:"spec,omitempty"`
}

// IngressClassParamsList is a list of IngressClassParams.
//
// +kubebuilder:object:root=true
type IngressClassParamsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IngressClassParams `json:"items"`
}
