package cluster

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// Keys in Kubernetes objects that the indexes stand on.
const (
	groupNameAnnotation  = "alb.ingress.kubernetes.io/group.name"
	implicitFinalizer    = "ingress.k8s.aws/resources"
	explicitFinalizer    = "group.ingress.k8s.aws/" // then the name of the group
	albFinalizer         = "gateway.k8s.aws/alb"
	nlbFinalizer         = "gateway.k8s.aws/nlb"
	serviceFinalizer     = "service.k8s.aws/resources"
	sharedFinalizer      = "group.service.k8s.aws/" // then namespace and name of the load balancer, with a dot between
	acceleratorFinalizer = "aga.k8s.aws/resources"
	gatePrefix           = "target-health.elbv2.k8s.aws/"
	legacyGatePrefix     = "target-health.alb.ingress.k8s.aws/"
)

// stackPrefixes are the label prefixes of the dialects that make TargetGroupBindings.
var stackPrefixes = []string{"ingress.k8s.aws", "service.k8s.aws", "gateway.k8s.aws.alb", "gateway.k8s.aws.nlb"}

// IndexValues returns the values by which an object is found in an index of its kind, without
// repeats. An object of another kind, or an index of another kind, yields none.
func IndexValues(kind Kind, index Index, obj Object) []string {
	if index == ByFinalizer {
		return finalizerValues(obj)
	}
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		return ingressValues(index, o)
	case *corev1.Service:
		if index == ServiceByGroup {
			return groupValues(o)
		}
	case *networkingv1.IngressClass:
		if index == ClassByParams && o.Spec.Parameters != nil {
			return []string{o.Spec.Parameters.Name}
		}
	case *elbv2.IngressClassParams:
		if index == ParamsByGroup && o.Spec.Group != nil {
			return []string{o.Spec.Group.Name}
		}
	case *discoveryv1.EndpointSlice:
		if svc := o.Labels[discoveryv1.LabelServiceName]; index == SliceByService && svc != "" {
			return []string{o.Namespace + "/" + svc}
		}
	case *elbv2.TargetGroupBinding:
		return bindingValues(index, o)
	case *corev1.Pod:
		switch index {
		case PodByGate:
			return gates(o)
		case PodByAddress:
			return addressValues(o)
		}
	}
	return gatewayValues(index, obj)
}

// finalizerValues returns the finalizers of stacks that an object carries.
func finalizerValues(obj Object) []string {
	var of func(finalizer string) bool
	switch obj.(type) {
	case *networkingv1.Ingress:
		of = func(f string) bool { return f == implicitFinalizer || strings.HasPrefix(f, explicitFinalizer) }
	case *corev1.Service:
		of = func(f string) bool { return f == serviceFinalizer || strings.HasPrefix(f, sharedFinalizer) }
	case *gwv1.Gateway:
		of = func(f string) bool { return f == albFinalizer || f == nlbFinalizer }
	case *aga.GlobalAccelerator:
		of = func(f string) bool { return f == acceleratorFinalizer }
	default:
		return nil
	}
	var out []string
	for _, f := range obj.GetFinalizers() {
		if of(f) {
			out = append(out, f)
		}
	}
	return compacted(out)
}

// groupValues returns "namespace/name" of the load balancers that a Service shares, or has shared and is not done
// with, which the empty value stands for too.
func groupValues(o *corev1.Service) []string {
	var out []string
	if name, ok := o.Annotations[LoadBalancerGroupAnnotation]; ok {
		out = append(out, QualifiedGroup(o.Namespace, name))
	}
	for _, f := range o.Finalizers {
		if shared, ok := strings.CutPrefix(f, sharedFinalizer); ok {
			out = append(out, "", strings.Replace(shared, ".", "/", 1))
		}
	}
	return compacted(out)
}

// QualifiedGroup returns "namespace/name" of the load balancer that a Service of a namespace names; without a
// namespace it is one of its own.
func QualifiedGroup(namespace, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return namespace + "/" + name
}

func ingressValues(index Index, o *networkingv1.Ingress) []string {
	switch index {
	case IngressByGroup:
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

func bindingValues(index Index, o *elbv2.TargetGroupBinding) []string {
	switch index {
	case BindingByService:
		return []string{o.Namespace + "/" + o.Spec.ServiceRef.Name}
	case BindingByTargetGroup:
		return []string{TargetGroupName(o)}
	case BindingByStack:
		var out []string
		for _, p := range stackPrefixes {
			if name, ok := o.Labels[p+"/stack"]; ok {
				out = append(out, StackValue(p, "", name))
			}
			if name, ok := o.Labels[p+"/stack-name"]; ok {
				out = append(out, StackValue(p, o.Labels[p+"/stack-namespace"], name))
			}
		}
		return compacted(out)
	}
	return nil
}

// TargetGroupName returns the name of a binding's target group, which its ARN ends with: "…/name/id".
func TargetGroupName(o *elbv2.TargetGroupBinding) string {
	if o.Spec.TargetGroupARN == "" {
		return o.Spec.TargetGroupName
	}
	return path.Base(path.Dir(o.Spec.TargetGroupARN))
}

// SlicesOf selects the EndpointSlices of a Service.
func SlicesOf(namespace, service string) Query {
	return Query{Kind: KindEndpointSlice, Namespace: namespace, Index: SliceByService, Value: namespace + "/" + service}
}

// StackValue returns the value of the BindingByStack index for a stack: prefix is that of the dialect's
// labels, namespace is empty for an explicit Ingress group.
func StackValue(prefix, namespace, name string) string {
	if namespace == "" {
		return prefix + "|" + name
	}
	return prefix + "|" + namespace + "/" + name
}

func gates(o *corev1.Pod) []string {
	var out []string
	for _, g := range o.Spec.ReadinessGates {
		for _, p := range []string{gatePrefix, legacyGatePrefix} {
			if name, ok := strings.CutPrefix(string(g.ConditionType), p); ok {
				out = append(out, o.Namespace+"/"+name)
			}
		}
	}
	return compacted(out)
}

// addressValues returns the addresses that a pod holds. A pod that has finished has given them back,
// although its status still lists them. The address of a node is found within a namespace only, as
// all pods of the host network share it.
func addressValues(o *corev1.Pod) []string {
	if PodFinished(o) {
		return nil
	}
	out := PodAddresses(o)
	if o.Spec.HostNetwork {
		for i, ip := range out {
			out[i] = HostAddressValue(o.Namespace, ip)
		}
	}
	return compacted(out)
}

// HostAddressValue returns the value of the PodByAddress index for the pods of a namespace that share the
// address of their node.
func HostAddressValue(namespace, ip string) string { return namespace + "/" + ip }

// PodFinished reports whether all containers of a pod have ended for good.
func PodFinished(o *corev1.Pod) bool {
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

// CanonicalIP returns the form in which equal addresses are equal texts. Other texts stay as they are.
func CanonicalIP(s string) string {
	if !strings.Contains(s, ":") {
		return s // IPv4 has one way to write an address
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.String()
	}
	return s
}

func compacted(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
