package assemble

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ServicePort returns the port of a Service with a number or name, or nil if there is none.
func ServicePort(svc *corev1.Service, port intstr.IntOrString) *corev1.ServicePort {
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if port.Type == intstr.String && p.Name == port.StrVal || port.Type == intstr.Int && p.Port == port.IntVal {
			return p
		}
	}
	return nil
}

// TargetPort returns the port on which pods listen for a port of a Service: a number, or the name of a container port.
func TargetPort(p *corev1.ServicePort) intstr.IntOrString {
	if p.TargetPort == (intstr.IntOrString{}) {
		return intstr.FromInt32(p.Port)
	}
	return p.TargetPort
}

// hasIPv6 reports whether IPv6 is among the address families of a Service.
func hasIPv6(svc *corev1.Service) bool {
	return slices.Contains(svc.Spec.IPFamilies, corev1.IPv6Protocol)
}
