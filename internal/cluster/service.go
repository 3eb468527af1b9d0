package cluster

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ServicePortNumber returns the number of the port that port names by number or by name. It returns false if the Service
// does not exist or has no such port.
func ServicePortNumber(v *View, namespace, service string, port intstr.IntOrString) (int32, bool) {
	svc, ok := Get[*corev1.Service](v, KindService, namespace, service)
	if !ok {
		return 0, false
	}
	for _, p := range svc.Spec.Ports {
		if p.Port == port.IntVal && port.StrVal == "" || port.StrVal != "" && p.Name == port.StrVal {
			return p.Port, true
		}
	}
	return 0, false
}

// ServicePortText returns the number of a port of a Service as text. If the Service has no such port, it returns the text of
// port.
func ServicePortText(v *View, namespace, service string, port intstr.IntOrString) string {
	if n, ok := ServicePortNumber(v, namespace, service, port); ok {
		return strconv.Itoa(int(n))
	}
	return port.String()
}
