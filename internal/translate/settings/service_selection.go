package settings

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// LoadBalancerTypes are the values of annotation aws-load-balancer-type that select this controller for a Service. The first
// value selects it only together with annotation aws-load-balancer-nlb-target-type.
var LoadBalancerTypes = []string{typeExternal, typeNLBIP}

// ServiceSelection has the operator's settings that select the Services for which this controller creates a load balancer.
type ServiceSelection struct {
	// Class is the spec.loadBalancerClass of the Services that are served.
	Class string
	// LoadBalancersOnly excludes Services of a type other than LoadBalancer, even if their annotations select this
	// controller.
	LoadBalancersOnly bool
}

// Serves reports whether this controller creates a load balancer for a Service. If spec.loadBalancerClass is set, it alone
// decides; otherwise the annotations decide, for a Service of any type.
func (s ServiceSelection) Serves(svc *corev1.Service) bool {
	switch {
	case svc.DeletionTimestamp != nil, s.LoadBalancersOnly && svc.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return false
	case svc.Spec.LoadBalancerClass != nil:
		return *svc.Spec.LoadBalancerClass == s.Class
	}
	switch svc.Annotations[typeAnnotation] {
	case typeNLBIP:
		return true
	case typeExternal:
		targets := svc.Annotations[ServicePrefix+"aws-load-balancer-nlb-target-type"]
		return slices.Contains([]model.TargetType{model.IPTargets, model.InstanceTargets}, model.TargetType(targets))
	}
	return false
}
