package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
)

// StatusOf returns the status of an object whose status the controller writes by fields; nil for others.
func StatusOf(obj Object) any {
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		return o.Status
	case *corev1.Service:
		return o.Status
	case *aga.GlobalAccelerator:
		return &o.Status
	}
	return gatewayStatusOf(obj)
}

// Hostname returns the first one that the status of an Ingress, a Service or a Gateway shows, "" if none.
func Hostname(obj Object) string {
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

// ClearedStatus returns fields of the status, as ObjectStatus has them, that take our load balancer off an object whose
// finalizer goes; nil if it shows none of ours. An object with another finalizer of ours shows another load
// balancer by now, and a status that is not of our form was written by the controller that has taken the object
// over: name servers follow it.
func ClearedStatus(obj Object, finalizer string) any {
	shows := false
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		shown := o.Status.LoadBalancer.Ingress
		shows = len(shown) > 0 && shown[0].Hostname != "" && len(shown[0].Ports) > 0
	case *corev1.Service:
		shown := o.Status.LoadBalancer.Ingress
		shows = len(shown) > 0 && shown[0].Hostname != ""
	case *gwv1.Gateway:
		shows = len(o.Status.Addresses) > 0
	}
	if !shows || slices.ContainsFunc(finalizerValues(obj), func(f string) bool { return f != finalizer }) {
		return nil
	}
	if o, ok := obj.(*gwv1.Gateway); ok {
		return clearedGateway(o)
	}
	return map[string]any{"loadBalancer": map[string]any{"ingress": nil}}
}
