package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// Keys in Kubernetes objects that the indexes stand on.
const (
	groupNameAnnotation = "alb.ingress.kubernetes.io/group.name"
	implicitFinalizer   = "ingress.k8s.aws/resources"
	explicitFinalizer   = "group.ingress.k8s.aws/" // then the name of the group
	gatePrefix          = "target-health.elbv2.k8s.aws/"
	legacyGatePrefix    = "target-health.alb.ingress.k8s.aws/"
)

// stackPrefixes are the label prefixes of the dialects that make TargetGroupBindings.
var stackPrefixes = []string{"ingress.k8s.aws", "service.k8s.aws", "gateway.k8s.aws.alb", "gateway.k8s.aws.nlb"}

// IndexValues returns the values by which an object is found in an index of its kind, without
// repeats. An object of another kind, or an index of another kind, yields none.
func IndexValues(kind Kind, index Index, obj Object) []string {
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		return ingressValues(index, o)
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
		if index == PodByGate {
			return gates(o)
		}
	}
	return nil
}

func ingressValues(index Index, o *networkingv1.Ingress) []string {
	switch index {
	case IngressByGroup:
		if name, ok := o.Annotations[groupNameAnnotation]; ok {
			return []string{name}
		}
	case IngressByFinalizer:
		var out []string
		for _, f := range o.Finalizers {
			if f == implicitFinalizer || strings.HasPrefix(f, explicitFinalizer) {
				out = append(out, f)
			}
		}
		return unique(out)
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
		return unique(out)
	}
	return nil
}

// StackValue is the value of the BindingByStack index for a stack: prefix is that of the dialect's
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
	return unique(out)
}

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
