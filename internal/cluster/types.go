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

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
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
	}
)

// Roots are the kinds whose objects make up load balancers, and carry finalizers of stacks.
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
