package webhook

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

// mutateService sets the load balancer class of the controller on new Services of type LoadBalancer. If an update removes
// the class of a Service, mutateService restores the class, because the API server does not allow its removal.
func (c Config) mutateService(_ context.Context, r Request) (Response, error) {
	svc := &corev1.Service{}
	if err := r.decode(r.Object, svc); err != nil {
		return Response{}, err
	}
	if c.LoadBalancerClass == "" || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || hasClass(svc) {
		return Response{}, nil
	}
	if r.Operation == admissionv1.Create && !c.isWatched(r.Namespace) {
		return Response{}, nil // no change: other controllers ignore a Service with a class
	}
	class := c.LoadBalancerClass
	if r.Operation == admissionv1.Update {
		old := &corev1.Service{}
		if err := r.decode(r.Old, old); err != nil {
			return Response{}, err
		}
		if !hasClass(old) {
			return Response{}, nil
		}
		class = *old.Spec.LoadBalancerClass
	}
	return Response{Changes: []PatchOperation{newSetChange("/spec/loadBalancerClass", class)}}, nil
}

// hasClass reports whether a Service has a load balancer class.
func hasClass(s *corev1.Service) bool {
	return s.Spec.LoadBalancerClass != nil && *s.Spec.LoadBalancerClass != ""
}
