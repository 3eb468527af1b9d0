package webhook

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

// completeService sets the load balancer class of the controller on new Services of type LoadBalancer. If an update removes
// the class of a Service, completeService restores the class, because the API server does not allow its removal.
func (c Config) completeService(_ context.Context, r Request) (Answer, error) {
	svc := &corev1.Service{}
	if err := r.decode(r.Object, svc); err != nil {
		return Answer{}, err
	}
	if c.LoadBalancerClass == "" || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || hasClass(svc) {
		return Answer{}, nil
	}
	if r.Operation == admissionv1.Create && !c.isWatched(r.Namespace) {
		return Answer{}, nil // no change: other controllers ignore a Service with a class
	}
	class := c.LoadBalancerClass
	if r.Operation == admissionv1.Update {
		old := &corev1.Service{}
		if err := r.decode(r.Old, old); err != nil {
			return Answer{}, err
		}
		if !hasClass(old) {
			return Answer{}, nil
		}
		class = *old.Spec.LoadBalancerClass
	}
	return Answer{Changes: []Change{setChange("/spec/loadBalancerClass", class)}}, nil
}

// hasClass reports whether a Service has a load balancer class.
func hasClass(s *corev1.Service) bool {
	return s.Spec.LoadBalancerClass != nil && *s.Spec.LoadBalancerClass != ""
}
