package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MergingMode decides whose values have precedence where a GatewayClass and a Gateway both have a
// LoadBalancerConfiguration.
//
// +kubebuilder:validation:Enum=prefer-gateway;prefer-gateway-class
type MergingMode string

// The merging modes.
const (
	PreferGateway      MergingMode = "prefer-gateway"
	PreferGatewayClass MergingMode = "prefer-gateway-class"
)

// LoadBalancerScheme is internet-facing for a load balancer with public addresses, and internal otherwise.
//
// +kubebuilder:validation:Enum=internal;internet-facing
type LoadBalancerScheme string

// The schemes.
const (
	SchemeInternal       LoadBalancerScheme = "internal"
	SchemeInternetFacing LoadBalancerScheme = "internet-facing"
)

// LoadBalancerIPAddressType is the address type of a load balancer.
//
// +kubebuilder:validation:Enum=ipv4;dualstack;dualstack-without-public-ipv4
type LoadBalancerIPAddressType string

// The address types of load balancers.
const (
	LoadBalancerIPv4                       LoadBalancerIPAddressType = "ipv4"
	LoadBalancerDualStack                  LoadBalancerIPAddressType = "dualstack"
	LoadBalancerDualStackWithoutPublicIPv4 LoadBalancerIPAddressType = "dualstack-without-public-ipv4"
)

// ALPNPolicy is the ALPN policy of a TLS listener of a Network Load Balancer.
//
// +kubebuilder:validation:Enum=HTTP1Only;HTTP2Only;HTTP2Optional;HTTP2Preferred;None
type ALPNPolicy string

// MutualAuthenticationMode is how a listener handles client certificates.
//
// +kubebuilder:validation:Enum=off;passthrough;verify
type MutualAuthenticationMode string

// The modes.
const (
	MutualAuthenticationOff         MutualAuthenticationMode = "off"
	MutualAuthenticationPassthrough MutualAuthenticationMode = "passthrough"
	MutualAuthenticationVerify      MutualAuthenticationMode = "verify"
)

// AdvertiseTrustStoreCANames is on if a listener sends the names of its certificate authorities to clients.
//
// +kubebuilder:validation:Enum=on;off
type AdvertiseTrustStoreCANames string

// Attribute of a load balancer, a listener or a target group.
type Attribute struct {
	// Key of the attribute.
	Key string `json:"key"`

	// Value of the attribute.
	Value string `json:"value"`
}

// SubnetConfiguration is a subnet of a load balancer, with its addresses. A field that is set in one entry of the list
// must be set in all entries.
type SubnetConfiguration struct {
	// Identifier is the ID or the Name tag of the subnet. Entries without identifiers are assigned, ascending by ID, to
	// the subnets of the selector; without a selector, to those of the existing load balancer, or else to those that subnet
	// discovery finds.
	// +optional
	Identifier string `json:"identifier,omitempty"`

	// EIPAllocation is the allocation ID of an Elastic IP address for the subnet of the entry. For internet-facing
	// Network Load Balancers.
	// +optional
	EIPAllocation *string `json:"eipAllocation,omitempty"`

	// PrivateIPv4Allocation is an IPv4 address of the subnet. For internal Network Load Balancers.
	// +optional
	PrivateIPv4Allocation *string `json:"privateIPv4Allocation,omitempty"`

	// IPv6Allocation is an IPv6 address of the subnet. For dualstack Network Load Balancers.
	// +optional
	IPv6Allocation *string `json:"ipv6Allocation,omitempty"`

	// SourceNatIPv6Prefix is a /80 prefix of the subnet, or auto_assigned, for source NAT. For Network Load Balancers.
	// +optional
	SourceNatIPv6Prefix *string `json:"sourceNatIPv6Prefix,omitempty"`
}

// MutualAuthentication is how a listener verifies client certificates.
//
// +kubebuilder:validation:XValidation:rule="!(self.mode == 'verify' && !has(self.trustStore))",message="trustStore is required when mode is 'verify'"
// +kubebuilder:validation:XValidation:rule="!(self.mode != 'verify' && has(self.trustStore))",message="trustStore is only for mode 'verify'"
// +kubebuilder:validation:XValidation:rule="!(self.mode != 'verify' && has(self.ignoreClientCertificateExpiry))",message="ignoreClientCertificateExpiry is only for mode 'verify'"
// +kubebuilder:validation:XValidation:rule="!(self.mode != 'verify' && has(self.advertiseTrustStoreCaNames))",message="advertiseTrustStoreCaNames is only for mode 'verify'"
type MutualAuthentication struct {
	// Mode of the authentication.
	Mode MutualAuthenticationMode `json:"mode"`

	// TrustStore is the name or ARN of a trust store.
	// +optional
	TrustStore *string `json:"trustStore,omitempty"`

	// IgnoreClientCertificateExpiry admits certificates that have expired. Default: false.
	// +optional
	IgnoreClientCertificateExpiry *bool `json:"ignoreClientCertificateExpiry,omitempty"`

	// AdvertiseTrustStoreCANames sends the names of the certificate authorities in the trust store to clients. Default:
	// off.
	// +optional
	AdvertiseTrustStoreCANames *AdvertiseTrustStoreCANames `json:"advertiseTrustStoreCaNames,omitempty"`
}

