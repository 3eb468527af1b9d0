package cluster

//lint:file-ignore SA1019 Endpoints objects are read where --enable-endpoint-slices=false asks for them.

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
)

// Type is what there is to know about a kind: where the API serves it and which Go types carry it.
type Type struct {
	Kind       Kind
	GVK        schema.GroupVersionKind
	Namespaced bool
	// Indexes that the kind can be listed by.
	Indexes []Index
	// New returns an empty object, NewList an empty list of them.
	New     func() Object
	NewList func() client.ObjectList
}

// Types lists every kind, in the order of the constants.
func Types() []Type { return slices.Clone(kindTable) }

var (
	coreV1 = corev1.SchemeGroupVersion
	netV1  = networkingv1.SchemeGroupVersion
	gwV1   = gwv1.SchemeGroupVersion

	kindTable = []Type{
		{KindIngress, netV1.WithKind("Ingress"), true, []Index{IngressByGroup, ByFinalizer, IngressByClass},
			func() Object { return &networkingv1.Ingress{} }, func() client.ObjectList { return &networkingv1.IngressList{} }},
		{KindIngressClass, netV1.WithKind("IngressClass"), false, []Index{ClassByParams},
			func() Object { return &networkingv1.IngressClass{} }, func() client.ObjectList { return &networkingv1.IngressClassList{} }},
		{KindIngressClassParams, elbv2.GroupVersion.WithKind("IngressClassParams"), false, []Index{ParamsByGroup},
			func() Object { return &elbv2.IngressClassParams{} }, func() client.ObjectList { return &elbv2.IngressClassParamsList{} }},
		{KindService, coreV1.WithKind("Service"), true, []Index{ByFinalizer, ServiceByGroup},
			func() Object { return &corev1.Service{} }, func() client.ObjectList { return &corev1.ServiceList{} }},
		{KindSecret, coreV1.WithKind("Secret"), true, nil,
			func() Object { return &corev1.Secret{} }, func() client.ObjectList { return &corev1.SecretList{} }},
		{KindNamespace, coreV1.WithKind("Namespace"), false, nil,
			func() Object { return &corev1.Namespace{} }, func() client.ObjectList { return &corev1.NamespaceList{} }},
		{KindNode, coreV1.WithKind("Node"), false, nil,
			func() Object { return &corev1.Node{} }, func() client.ObjectList { return &corev1.NodeList{} }},
		{KindPod, coreV1.WithKind("Pod"), true, []Index{PodByGate, PodByAddress},
			func() Object { return &corev1.Pod{} }, func() client.ObjectList { return &corev1.PodList{} }},
		{KindEndpointSlice, discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), true, []Index{SliceByService},
			func() Object { return &discoveryv1.EndpointSlice{} }, func() client.ObjectList { return &discoveryv1.EndpointSliceList{} }},
		// Kubernetes has deprecated Endpoints; operators may still choose them.
		{KindEndpoints, coreV1.WithKind("Endpoints"), true, nil,
			func() Object { return &corev1.Endpoints{} }, func() client.ObjectList { return &corev1.EndpointsList{} }}, //nolint:staticcheck // see above
		{KindBinding, elbv2.GroupVersion.WithKind("TargetGroupBinding"), true, []Index{BindingByService, BindingByStack, BindingByTargetGroup},
			func() Object { return &elbv2.TargetGroupBinding{} }, func() client.ObjectList { return &elbv2.TargetGroupBindingList{} }},
		{KindGatewayClass, gwV1.WithKind("GatewayClass"), false, []Index{ClassByController, ClassByConfiguration},
			func() Object { return &gwv1.GatewayClass{} }, func() client.ObjectList { return &gwv1.GatewayClassList{} }},
		{KindGateway, gwV1.WithKind("Gateway"), true, []Index{ByFinalizer, GatewayByClass, GatewayByAdopted, GatewayByConfiguration},
			func() Object { return &gwv1.Gateway{} }, func() client.ObjectList { return &gwv1.GatewayList{} }},
		{KindListenerSet, gwV1.WithKind("ListenerSet"), true, []Index{SetByGateway},
			func() Object { return &gwv1.ListenerSet{} }, func() client.ObjectList { return &gwv1.ListenerSetList{} }},
		{KindHTTPRoute, gwV1.WithKind("HTTPRoute"), true, []Index{RouteByParent, RouteByBackend, RouteByConfiguration},
			func() Object { return &gwv1.HTTPRoute{} }, func() client.ObjectList { return &gwv1.HTTPRouteList{} }},
		{KindGRPCRoute, gwV1.WithKind("GRPCRoute"), true, []Index{RouteByParent, RouteByBackend, RouteByConfiguration},
			func() Object { return &gwv1.GRPCRoute{} }, func() client.ObjectList { return &gwv1.GRPCRouteList{} }},
		{KindTCPRoute, gwV1.WithKind("TCPRoute"), true, []Index{RouteByParent, RouteByBackend},
			func() Object { return &gwv1.TCPRoute{} }, func() client.ObjectList { return &gwv1.TCPRouteList{} }},
		{KindUDPRoute, gwV1.WithKind("UDPRoute"), true, []Index{RouteByParent, RouteByBackend},
			func() Object { return &gwv1.UDPRoute{} }, func() client.ObjectList { return &gwv1.UDPRouteList{} }},
		{KindTLSRoute, gwV1.WithKind("TLSRoute"), true, []Index{RouteByParent, RouteByBackend},
			func() Object { return &gwv1.TLSRoute{} }, func() client.ObjectList { return &gwv1.TLSRouteList{} }},
		{KindReferenceGrant, gwv1beta1.SchemeGroupVersion.WithKind("ReferenceGrant"), true, nil,
			func() Object { return &gwv1beta1.ReferenceGrant{} }, func() client.ObjectList { return &gwv1beta1.ReferenceGrantList{} }},
		{KindLoadBalancerConfiguration, gwconfig.GroupVersion.WithKind("LoadBalancerConfiguration"), true, []Index{ConfigurationByDefault},
			func() Object { return &gwconfig.LoadBalancerConfiguration{} }, func() client.ObjectList { return &gwconfig.LoadBalancerConfigurationList{} }},
		{KindTargetGroupConfiguration, gwconfig.GroupVersion.WithKind("TargetGroupConfiguration"), true, []Index{TargetsByReference},
			func() Object { return &gwconfig.TargetGroupConfiguration{} }, func() client.ObjectList { return &gwconfig.TargetGroupConfigurationList{} }},
		{KindListenerRuleConfiguration, gwconfig.GroupVersion.WithKind("ListenerRuleConfiguration"), true, nil,
			func() Object { return &gwconfig.ListenerRuleConfiguration{} }, func() client.ObjectList { return &gwconfig.ListenerRuleConfigurationList{} }},
		{KindGlobalAccelerator, aga.GroupVersion.WithKind("GlobalAccelerator"), true, []Index{ByFinalizer},
			func() Object { return &aga.GlobalAccelerator{} }, func() client.ObjectList { return &aga.GlobalAcceleratorList{} }},
	}
)

