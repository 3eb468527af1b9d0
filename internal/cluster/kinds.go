package cluster

// Kind is a kind of Kubernetes objects that the controller reads.
type Kind string

// The kinds that the controller reads.
const (
	KindIngress            Kind = "Ingress"
	KindIngressClass       Kind = "IngressClass"
	KindIngressClassParams Kind = "IngressClassParams"
	KindService            Kind = "Service"
	KindSecret             Kind = "Secret"
	KindNamespace          Kind = "Namespace"
	KindNode               Kind = "Node"
	KindPod                Kind = "Pod"
	KindEndpointSlice      Kind = "EndpointSlice"
	KindEndpoints          Kind = "Endpoints"
	KindBinding            Kind = "TargetGroupBinding"

	KindGatewayClass   Kind = "GatewayClass"
	KindGateway        Kind = "Gateway"
	KindListenerSet    Kind = "ListenerSet"
	KindHTTPRoute      Kind = "HTTPRoute"
	KindGRPCRoute      Kind = "GRPCRoute"
	KindTCPRoute       Kind = "TCPRoute"
	KindUDPRoute       Kind = "UDPRoute"
	KindTLSRoute       Kind = "TLSRoute"
	KindReferenceGrant Kind = "ReferenceGrant"

	KindLoadBalancerConfiguration Kind = "LoadBalancerConfiguration"
	KindTargetGroupConfiguration  Kind = "TargetGroupConfiguration"
	KindListenerRuleConfiguration Kind = "ListenerRuleConfiguration"

	KindGlobalAccelerator Kind = "GlobalAccelerator"
)

// RouteKinds are the kinds of routes of the Gateway API.
var RouteKinds = []Kind{KindHTTPRoute, KindGRPCRoute, KindTCPRoute, KindUDPRoute, KindTLSRoute}

// IngressPlanAnnotation is the annotation of an Ingress with the plan of its load balancer. The controller writes the
// annotation and never reads it, so a change of its value is ignored.
const IngressPlanAnnotation = "alb.ingress.kubernetes.io/dry-run-plan"

// Annotations that the controller writes to a Gateway.
const (
	// GatewayPlanAnnotation is the annotation with the plan of a Gateway with naming.DryRunAnnotation. The controller never
	// reads it.
	GatewayPlanAnnotation = "gateway.k8s.aws/dry-run-plan"
	// AddonAnnotationPrefix is the prefix of annotations that report whether an add-on of the load balancer is used. It is
	// followed by the name of the add-on.
	AddonAnnotationPrefix = "gateway.k8s.aws.addon."
)

// Annotations of a GatewayClass that aws-load-balancer-controller reads after a take-over.
const (
	ProcessedConfigAnnotation   = "elbv2.k8s.aws/last-processed-config"
	ProcessedConfigAtAnnotation = "elbv2.k8s.aws/last-processed-config-timestamp"
)

// fulcrumAnnotationPrefix is the prefix of annotations that aws-load-balancer-controller does not have.
const fulcrumAnnotationPrefix = "fulcrum.dev/"

// LoadBalancerGroupAnnotation is the annotation of a Service with the name of the load balancer that the Service shares.
const LoadBalancerGroupAnnotation = fulcrumAnnotationPrefix + "load-balancer-group"

// Index is the name of an index, by which objects are listed by a value. IndexValues returns the values of an object.
type Index string

// The indexes, each with the values under which it lists an object.
const (
	// ByFinalizer: each finalizer of a stack that an object has. The kinds with this index are those of RootKinds.
	ByFinalizer Index = "finalizer"
	// IngressByGroupName: value of the group.name annotation.
	IngressByGroupName Index = "group"
	// IngressByClass: spec.ingressClassName, or "" if unset.
	IngressByClass Index = "class"
	// ClassByParams: name of the IngressClassParams that an IngressClass names.
	ClassByParams Index = "params"
	// ParamsByGroupName: spec.group.name of IngressClassParams.
	ParamsByGroupName Index = "paramsGroup"
	// ServiceBySharedLoadBalancer: "namespace/name" of each load balancer that a Service shares, by the
	// LoadBalancerGroupAnnotation or a finalizer; "" for each Service with a finalizer of a shared load balancer.
	ServiceBySharedLoadBalancer Index = "loadBalancerGroup"
	// EndpointSliceByService: "namespace/service" of an EndpointSlice.
	EndpointSliceByService Index = "service"
	// BindingByService: "namespace/service" of a TargetGroupBinding.
	BindingByService Index = "bindingService"
	// BindingByStack: "prefix|stack id" from the stack labels of a TargetGroupBinding.
	BindingByStack Index = "stack"
	// BindingByTargetGroup: name of the target group of a TargetGroupBinding, which may name it by its ARN.
	BindingByTargetGroup Index = "targetGroup"
	// PodByReadinessGate: "namespace/binding" of each readiness gate of a Pod that the controller sets.
	PodByReadinessGate Index = "gate"
	// PodByAddress: each address that a Pod uses, in canonical form; "namespace/address" for a Pod in the host network. A
	// finished Pod uses none.
	PodByAddress Index = "address"

	// GatewayByClass: name of the GatewayClass of a Gateway.
	GatewayByClass Index = "gatewayClass"
	// GatewayByAdoptedStack: naming.AdoptAnnotationValue of the stack that a Gateway takes over.
	GatewayByAdoptedStack Index = "adopted"
	// GatewayByConfiguration: name of the LoadBalancerConfiguration, of its namespace, that a Gateway names.
	GatewayByConfiguration Index = "gatewayConfiguration"
	// GatewayClassByConfiguration: "namespace/name" of the LoadBalancerConfiguration that a GatewayClass names.
	GatewayClassByConfiguration Index = "classConfiguration"
	// GatewayClassByController: name of the controller of a GatewayClass.
	GatewayClassByController Index = "controller"
	// ListenerSetByGateway: "namespace/name" of the Gateway of a ListenerSet.
	ListenerSetByGateway Index = "setGateway"
	// RouteByParent: the text of the Ref of each parent that a route names, or that its status has an entry for.
	RouteByParent Index = "parent"
	// RouteByBackend: BackendValue of each backend of a route.
	RouteByBackend Index = "backend"
	// RouteByConfiguration: name of each ListenerRuleConfiguration that a rule of the route names; it is of the same
	// namespace.
	RouteByConfiguration Index = "routeConfiguration"
	// ConfigurationByDefaultTargetGroup: name of the TargetGroupConfiguration that a LoadBalancerConfiguration has as its
	// default; it is of the same namespace.
	ConfigurationByDefaultTargetGroup Index = "defaultConfiguration"
	// TargetConfigurationByReference: BackendValue of the object that a TargetGroupConfiguration refers to.
	TargetConfigurationByReference Index = "targetReference"
)
