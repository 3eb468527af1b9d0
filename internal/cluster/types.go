package cluster

//lint:file-ignore SA1019 Endpoints objects are read with --enable-endpoint-slices=false.

import (
	"fmt"
	"reflect"
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

// Type describes a kind: its API group and version, its indexes and its Go types.
type Type struct {
	Kind       Kind
	GVK        schema.GroupVersionKind
	Namespaced bool
	// Indexes are the indexes by which objects of the kind can be listed.
	Indexes []Index
	// emptyObject and emptyList are copied by New and NewList.
	emptyObject Object
	emptyList   client.ObjectList
}

// New returns an empty object of the kind.
func (t Type) New() Object { return t.emptyObject.DeepCopyObject().(Object) }

// NewList returns an empty list of objects of the kind.
func (t Type) NewList() client.ObjectList { return t.emptyList.DeepCopyObject().(client.ObjectList) }

// Types returns the types of all kinds, in the order of the Kind constants.
func Types() []Type { return slices.Clone(kindTable) }

var (
	coreV1 = corev1.SchemeGroupVersion
	netV1  = networkingv1.SchemeGroupVersion
	gwV1   = gwv1.SchemeGroupVersion

	kindTable = []Type{
		{KindIngress, netV1.WithKind("Ingress"), true, []Index{IngressByGroupName, ByFinalizer, IngressByClass},
			&networkingv1.Ingress{}, &networkingv1.IngressList{}},
		{KindIngressClass, netV1.WithKind("IngressClass"), false, []Index{ClassByParams},
			&networkingv1.IngressClass{}, &networkingv1.IngressClassList{}},
		{KindIngressClassParams, elbv2.GroupVersion.WithKind("IngressClassParams"), false, []Index{ParamsByGroupName},
			&elbv2.IngressClassParams{}, &elbv2.IngressClassParamsList{}},
		{KindService, coreV1.WithKind("Service"), true, []Index{ByFinalizer, ServiceBySharedLoadBalancer},
			&corev1.Service{}, &corev1.ServiceList{}},
		{KindSecret, coreV1.WithKind("Secret"), true, nil,
			&corev1.Secret{}, &corev1.SecretList{}},
		{KindNamespace, coreV1.WithKind("Namespace"), false, nil,
			&corev1.Namespace{}, &corev1.NamespaceList{}},
		{KindNode, coreV1.WithKind("Node"), false, nil,
			&corev1.Node{}, &corev1.NodeList{}},
		{KindPod, coreV1.WithKind("Pod"), true, []Index{PodByReadinessGate, PodByAddress},
			&corev1.Pod{}, &corev1.PodList{}},
		{KindEndpointSlice, discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), true, []Index{EndpointSliceByService},
			&discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}},
		// Kubernetes has deprecated Endpoints; they are read if EndpointSlices are disabled.
		{KindEndpoints, coreV1.WithKind("Endpoints"), true, nil,
			&corev1.Endpoints{}, &corev1.EndpointsList{}}, //nolint:staticcheck // see above
		{KindBinding, elbv2.GroupVersion.WithKind("TargetGroupBinding"), true, []Index{BindingByService, BindingByStack, BindingByTargetGroup},
			&elbv2.TargetGroupBinding{}, &elbv2.TargetGroupBindingList{}},
		{KindGatewayClass, gwV1.WithKind("GatewayClass"), false, []Index{GatewayClassByController, GatewayClassByConfiguration},
			&gwv1.GatewayClass{}, &gwv1.GatewayClassList{}},
		{KindGateway, gwV1.WithKind("Gateway"), true, []Index{ByFinalizer, GatewayByClass, GatewayByAdoptedStack, GatewayByConfiguration},
			&gwv1.Gateway{}, &gwv1.GatewayList{}},
		{KindListenerSet, gwV1.WithKind("ListenerSet"), true, []Index{ListenerSetByGateway},
			&gwv1.ListenerSet{}, &gwv1.ListenerSetList{}},
		{KindHTTPRoute, gwV1.WithKind("HTTPRoute"), true, []Index{RouteByParent, RouteByBackend, RouteByConfiguration},
			&gwv1.HTTPRoute{}, &gwv1.HTTPRouteList{}},
		{KindGRPCRoute, gwV1.WithKind("GRPCRoute"), true, []Index{RouteByParent, RouteByBackend, RouteByConfiguration},
			&gwv1.GRPCRoute{}, &gwv1.GRPCRouteList{}},
		{KindTCPRoute, gwV1.WithKind("TCPRoute"), true, []Index{RouteByParent, RouteByBackend},
			&gwv1.TCPRoute{}, &gwv1.TCPRouteList{}},
		{KindUDPRoute, gwV1.WithKind("UDPRoute"), true, []Index{RouteByParent, RouteByBackend},
			&gwv1.UDPRoute{}, &gwv1.UDPRouteList{}},
		{KindTLSRoute, gwV1.WithKind("TLSRoute"), true, []Index{RouteByParent, RouteByBackend},
			&gwv1.TLSRoute{}, &gwv1.TLSRouteList{}},
		{KindReferenceGrant, gwv1beta1.SchemeGroupVersion.WithKind("ReferenceGrant"), true, nil,
			&gwv1beta1.ReferenceGrant{}, &gwv1beta1.ReferenceGrantList{}},
		{KindLoadBalancerConfiguration, gwconfig.GroupVersion.WithKind("LoadBalancerConfiguration"), true, []Index{ConfigurationByDefaultTargetGroup},
			&gwconfig.LoadBalancerConfiguration{}, &gwconfig.LoadBalancerConfigurationList{}},
		{KindTargetGroupConfiguration, gwconfig.GroupVersion.WithKind("TargetGroupConfiguration"), true, []Index{TargetConfigurationByReference},
			&gwconfig.TargetGroupConfiguration{}, &gwconfig.TargetGroupConfigurationList{}},
		{KindListenerRuleConfiguration, gwconfig.GroupVersion.WithKind("ListenerRuleConfiguration"), true, nil,
			&gwconfig.ListenerRuleConfiguration{}, &gwconfig.ListenerRuleConfigurationList{}},
		{KindGlobalAccelerator, aga.GroupVersion.WithKind("GlobalAccelerator"), true, []Index{ByFinalizer},
			&aga.GlobalAccelerator{}, &aga.GlobalAcceleratorList{}},
	}
)

