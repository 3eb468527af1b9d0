package settings

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ServiceTypes are the values of aws-load-balancer-type by which a Service asks for a load balancer; with the first it
// needs a type of targets as well.
var ServiceTypes = []string{typeExternal, typeNLBIP}

// ServiceSelection is what the operator says about which Services get a load balancer.
type ServiceSelection struct {
	// Class is the class of the Services that are served.
	Class string
	// LoadBalancersOnly leaves Services of other types out, whatever their annotations say.
	LoadBalancersOnly bool
}

// Serves reports whether a Service asks this controller for a load balancer. A Service with a class is served by
// that class alone; one without a class asks by its annotations, and of any type.
func (s ServiceSelection) Serves(svc *corev1.Service) bool {
	switch {
	case svc.DeletionTimestamp != nil, s.LoadBalancersOnly && svc.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return false
	case svc.Spec.LoadBalancerClass != nil:
		return *svc.Spec.LoadBalancerClass == s.Class
	}
	switch svc.Annotations[ServicePrefix+"aws-load-balancer-type"] {
	case typeNLBIP:
		return true
	case typeExternal:
		targets := svc.Annotations[ServicePrefix+"aws-load-balancer-nlb-target-type"]
		return slices.Contains([]model.TargetType{model.IPTargets, model.InstanceTargets}, model.TargetType(targets))
	}
	return false
}
