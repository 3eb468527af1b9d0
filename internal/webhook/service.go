package webhook

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

// completeService sets our class on new Services of type LoadBalancer, and keeps updates
// from removing the class that a Service has, which the API does not allow while its type
// stays.
func (c Config) completeService(_ context.Context, r Request) (Answer, error) {
	svc := &corev1.Service{}
	if err := decode(r.Object, svc); err != nil {
		return Answer{}, err
	}
	if c.LoadBalancerClass == "" || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || given(svc) {
		return Answer{}, nil
	}
	class := c.LoadBalancerClass
	if r.Operation == admissionv1.Update {
		old := &corev1.Service{}
		if err := decode(r.Old, old); err != nil {
			return Answer{}, err
		}
		if old.Spec.Type != corev1.ServiceTypeLoadBalancer || !given(old) {
			return Answer{}, nil
		}
		class = *old.Spec.LoadBalancerClass
	}
	return Answer{Changes: []Change{setChange("/spec/loadBalancerClass", class)}}, nil
}

func given(s *corev1.Service) bool {
	return s.Spec.LoadBalancerClass != nil && *s.Spec.LoadBalancerClass != ""
}
