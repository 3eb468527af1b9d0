package cluster

// Kind is a kind of Kubernetes objects that the controller reads.
type Kind = string

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

// IngressPlanAnnotation is the annotation in which the controller writes the plan of the load balancer of an Ingress. The
// controller never reads it, so a change of its value is ignored.
const IngressPlanAnnotation = "alb.ingress.kubernetes.io/dry-run-plan"

// Annotations that the controller writes to a Gateway.
const (
	// GatewayPlanAnnotation is the annotation in which the controller writes the plan of a Gateway that has
	// naming.DryRunAnnotation. The controller never reads it.
	GatewayPlanAnnotation = "gateway.k8s.aws/dry-run-plan"
	// AddonAnnotationPrefix is the prefix of the annotations that report whether the load balancer uses an add-on. The rest
	// of the key is the name of the add-on.
	AddonAnnotationPrefix = "gateway.k8s.aws.addon."
)

// Annotations of a GatewayClass with the last processed versions of its configuration, and the time of the processing. If
// aws-load-balancer-controller takes over the GatewayClass, it reads these annotations.
const (
	ProcessedConfigAnnotation   = "elbv2.k8s.aws/last-processed-config"
	ProcessedConfigAtAnnotation = "elbv2.k8s.aws/last-processed-config-timestamp"
)

// fulcrumAnnotationPrefix is the prefix of annotations that aws-load-balancer-controller does not have.
const fulcrumAnnotationPrefix = "fulcrum.dev/"

// LoadBalancerGroupAnnotation is the annotation of a Service with the name of the load balancer that the Service shares.
const LoadBalancerGroupAnnotation = fulcrumAnnotationPrefix + "load-balancer-group"

// Index is the name of an index. An index lists objects under values, so that a Query can select the objects with one value.
// IndexValues returns the values of an object.
type Index string

// The indexes, each with the values under which it lists an object.
const (
	// ByFinalizer lists an object under each finalizer that this controller has added to it because of a stack. The root kinds
	// (IsRootKind) have this index.
	ByFinalizer Index = "finalizer"
	// IngressByGroupName lists Ingresses under the value of their group.name annotation.
	IngressByGroupName Index = "group"
	// IngressByClass lists Ingresses under spec.ingressClassName, or under "" if it is not set.
	IngressByClass Index = "class"
	// ClassByParams lists IngressClasses under the name of their IngressClassParams.
	ClassByParams Index = "params"
	// ParamsByGroupName lists IngressClassParams under spec.group.name.
	ParamsByGroupName Index = "paramsGroup"
	// ServiceBySharedLoadBalancer lists Services under "namespace/name" of each load balancer that they share according to
	// LoadBalancerGroupAnnotation or a finalizer. Services with such a finalizer are also listed under "".
	ServiceBySharedLoadBalancer Index = "loadBalancerGroup"
	// EndpointSliceByService lists EndpointSlices under "namespace/name" of their Service.
	EndpointSliceByService Index = "service"
	// BindingByService lists TargetGroupBindings under "namespace/name" of their Service.
	BindingByService Index = "bindingService"
	// BindingByStack lists TargetGroupBindings under the StackValue of the stack that their labels name.
	BindingByStack Index = "stack"
	// BindingByTargetGroup lists TargetGroupBindings under the result of TargetGroupName.
	BindingByTargetGroup Index = "targetGroup"
	// PodByReadinessGate lists Pods under "namespace/name" of each TargetGroupBinding that a readiness gate names.
	PodByReadinessGate Index = "gate"
	// PodByAddress lists Pods under each address in canonical form, and Pods in the host network under "namespace/address".
	// It does not list finished Pods.
	PodByAddress Index = "address"

	// GatewayByClass lists Gateways under the name of their GatewayClass.
	GatewayByClass Index = "gatewayClass"
	// GatewayByAdoptedStack lists Gateways under naming.AdoptAnnotationValue of the stack whose load balancer they take
	// over.
	GatewayByAdoptedStack Index = "adopted"
	// GatewayByConfiguration lists Gateways under the name of their LoadBalancerConfiguration, which is in the same
	// namespace.
	GatewayByConfiguration Index = "gatewayConfiguration"
	// GatewayClassByConfiguration lists GatewayClasses under "namespace/name" of their LoadBalancerConfiguration.
	GatewayClassByConfiguration Index = "classConfiguration"
	// GatewayClassByController lists GatewayClasses under spec.controllerName.
	GatewayClassByController Index = "controller"
	// ListenerSetByGateway lists ListenerSets under "namespace/name" of the Gateway in their parentRef.
	ListenerSetByGateway Index = "setGateway"
	// RouteByParent lists routes under Ref.String of each parent in their parentRefs and in their status.
	RouteByParent Index = "parent"
	// RouteByBackend lists routes under the BackendValue of each backend.
	RouteByBackend Index = "backend"
	// RouteByConfiguration lists routes under the name of each ListenerRuleConfiguration that their rules name. A route can
	// only name a ListenerRuleConfiguration of its own namespace.
	RouteByConfiguration Index = "routeConfiguration"
	// ConfigurationByDefaultTargetGroup lists LoadBalancerConfigurations under the name of their default
	// TargetGroupConfiguration, which is in the same namespace.
	ConfigurationByDefaultTargetGroup Index = "defaultConfiguration"
	// TargetConfigurationByReference lists TargetGroupConfigurations under the BackendValue of their targetReference.
	TargetConfigurationByReference Index = "targetReference"
)