// ListenerConfiguration has the settings of a listener besides its protocol and port.
type ListenerConfiguration struct {
	// ProtocolPort is the protocol and port of the listener, such as HTTPS:443.
	// +kubebuilder:validation:Pattern=`^(HTTP|HTTPS|TLS|TCP|UDP|TCP_UDP)?:(6553[0-5]|655[0-2]\d|65[0-4]\d{2}|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3})?$`
	ProtocolPort string `json:"protocolPort"`

	// DefaultCertificate is the ARN of the certificate for clients whose host no other certificate covers, or that send
	// no host.
	// +optional
	DefaultCertificate *string `json:"defaultCertificate,omitempty"`

	// Certificates are the ARNs of further certificates. Without defaultCertificate, the first of them is the default.
	// +optional
	Certificates []string `json:"certificates,omitempty"`

	// SSLPolicy is the name of a security policy. Default: the flag --default-ssl-policy of the controller.
	// +optional
	SSLPolicy *string `json:"sslPolicy,omitempty"`

	// ALPNPolicy of a TLS listener of a Network Load Balancer.
	// +kubebuilder:default="None"
	// +optional
	ALPNPolicy *ALPNPolicy `json:"alpnPolicy,omitempty"`

	// TargetGroupStickiness keeps the connections of a client on the target group that received its first one. For
	// Network Load Balancers.
	// +optional
	TargetGroupStickiness *bool `json:"targetGroupStickiness,omitempty"`

	// MutualAuthentication of an HTTPS listener of an Application Load Balancer. Default: off.
	// +optional
	MutualAuthentication *MutualAuthentication `json:"mutualAuthentication,omitempty"`

	// ListenerAttributes are attributes to set. Other attributes are not changed. They have no effect on listeners with
	// protocol TLS.
	// +optional
	ListenerAttributes []Attribute `json:"listenerAttributes,omitempty"`

	// QUICEnabled changes the protocol of a UDP listener to QUIC, and that of a TCP_UDP listener to TCP_QUIC. For
	// Network Load Balancers. Default: false.
	// +optional
	QUICEnabled *bool `json:"quicEnabled,omitempty"`
}

// MinimumLoadBalancerCapacity is a capacity reservation.
type MinimumLoadBalancerCapacity struct {
	// CapacityUnits to reserve; 0 resets the reservation.
	CapacityUnits int32 `json:"capacityUnits"`
}

// WAFv2Configuration associates a web ACL.
type WAFv2Configuration struct {
	// WebACL is the ARN of a web ACL.
	WebACL string `json:"webACL"`
}

