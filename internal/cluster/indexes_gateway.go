package cluster

import (
	"cmp"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// ParentRef returns the reference of the object that a parentRef of a route names. If the parentRef has no kind, the object
// is a Gateway. If it has no namespace, the object is in namespace, the namespace of the route.
func ParentRef(namespace string, p gwv1.ParentReference) Ref {
	return Ref{Kind: kindOrDefault(p.Kind, KindGateway), Namespace: namespaceOrDefault(p.Namespace, namespace), Name: string(p.Name)}
}

// ListenerSetParentRef returns the reference of the object that the parentRef of a ListenerSet names. If the parentRef has
// no kind, the object is a Gateway.
func ListenerSetParentRef(s *gwv1.ListenerSet) Ref {
	p := s.Spec.ParentRef
	return Ref{Kind: kindOrDefault(p.Kind, KindGateway), Namespace: namespaceOrDefault(p.Namespace, s.Namespace), Name: string(p.Name)}
}

// RoutesOf returns the routes that name parent, a Gateway or a ListenerSet, in a parentRef or in an entry of their status.
func RoutesOf(v *View, parent Ref) []Object {
	var out []Object
	for _, kind := range RouteKinds {
		out = append(out, List[Object](v, Query{Kind: kind, Index: RouteByParent, Value: parent.String()})...)
	}
	return out
}

// BackendValue returns the value of the RouteByBackend and TargetConfigurationByReference indexes for a backend, such as a
// Service.
func BackendValue(kind Kind, namespace, name string) string {
	return kind + " " + namespace + "/" + name
}

// gatewayValues is IndexValues for the kinds of the Gateway API.
func gatewayValues(index Index, obj Object) []string {
	switch o := obj.(type) {
	case *gwv1.GatewayClass:
		return gatewayClassValues(index, o)
	case *gwv1.Gateway:
		switch p := o.Spec.Infrastructure; {
		case index == GatewayByClass:
			return []string{string(o.Spec.GatewayClassName)}
		case index == GatewayByAdoptedStack:
			return adoptedStackValues(o)
		case index == GatewayByConfiguration && p != nil && p.ParametersRef != nil:
			return []string{p.ParametersRef.Name}
		}
	case *gwv1.ListenerSet:
		if p := ListenerSetParentRef(o); index == ListenerSetByGateway {
			return []string{p.Namespace + "/" + p.Name}
		}
	case *gwconfig.LoadBalancerConfiguration:
		if d := o.Spec.DefaultTargetGroupConfiguration; index == ConfigurationByDefaultTargetGroup && d != nil {
			return []string{d.Name}
		}
	case *gwconfig.TargetGroupConfiguration:
		if r := o.Spec.TargetReference; index == TargetConfigurationByReference && r != nil {
			return []string{BackendValue(kindOrDefault(r.Kind, KindService), o.Namespace, r.Name)}
		}
	}
	return routeValues(index, obj)
}

// adoptedStackValues returns the value of a Gateway in the GatewayByAdoptedStack index. It returns nil if the Gateway has no
// valid naming.AdoptAnnotation.
func adoptedStackValues(o *gwv1.Gateway) []string {
	id, err := naming.ParseAdoptAnnotation(o.Namespace, o.Annotations[naming.AdoptAnnotation])
	if err != nil {
		return nil
	}
	return []string{naming.AdoptAnnotationValue(id)}
}

// gatewayClassValues is IndexValues for a GatewayClass.
func gatewayClassValues(index Index, o *gwv1.GatewayClass) []string {
	switch p := o.Spec.ParametersRef; {
	case index == GatewayClassByController:
		return []string{string(o.Spec.ControllerName)}
	case index == GatewayClassByConfiguration && p != nil && p.Namespace != nil:
		return []string{string(*p.Namespace) + "/" + p.Name}
	}
	return nil
}

// routeValues is IndexValues for a route. It returns nil for other objects.
func routeValues(index Index, obj Object) []string {
	parents, status := RouteParents(obj)
	var out []string
	switch index {
	case RouteByParent:
		for _, p := range parents {
			out = append(out, ParentRef(obj.GetNamespace(), p).String())
		}
		for _, p := range status {
			out = append(out, ParentRef(obj.GetNamespace(), p.ParentRef).String())
		}
	case RouteByBackend:
		for _, b := range RouteBackends(obj) {
			out = append(out, BackendValue(kindOrDefault(b.Kind, KindService), namespaceOrDefault(b.Namespace, obj.GetNamespace()), string(b.Name)))
		}
	case RouteByConfiguration:
		for _, r := range routeExtensions(obj) {
			if string(r.Group) == gwconfig.GroupVersion.Group && string(r.Kind) == KindListenerRuleConfiguration {
				out = append(out, string(r.Name))
			}
		}
	}
	return sortedUnique(out)
}

// namespaceOrDefault returns the namespace of a reference, or the default if it is nil or empty.
func namespaceOrDefault(n *gwv1.Namespace, or string) string {
	if n == nil {
		return or
	}
	return cmp.Or(string(*n), or)
}

// kindOrDefault returns the kind of a reference, or the default if it is nil or empty.
func kindOrDefault[K ~string](k *K, or Kind) Kind {
	if k == nil {
		return or
	}
	return cmp.Or(Kind(*k), or)
}

// RouteParents returns the parentRefs of a route, and the parents in its status. It returns nil for other objects.
func RouteParents(obj Object) ([]gwv1.ParentReference, []gwv1.RouteParentStatus) {
	switch o := obj.(type) {
	case *gwv1.HTTPRoute:
		return o.Spec.ParentRefs, o.Status.Parents
	case *gwv1.GRPCRoute:
		return o.Spec.ParentRefs, o.Status.Parents
	case *gwv1.TCPRoute:
		return o.Spec.ParentRefs, o.Status.Parents
	case *gwv1.UDPRoute:
		return o.Spec.ParentRefs, o.Status.Parents
	case *gwv1.TLSRoute:
		return o.Spec.ParentRefs, o.Status.Parents
	}
	return nil, nil
}

// RouteBackends returns the backends of all rules of a route, in order. It returns nil for other objects.
func RouteBackends(obj Object) []gwv1.BackendRef {
	var out []gwv1.BackendRef
	switch o := obj.(type) {
	case *gwv1.HTTPRoute:
		for _, r := range o.Spec.Rules {
			for _, b := range r.BackendRefs {
				out = append(out, b.BackendRef)
			}
		}
	case *gwv1.GRPCRoute:
		for _, r := range o.Spec.Rules {
			for _, b := range r.BackendRefs {
				out = append(out, b.BackendRef)
			}
		}
	case *gwv1.TCPRoute:
		for _, r := range o.Spec.Rules {
			out = append(out, r.BackendRefs...)
		}
	case *gwv1.UDPRoute:
		for _, r := range o.Spec.Rules {
			out = append(out, r.BackendRefs...)
		}
	case *gwv1.TLSRoute:
		for _, r := range o.Spec.Rules {
			out = append(out, r.BackendRefs...)
		}
	}
	return out
}

// routeExtensions returns the objects that the ExtensionRef filters in the rules of a route name. It returns nil for other
// objects.
func routeExtensions(obj Object) []gwv1.LocalObjectReference {
	var out []gwv1.LocalObjectReference
	switch o := obj.(type) {
	case *gwv1.HTTPRoute:
		for _, r := range o.Spec.Rules {
			for _, f := range r.Filters {
				if f.ExtensionRef != nil {
					out = append(out, *f.ExtensionRef)
				}
			}
		}
	case *gwv1.GRPCRoute:
		for _, r := range o.Spec.Rules {
			for _, f := range r.Filters {
				if f.ExtensionRef != nil {
					out = append(out, *f.ExtensionRef)
				}
			}
		}
	}
	return out
}
