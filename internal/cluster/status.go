package cluster

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// StatusOf returns a pointer to the status of an object, or nil if objects of its kind have no status.
func StatusOf(obj Object) any { return pointerTo(obj, "Status") }

// pointerTo returns a pointer to the field of an object with this name in its Go type, or nil if the type has no such field.
func pointerTo(obj Object, field string) any {
	f := reflect.ValueOf(obj).Elem().FieldByName(field)
	if !f.IsValid() {
		return nil
	}
	return f.Addr().Interface()
}

// copyStatus sets the status of dst to the status of src. Both objects have the same kind. If src is nil, it clears the
// status.
func copyStatus(dst, src Object) {
	to := reflect.ValueOf(dst).Elem().FieldByName("Status")
	switch {
	case !to.IsValid():
	case src == nil:
		to.SetZero()
	default:
		to.Set(reflect.ValueOf(src.DeepCopyObject()).Elem().FieldByName("Status"))
	}
}

// specOf returns the part of an object whose changes increment metadata.generation, or nil for a kind whose generation never
// changes.
func specOf(obj Object) any {
	switch o := obj.(type) {
	case *corev1.Service, *corev1.Node, *corev1.Namespace:
		return nil
	case *discoveryv1.EndpointSlice:
		return []any{o.Endpoints, o.Ports}
	}
	return pointerTo(obj, "Spec")
}

// StatusHostname returns the first host name in the status of an Ingress, Service or Gateway, or "" if there is none.
func StatusHostname(obj Object) string {
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		for _, e := range o.Status.LoadBalancer.Ingress {
			if e.Hostname != "" {
				return e.Hostname
			}
		}
	case *corev1.Service:
		for _, e := range o.Status.LoadBalancer.Ingress {
			if e.Hostname != "" {
				return e.Hostname
			}
		}
	case *gwv1.Gateway:
		for _, a := range o.Status.Addresses {
			if a.Type != nil && *a.Type == gwv1.HostnameAddressType && a.Value != "" {
				return a.Value
			}
		}
	}
	return ""
}

// ClearedStatus returns the fields, in the form of ObjectStatus.Fields, that remove the load balancer from the status of an
// object. finalizer is the finalizer that is about to be removed from the object. ClearedStatus returns nil if the status
// must be retained, because DNS records depend on the status:
//
//   - The object has another finalizer of a stack. The status then contains the load balancer of that stack.
//   - The status is not one that this controller writes. Another controller has then taken over the object.
func ClearedStatus(obj Object, finalizer string) any {
	hasLoadBalancer := false
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		entries := o.Status.LoadBalancer.Ingress
		hasLoadBalancer = len(entries) > 0 && entries[0].Hostname != "" && len(entries[0].Ports) > 0
	case *corev1.Service:
		entries := o.Status.LoadBalancer.Ingress
		hasLoadBalancer = len(entries) > 0 && entries[0].Hostname != ""
	case *gwv1.Gateway:
		hasLoadBalancer = len(o.Status.Addresses) > 0
	}
	if !hasLoadBalancer || slices.ContainsFunc(finalizerValues(obj), func(f string) bool { return f != finalizer }) {
		return nil
	}
	if o, ok := obj.(*gwv1.Gateway); ok {
		return clearedGatewayStatus(o)
	}
	return map[string]any{"loadBalancer": map[string]any{"ingress": nil}}
}
