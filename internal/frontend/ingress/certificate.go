package ingress

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// hostFields are the first fields of an Ingress that name the hosts, in their order.
func hostFields(ing *networkingv1.Ingress, hosts []string) []string {
	first := map[string]string{}
	note := func(host, field string) {
		if _, known := first[host]; !known {
			first[host] = field
		}
	}
	for i, r := range ing.Spec.Rules {
		note(r.Host, fmt.Sprintf("spec.rules[%d].host", i))
	}
	for i, s := range ing.Spec.TLS {
		for j, h := range s.Hosts {
			note(h, fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j))
		}
	}
	out := make([]string, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, first[h])
	}
	return out
}

// defaultPorts are the ports of a member that names none.
func defaultPorts(m *member) []settings.ListenPort {
	if len(m.set.Certificates.Value) > 0 || m.Secure {
		return []settings.ListenPort{{Port: 443, TLS: true}}
	}
	return []settings.ListenPort{{Port: 80}}
}
