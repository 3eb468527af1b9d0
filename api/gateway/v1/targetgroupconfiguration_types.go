package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TargetType is the type of the targets: instances or IP addresses.
//
// +kubebuilder:validation:Enum=instance;ip
type TargetType string

// The target types.
const (
	TargetTypeInstance TargetType = "instance"
	TargetTypeIP       TargetType = "ip"
)

// TargetGroupIPAddressType of a target group.
//
// +kubebuilder:validation:Enum=ipv4;ipv6
type TargetGroupIPAddressType string

// The address types of target groups.
const (
	TargetGroupIPv4 TargetGroupIPAddressType = "ipv4"
	TargetGroupIPv6 TargetGroupIPAddressType = "ipv6"
)

// Protocol of a target group.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS;TCP;TLS;UDP;TCP_UDP
type Protocol string

// ProtocolVersion of a target group of an Application Load Balancer.
//
// +kubebuilder:validation:Enum=HTTP1;HTTP2;GRPC
type ProtocolVersion string

// HealthCheckProtocol is the protocol of a health check.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS;TCP
type HealthCheckProtocol string

// TargetReference names the object whose target groups are configured, in the same namespace.
type TargetReference struct {
	// Group of the object.
	// +kubebuilder:default=""
	// +optional
	Group *string `json:"group,omitempty"`

	// Kind of the object: Service or Gateway.
	// +kubebuilder:default=Service
	// +optional
	Kind *string `json:"kind,omitempty"`

	// Name of the object.
	Name string `json:"name"`
}

// HealthCheckMatcher has the response codes of a healthy target.
type HealthCheckMatcher struct {
	// HTTPCode has HTTP status codes or ranges of them, such as 200-399.
	// +optional
	HTTPCode *string `json:"httpCode,omitempty"`

	// GRPCCode has gRPC status codes or ranges of them, such as 0-12.
	// +optional
	GRPCCode *string `json:"grpcCode,omitempty"`
}

// HealthCheckConfiguration is the health check of a target group. If a field is not set, its default is used.
type HealthCheckConfiguration struct {
	// HealthyThresholdCount is the number of successes after which a target is healthy.
	// +optional
	HealthyThresholdCount *int32 `json:"healthyThresholdCount,omitempty"`

	// HealthCheckInterval is the time between checks, in seconds.
	// +optional
	HealthCheckInterval *int32 `json:"healthCheckInterval,omitempty"`

	// HealthCheckPath is the path of an HTTP health check.
	// +optional
	HealthCheckPath *string `json:"healthCheckPath,omitempty"`

	// HealthCheckPort is traffic-port, a number, or the name of a port of the Service.
	// +optional
	HealthCheckPort *string `json:"healthCheckPort,omitempty"`

	// HealthCheckProtocol is the protocol of the check.
	// +optional
	HealthCheckProtocol *HealthCheckProtocol `json:"healthCheckProtocol,omitempty"`

	// HealthCheckTimeout is the maximum time until a response, in seconds.
	// +optional
	HealthCheckTimeout *int32 `json:"healthCheckTimeout,omitempty"`

	// UnhealthyThresholdCount is the number of failures after which a target is unhealthy.
	// +optional
	UnhealthyThresholdCount *int32 `json:"unhealthyThresholdCount,omitempty"`

	// Matcher has the response codes of a healthy target.
	// +optional
	Matcher *HealthCheckMatcher `json:"matcher,omitempty"`
}