// ShieldConfiguration configures the protection by AWS Shield Advanced.
type ShieldConfiguration struct {
	// Enabled protects the load balancer.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// DefaultTargetGroupConfiguration names a TargetGroupConfiguration of the same namespace.
type DefaultTargetGroupConfiguration struct {
	// Name of the TargetGroupConfiguration, which must have no targetReference.
	Name string `json:"name"`
}

// LoadBalancerConfigurationSpec has the settings of a load balancer. If a field is not set, the default of the
// controller is used.
type LoadBalancerConfigurationSpec struct {
	// MergingMode decides whose values have precedence. It is read from the configuration of the GatewayClass. Default:
	// prefer-gateway-class.
	// +optional
	MergingMode *MergingMode `json:"mergingMode,omitempty"`

	// LoadBalancerName is the name of the load balancer. Default: generated.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +optional
	LoadBalancerName *string `json:"loadBalancerName,omitempty"`

	// Scheme of the load balancer. Default: the flag --default-load-balancer-scheme of the controller.
	// +optional
	Scheme *LoadBalancerScheme `json:"scheme,omitempty"`

	// IPAddressType of the load balancer. Default: ipv4.
	// +optional
	IPAddressType *LoadBalancerIPAddressType `json:"ipAddressType,omitempty"`

	// EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic is on or off. For Network Load Balancers.
	// +optional
	EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic *string `json:"enforceSecurityGroupInboundRulesOnPrivateLinkTraffic,omitempty"`

	// CustomerOwnedIPv4Pool is the ID of an address pool of an Outpost. For Application Load Balancers.
	// +optional
	CustomerOwnedIPv4Pool *string `json:"customerOwnedIpv4Pool,omitempty"`

	// IPv4IPAMPoolID is the ID of an IPAM pool for public addresses. For Application Load Balancers.
	// +optional
	IPv4IPAMPoolID *string `json:"ipv4IPAMPoolId,omitempty"`

	// LoadBalancerSubnets are the subnets. Default: those that the selector or discovery finds.
	// +optional
	LoadBalancerSubnets *[]SubnetConfiguration `json:"loadBalancerSubnets,omitempty"`

	// LoadBalancerSubnetsSelector chooses subnets by tags, for each key one of the values. It has no effect if
	// loadBalancerSubnets has identifiers.
	// +optional
	LoadBalancerSubnetsSelector *map[string][]string `json:"loadBalancerSubnetsSelector,omitempty"`

	// ListenerConfigurations are the settings of listeners, by protocol and port.
	// +optional
	ListenerConfigurations *[]ListenerConfiguration `json:"listenerConfigurations,omitempty"`

	// DisableSecurityGroup creates a Network Load Balancer without security groups. Default: false.
	// +optional
	DisableSecurityGroup *bool `json:"disableSecurityGroup,omitempty"`

	// SecurityGroups are ids or names. Default: a security group that the controller manages.
	// +optional
	SecurityGroups *[]string `json:"securityGroups,omitempty"`

	// SecurityGroupPrefixes are ids of prefix lists that the managed security group admits, in addition to sourceRanges.
	// +optional
	SecurityGroupPrefixes *[]string `json:"securityGroupPrefixes,omitempty"`

	// SourceRanges are the address ranges, in CIDR notation, that the managed security group admits.
	// Default: 0.0.0.0/0 and ::/0. An empty list admits none.
	// +optional
	SourceRanges *[]string `json:"sourceRanges,omitempty"`

	// LoadBalancerAttributes are attributes to set. Other attributes are not changed.
	// +optional
	LoadBalancerAttributes []Attribute `json:"loadBalancerAttributes,omitempty"`

	// Tags of the load balancer, its listeners and the managed security group.
	// +optional
	Tags *map[string]string `json:"tags,omitempty"`

	// EnableICMP admits the ICMP messages of path MTU discovery in the managed security group. Default: false.
	// +optional
	EnableICMP *bool `json:"enableICMP,omitempty"`

	// ManageBackendSecurityGroupRules manages rules that admit the load balancer in the security groups of nodes and
	// pods, if securityGroups is set. Default: false.
	// +optional
	ManageBackendSecurityGroupRules *bool `json:"manageBackendSecurityGroupRules,omitempty"`

	// MinimumLoadBalancerCapacity is a capacity reservation.
	// +optional
	MinimumLoadBalancerCapacity *MinimumLoadBalancerCapacity `json:"minimumLoadBalancerCapacity,omitempty"`

	// WAFv2 is the web ACL of the load balancer. For Application Load Balancers.
	// +optional
	WAFv2 *WAFv2Configuration `json:"wafV2,omitempty"`

	// ShieldConfiguration of the load balancer. For Application Load Balancers.
	// +optional
	ShieldConfiguration *ShieldConfiguration `json:"shieldConfiguration,omitempty"`

	// DefaultTargetGroupConfiguration has the properties of target groups that the TargetGroupConfiguration of a Service
	// does not set.
	// +optional
	DefaultTargetGroupConfiguration *DefaultTargetGroupConfiguration `json:"defaultTargetGroupConfiguration,omitempty"`
}

// ConfigurationStatus reports which generations of a configuration are in use.
type ConfigurationStatus struct {
	// ObservedGatewayConfigurationGeneration is the generation that Gateways use.
	// +optional
	ObservedGatewayConfigurationGeneration *int64 `json:"observedGatewayConfigurationGeneration,omitempty"`

	// ObservedGatewayClassConfigurationGeneration is the generation that GatewayClasses use.
	// +optional
	ObservedGatewayClassConfigurationGeneration *int64 `json:"observedGatewayClassConfigurationGeneration,omitempty"`
}

// LoadBalancerConfiguration describes the load balancers of a GatewayClass, by spec.parametersRef, or of a
// Gateway, by spec.infrastructure.parametersRef.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="NAME-IN-AWS",type="string",JSONPath=".spec.loadBalancerName",description="The load balancer's name, if it is set"
// +kubebuilder:printcolumn:name="SCHEME",type="string",JSONPath=".spec.scheme",description="The load balancer's scheme"
// +kubebuilder:printcolumn:name="IP-ADDRESS-TYPE",type="string",JSONPath=".spec.ipAddressType",description="The load balancer's IP address type"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type LoadBalancerConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec LoadBalancerConfigurationSpec `json:"spec,omitempty"`
	// +optional
	Status ConfigurationStatus `json:"status,omitempty"`
}

// LoadBalancerConfigurationList is a list of LoadBalancerConfigurations.
//
// +kubebuilder:object:root=true
type LoadBalancerConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadBalancerConfiguration `json:"items"`
}
