package cluster

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// The annotation and the readiness gates that the indexes read.
const (
	groupNameAnnotation       = annotationPrefix + "group.name"
	readinessGatePrefix       = "target-health.elbv2.k8s.aws/"
	legacyReadinessGatePrefix = "target-health.alb.ingress.k8s.aws/"
)

// stackLabelPrefixes are the prefixes of the labels that identify the stack of a TargetGroupBinding: for Ingresses,
// Services, and Gateways with an ALB or an NLB.
var stackLabelPrefixes = []string{"ingress.k8s.aws", "service.k8s.aws", "gateway.k8s.aws.alb", "gateway.k8s.aws.nlb"}

// IndexValues returns the values under which an index lists an object, sorted and without duplicates. It returns nil if the
// index is for objects of another kind.
func IndexValues(index Index, obj Object) []string {
	if index == ByFinalizer {
		return finalizerValues(obj)
	}
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		return ingressValues(index, o)
	case *corev1.Service:
		if index == ServiceBySharedLoadBalancer {
			return sharedLoadBalancerValues(o)
		}
	case *networkingv1.IngressClass:
		if index == ClassByParams && o.Spec.Parameters != nil {
			return []string{o.Spec.Parameters.Name}
		}
	case *elbv2.IngressClassParams:
		if index == ParamsByGroupName && o.Spec.Group != nil {
			return []string{o.Spec.Group.Name}
		}
	case *discoveryv1.EndpointSlice:
		if svc := o.Labels[discoveryv1.LabelServiceName]; index == EndpointSliceByService && svc != "" {
			return []string{o.Namespace + "/" + svc}
		}
	case *elbv2.TargetGroupBinding:
		return bindingValues(index, o)
	case *corev1.Pod:
		switch index {
		case PodByReadinessGate:
			return readinessGateValues(o)
		case PodByAddress:
			return addressValues(o)
		}
	}
	return gatewayValues(index, obj)
}

// finalizerValues returns the finalizers of an object that identify a stack of this controller, sorted. It omits all other
// finalizers.
func finalizerValues(obj Object) []string {
	var out []string
	for _, f := range obj.GetFinalizers() {
		id, ok := naming.StackOfFinalizer(f, obj.GetNamespace(), obj.GetName())
		if kind, _ := KindOf(obj); ok && id.Kind.ObjectKind() == kind {
			out = append(out, f)
		}
	}
	return sortedUnique(out)
}

// sharedLoadBalancerValues returns "namespace/name" of each shared load balancer that a Service names in its annotation or
// in a finalizer. If the Service has such a finalizer, the result also has "", so that one query can list all these
// Services.
func sharedLoadBalancerValues(o *corev1.Service) []string {
	var out []string
	if name, ok := o.Annotations[LoadBalancerGroupAnnotation]; ok {
		out = append(out, QualifiedLoadBalancerName(o.Namespace, name))
	}
	for _, f := range o.Finalizers {
		if shared, ok := strings.CutPrefix(f, naming.SharedFinalizerPrefix); ok {
			out = append(out, "", strings.Replace(shared, ".", "/", 1))
		}
	}
	return sortedUnique(out)
}

// QualifiedLoadBalancerName returns "namespace/name" of a shared load balancer. name is the value of
// LoadBalancerGroupAnnotation. If name has no namespace, the load balancer is in namespace, the namespace of the Service.
func QualifiedLoadBalancerName(namespace, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return namespace + "/" + name
}

// ingressValues is IndexValues for an Ingress.
func ingressValues(index Index, o *networkingv1.Ingress) []string {
	switch index {
	case IngressByGroupName:
		if name, ok := o.Annotations[groupNameAnnotation]; ok {
			return []string{name}
		}
	case IngressByClass:
		if o.Spec.IngressClassName == nil {
			return []string{""}
		}
		return []string{*o.Spec.IngressClassName}
	}
	return nil
}