// Optional reports whether the controller also works if the CRD of the kind is not installed. The kinds of the Gateway API
// and GlobalAccelerator are optional.
func (t Type) Optional() bool {
	return slices.Contains([]string{gwV1.Group, gwconfig.GroupVersion.Group, aga.GroupVersion.Group}, t.GVK.Group)
}

// IsRootKind reports whether objects of a kind are root objects, which are the objects for which the controller creates load
// balancers or accelerators. A root object has a finalizer for each of its stacks.
func IsRootKind(k Kind) bool {
	typ, _ := TypeOf(k)
	return slices.Contains(typ.Indexes, ByFinalizer)
}

// TypeOf returns the type of a kind. It returns false for a kind that the controller does not read.
func TypeOf(k Kind) (Type, bool) {
	for _, t := range kindTable {
		if t.Kind == k {
			return t, true
		}
	}
	return Type{}, false
}

// kindByType maps the Go types of objects to their kinds.
var kindByType = func() map[reflect.Type]Kind {
	out := map[reflect.Type]Kind{}
	for _, t := range kindTable {
		out[reflect.TypeOf(t.emptyObject)] = t.Kind
	}
	return out
}()

// KindOf returns the kind of an object by its Go type. It returns false for an object of a kind that the controller does not
// read.
func KindOf(obj Object) (Kind, bool) {
	k, ok := kindByType[reflect.TypeOf(obj)]
	return k, ok
}

// RefOf returns the reference of an object. Its Kind is empty if the controller does not read objects of its kind.
func RefOf(obj Object) Ref {
	k, _ := KindOf(obj)
	return Ref{Kind: k, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// NewScheme returns a scheme with the API groups of all kinds.
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

// sharedScheme returns the scheme of all stores and decoders. It is created only once, because its creation is slow. No types
// may be added to it.
var sharedScheme = sync.OnceValues(NewScheme)
