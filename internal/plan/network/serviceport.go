package network

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// maxPortsListed is the maximum number of ports of a Service that a message lists.
const maxPortsListed = 8

// MissingPortMessage returns the message that a Service does not have a port. It lists the ports of the Service, and
// suggests a port that has the given port as its target port, or that has a similar name or number.
func MissingPortMessage(svc *corev1.Service, port intstr.IntOrString) string {
	var names, all []string
	meant := ""
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		name := fmt.Sprint(p.Port)
		names = append(names, name)
		if p.Name != "" {
			names = append(names, p.Name)
			name += fmt.Sprintf(" (%s)", p.Name)
		}
		switch {
		case i < maxPortsListed:
			all = append(all, name)
		case i == maxPortsListed:
			all = append(all, "…")
		}
		if meant == "" && p.TargetPort == port {
			meant = fmt.Sprintf(" (its port %d has this target port)", p.Port)
		}
	}
	if meant == "" {
		meant = finding.SpellingHint(port.String(), names)
	}
	if len(all) == 0 {
		all = []string{"none"}
	}
	return fmt.Sprintf("Service %s/%s has no port %q%s; its ports are: %s", svc.Namespace, svc.Name, port.String(), meant, strings.Join(all, ", "))
}