// TargetGroupProps are properties of target groups. If a field is not set, its default is used.
type TargetGroupProps struct {
	// TargetGroupName is the name of the target group. Default: generated.
	// +optional
	TargetGroupName *string `json:"targetGroupName,omitempty"`

	// IPAddressType of the targets. Default: the address family of the Service.
	// +optional
	IPAddressType *TargetGroupIPAddressType `json:"ipAddressType,omitempty"`

	// HealthCheckConfig is the health check.
	// +optional
	HealthCheckConfig *HealthCheckConfiguration `json:"healthCheckConfig,omitempty"`

	// NodeSelector chooses the nodes that are registered, for target type instance. Default: all.
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`

	// TargetGroupAttributes are attributes to set. Other attributes are not changed.
	// +optional
	TargetGroupAttributes []Attribute `json:"targetGroupAttributes,omitempty"`

	// TargetType is the type of the targets. Default: the flag --default-target-type of the controller.
	// +optional
	TargetType *TargetType `json:"targetType,omitempty"`

	// Protocol between load balancer and targets: HTTP or HTTPS behind an Application Load Balancer, another one behind a
	// Network Load Balancer. Default: HTTP, or the protocol of the kind of route. Listeners with protocol TCP_UDP, QUIC or
	// TCP_QUIC require their own protocol.
	// +optional
	Protocol *Protocol `json:"protocol,omitempty"`

	// ProtocolVersion between an HTTPS listener and the targets. Default: GRPC for a GRPCRoute, HTTP2 for a port of a Service
	// with appProtocol kubernetes.io/h2c, otherwise HTTP1. For HTTP listeners it is always HTTP1.
	// +optional
	ProtocolVersion *ProtocolVersion `json:"protocolVersion,omitempty"`

	// TargetControlPort is the port of the target optimizer.
	// +optional
	TargetControlPort *int32 `json:"targetControlPort,omitempty"`

	// EnableMultiCluster lets other clusters register targets in the target group as well. Default: false.
	// +optional
	EnableMultiCluster *bool `json:"enableMultiCluster,omitempty"`

	// Tags of the target group.
	// +optional
	Tags *map[string]string `json:"tags,omitempty"`
}

// RouteIdentifier selects the routes of a kind, those of a kind and namespace, or a single route.
type RouteIdentifier struct {
	// Kind of the routes, such as HTTPRoute. Without it, no route is selected.
	// +optional
	RouteKind string `json:"kind,omitempty"`

	// Namespace of the routes. Default: all namespaces.
	// +optional
	RouteNamespace string `json:"namespace,omitempty"`

	// Name of a route of the namespace, which must be set too. Default: all routes.
	// +optional
	RouteName string `json:"name,omitempty"`
}

// RouteConfiguration has the properties of the target groups of some routes.
type RouteConfiguration struct {
	// RouteIdentifier selects the routes. Of several entries that select a route, only the most specific one is used.
	RouteIdentifier RouteIdentifier `json:"routeIdentifier"`

	// TargetGroupProps are the properties.
	TargetGroupProps TargetGroupProps `json:"targetGroupProps"`
}

// TargetGroupConfigurationSpec has the properties of the target groups of an object.
type TargetGroupConfigurationSpec struct {
	// TargetReference names the Service or Gateway. Without it, the configuration can be the default in a
	// LoadBalancerConfiguration.
	// +optional
	TargetReference *TargetReference `json:"targetReference,omitempty"`

	// DefaultConfiguration has the properties for all routes.
	// +optional
	DefaultConfiguration TargetGroupProps `json:"defaultConfiguration,omitempty"`

	// RouteConfigurations have the properties for some routes, which have precedence over those for all routes.
	// +optional
	RouteConfigurations []RouteConfiguration `json:"routeConfigurations,omitempty"`
}

// TargetGroupConfiguration describes target groups of a Service or a Gateway.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="SERVICE-NAME",type="string",JSONPath=".spec.targetReference.name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type TargetGroupConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec TargetGroupConfigurationSpec `json:"spec,omitempty"`
	// +optional
	Status ConfigurationStatus `json:"status,omitempty"`
}

// TargetGroupConfigurationList is a list of TargetGroupConfigurations.
//
// +kubebuilder:object:root=true
type TargetGroupConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TargetGroupConfiguration `json:"items"`
}