// Optional reports whether a cluster works without the kind: those of the Gateway API and GlobalAccelerators are used
// where they are installed.
func (t Type) Optional() bool {
	return slices.Contains([]string{gwV1.Group, gwconfig.GroupVersion.Group, aga.GroupVersion.Group}, t.GVK.Group)
}

// Roots are the kinds whose objects make up load balancers or accelerators, and carry finalizers of stacks.
func Roots() []Kind {
	var out []Kind
	for _, t := range kindTable {
		if slices.Contains(t.Indexes, ByFinalizer) {
			out = append(out, t.Kind)
		}
	}
	return out
}

// TypeOf returns what is known of a kind; false for a kind that translators do not read.
func TypeOf(k Kind) (Type, bool) {
	for _, t := range kindTable {
		if t.Kind == k {
			return t, true
		}
	}
	return Type{}, false
}

// KindOf says which kind an object is, by its Go type; false for objects that are not read.
func KindOf(obj Object) (Kind, bool) {
	switch obj.(type) {
	case *networkingv1.Ingress:
		return KindIngress, true
	case *networkingv1.IngressClass:
		return KindIngressClass, true
	case *elbv2.IngressClassParams:
		return KindIngressClassParams, true
	case *corev1.Service:
		return KindService, true
	case *corev1.Secret:
		return KindSecret, true
	case *corev1.Namespace:
		return KindNamespace, true
	case *corev1.Node:
		return KindNode, true
	case *corev1.Pod:
		return KindPod, true
	case *discoveryv1.EndpointSlice:
		return KindEndpointSlice, true
	case *corev1.Endpoints: //nolint:staticcheck // operators may still choose them
		return KindEndpoints, true
	case *elbv2.TargetGroupBinding:
		return KindBinding, true
	case *aga.GlobalAccelerator:
		return KindGlobalAccelerator, true
	}
	return gatewayKindOf(obj)
}

// gatewayKindOf is KindOf for the kinds of the Gateway API.
func gatewayKindOf(obj Object) (Kind, bool) {
	switch obj.(type) {
	case *gwv1.GatewayClass:
		return KindGatewayClass, true
	case *gwv1.Gateway:
		return KindGateway, true
	case *gwv1.ListenerSet:
		return KindListenerSet, true
	case *gwv1.HTTPRoute:
		return KindHTTPRoute, true
	case *gwv1.GRPCRoute:
		return KindGRPCRoute, true
	case *gwv1.TCPRoute:
		return KindTCPRoute, true
	case *gwv1.UDPRoute:
		return KindUDPRoute, true
	case *gwv1.TLSRoute:
		return KindTLSRoute, true
	case *gwv1beta1.ReferenceGrant:
		return KindReferenceGrant, true
	case *gwconfig.LoadBalancerConfiguration:
		return KindLoadBalancerConfiguration, true
	case *gwconfig.TargetGroupConfiguration:
		return KindTargetGroupConfiguration, true
	case *gwconfig.ListenerRuleConfiguration:
		return KindListenerRuleConfiguration, true
	}
	return "", false
}

// RefOf names an object. The kind is empty for objects that are not read.
func RefOf(obj Object) Ref {
	k, _ := KindOf(obj)
	return Ref{Kind: k, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// String is "Kind namespace/name".
func (r Ref) String() string {
	if r.Namespace == "" {
		return string(r.Kind) + " " + r.Name
	}
	return string(r.Kind) + " " + r.Namespace + "/" + r.Name
}

// NewScheme returns a scheme that knows every kind, and no more than their API groups.
func NewScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, networkingv1.AddToScheme, discoveryv1.AddToScheme, elbv2.AddToScheme,
		gwv1.Install, gwv1beta1.Install, gwconfig.AddToScheme, aga.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	return s, nil
}

// sharedScheme is made once, because that takes longer than most of what it is used for. Nothing
// may be registered with it.
var sharedScheme = sync.OnceValues(NewScheme)