// bindingValues is IndexValues for a TargetGroupBinding.
func bindingValues(index Index, o *elbv2.TargetGroupBinding) []string {
	switch index {
	case BindingByService:
		return []string{o.Namespace + "/" + o.Spec.ServiceRef.Name}
	case BindingByTargetGroup:
		return []string{TargetGroupName(o)}
	case BindingByStack:
		var out []string
		for _, p := range stackLabelPrefixes {
			if name, ok := o.Labels[p+"/stack"]; ok {
				out = append(out, StackValue(p, "", name))
			}
			if name, ok := o.Labels[p+"/stack-name"]; ok {
				out = append(out, StackValue(p, o.Labels[p+"/stack-namespace"], name))
			}
		}
		return sortedUnique(out)
	}
	return nil
}

// TargetGroupName returns the name of the target group of a TargetGroupBinding. If the TargetGroupBinding has an ARN, the
// name is part of the ARN: "…/name/id".
func TargetGroupName(o *elbv2.TargetGroupBinding) string {
	if o.Spec.TargetGroupARN == "" {
		return o.Spec.TargetGroupName
	}
	return path.Base(path.Dir(o.Spec.TargetGroupARN))
}

// EndpointSlicesOf returns the query for the EndpointSlices of a Service.
func EndpointSlicesOf(namespace, service string) Query {
	return Query{Kind: KindEndpointSlice, Namespace: namespace, Index: EndpointSliceByService, Value: namespace + "/" + service}
}

// StackValue returns the value of the BindingByStack index for a stack. prefix is one of stackLabelPrefixes. namespace is
// empty for an IngressGroup.
func StackValue(prefix, namespace, name string) string {
	if namespace == "" {
		return prefix + "|" + name
	}
	return prefix + "|" + namespace + "/" + name
}

// readinessGateValues returns "namespace/name" of each TargetGroupBinding that a readiness gate of a pod names.
func readinessGateValues(o *corev1.Pod) []string {
	var out []string
	for _, g := range o.Spec.ReadinessGates {
		for _, p := range []string{readinessGatePrefix, legacyReadinessGatePrefix} {
			if name, ok := strings.CutPrefix(string(g.ConditionType), p); ok {
				out = append(out, o.Namespace+"/"+name)
			}
		}
	}
	return sortedUnique(out)
}

// addressValues returns the values of a pod in the PodByAddress index. It returns nil for a finished pod, because another
// pod may get its addresses. Pods in the host network have the address of their node, so several pods can have the same
// address. The values of these pods therefore contain the namespace.
func addressValues(o *corev1.Pod) []string {
	if IsPodFinished(o) {
		return nil
	}
	out := PodAddresses(o)
	if o.Spec.HostNetwork {
		for i, ip := range out {
			out[i] = HostAddressValue(o.Namespace, ip)
		}
	}
	return sortedUnique(out)
}

// HostAddressValue returns the value of the PodByAddress index for pods of a namespace that have the address ip of their
// node, because they use the host network.
func HostAddressValue(namespace, ip string) string { return namespace + "/" + ip }

// IsPodFinished reports whether all containers of a pod have terminated and are not restarted.
func IsPodFinished(o *corev1.Pod) bool {
	return o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed
}

// PodAddresses returns the addresses that the status of a pod lists, in canonical form.
func PodAddresses(o *corev1.Pod) []string {
	var out []string
	for _, ip := range o.Status.PodIPs {
		out = append(out, CanonicalIP(ip.IP))
	}
	if len(out) == 0 && o.Status.PodIP != "" {
		out = append(out, CanonicalIP(o.Status.PodIP))
	}
	return out
}

// CanonicalIP returns the canonical text of an IP address. It returns any other text unchanged.
func CanonicalIP(s string) string {
	if !strings.Contains(s, ":") {
		return s // an IPv4 address has only one text form
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.String()
	}
	return s
}

// sortedUnique sorts strings in place, and returns them without duplicates.
func sortedUnique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
