package cluster

// Kind is a Kubernetes kind that translators read.
type Kind string

// The kinds.
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

// PlanAnnotation of an Ingress holds the plan of its load balancer. The controller writes it for
// others and never reads what it says, so a change of it is no change of the Ingress.
const PlanAnnotation = "alb.ingress.kubernetes.io/dry-run-plan"

// Annotations of a Gateway.
const (
	// GatewayPlanAnnotation holds the plan of a Gateway with naming.DryRunAnnotation, for others to read.
	GatewayPlanAnnotation = "gateway.k8s.aws/dry-run-plan"
	// AddonAnnotationPrefix is followed by the name of an add-on of the load balancer, and reports whether it
	// is in use.
	AddonAnnotationPrefix = "gateway.k8s.aws.addon."
)

// Annotations of a GatewayClass that aws-load-balancer-controller reads after a take-over.
const (
	ProcessedConfigAnnotation   = "elbv2.k8s.aws/last-processed-config"
	ProcessedConfigAtAnnotation = "elbv2.k8s.aws/last-processed-config-timestamp"
)

// ownPrefix begins annotations that only this controller knows.
const ownPrefix = "fulcrum.dev/"

// LoadBalancerGroupAnnotation of a Service names the load balancer that it shares.
const LoadBalancerGroupAnnotation = ownPrefix + "load-balancer-group"

// Index names a way to look objects up by something else than their name. IndexValues computes
// the values of an object.
type Index string

// The indexes.
const (
	// ByFinalizer: each finalizer of a stack that an object carries. Kinds with this index are roots.
	ByFinalizer Index = "finalizer"
	// IngressByGroup: value of the group.name annotation.
	IngressByGroup Index = "group"
	// IngressByClass: spec.ingressClassName, or "" if unset.
	IngressByClass Index = "class"
	// ClassByParams: name of the IngressClassParams that an IngressClass names.
	ClassByParams Index = "params"
	// ParamsByGroup: spec.group.name of IngressClassParams.
	ParamsByGroup Index = "paramsGroup"
	// ServiceByGroup: "namespace/name" of each load balancer that a Service shares, by the LoadBalancerGroupAnnotation
	// or a finalizer; "" for each Service with the finalizer of any.
	ServiceByGroup Index = "loadBalancerGroup"
	// SliceByService: "namespace/service" of an EndpointSlice.
	SliceByService Index = "service"
	// BindingByService: "namespace/service" of a TargetGroupBinding.
	BindingByService Index = "bindingService"
	// BindingByStack: "prefix|stack id" from the stack labels of a TargetGroupBinding.
	BindingByStack Index = "stack"
	// BindingByTargetGroup: name of the target group of a TargetGroupBinding, which may name it by its ARN.
	BindingByTargetGroup Index = "targetGroup"
	// PodByGate: "namespace/binding" of each readiness gate of ours on a Pod.
	PodByGate Index = "gate"
	// PodByAddress: each address that a Pod which has not finished holds, in canonical form;
	// "namespace/address" for a Pod of the host network.
	PodByAddress Index = "address"

	// GatewayByClass: name of the GatewayClass of a Gateway.
	GatewayByClass Index = "gatewayClass"
	// GatewayByAdopted: value of the naming.AdoptAnnotation of a Gateway, with the namespace of what it names written out.
	GatewayByAdopted Index = "adopted"
	// GatewayByConfiguration: name of the LoadBalancerConfiguration, of its namespace, that a Gateway names.
	GatewayByConfiguration Index = "gatewayConfiguration"
	// ClassByConfiguration: "namespace/name" of the LoadBalancerConfiguration that a GatewayClass names.
	ClassByConfiguration Index = "classConfiguration"
	// ClassByController: name of the controller of a GatewayClass.
	ClassByController Index = "controller"
	// SetByGateway: "namespace/name" of the Gateway of a ListenerSet.
	SetByGateway Index = "setGateway"
	// RouteByParent: ParentValue of each parent that a route names, or that its status has an entry for.
	RouteByParent Index = "parent"
	// RouteByBackend: BackendValue of each backend of a route.
	RouteByBackend Index = "backend"
	// RouteByConfiguration: name of each ListenerRuleConfiguration that a rule of the route names; it is of the same
	// namespace.
	RouteByConfiguration Index = "routeConfiguration"
	// ConfigurationByDefault: name of the TargetGroupConfiguration that a LoadBalancerConfiguration has as its default; it
	// is of the same namespace.
	ConfigurationByDefault Index = "defaultConfiguration"
	// TargetsByReference: BackendValue of the object that a TargetGroupConfiguration is about.
	TargetsByReference Index = "targetReference"
)
