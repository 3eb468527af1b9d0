package agent

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// endpoints returns the addresses (HOST:PORT) to dial for a node port: those of the ready endpoints. With
// externalTrafficPolicy Local, only endpoints on the node count. If no endpoint is ready, it returns the addresses of
// endpoints that are terminating but still serving.
func (a *agent) endpoints(key nodePortKey) []string {
	s, err := a.services.Services(key.service.Namespace).Get(key.service.Name)
	if err != nil {
		return nil
	}
	var ready, terminating []string
	a.forEachEndpoint(key, func(e discoveryv1.Endpoint, port int) {
		if isLocalOnly(s) && (e.NodeName == nil || *e.NodeName != key.node) {
			return
		}
		for _, text := range e.Addresses {
			addr, err := netip.ParseAddr(text)
			if err != nil {
				continue
			}
			switch {
			case boolOrDefault(e.Conditions.Ready, true):
				ready = append(ready, loopback.HostPort(addr, port))
			case boolOrDefault(e.Conditions.Terminating, false) && boolOrDefault(e.Conditions.Serving, false):
				terminating = append(terminating, loopback.HostPort(addr, port))
			}
		}
	})
	if len(ready) == 0 {
		return terminating
	}
	return ready
}

// countLocalEndpoints counts the ready endpoints of a Service on the key's node.
func (a *agent) countLocalEndpoints(key nodePortKey) int {
	seen := map[string]bool{}
	for _, slice := range a.endpointSlicesOf(key) {
		for _, e := range slice.Endpoints {
			if e.NodeName != nil && *e.NodeName == key.node && boolOrDefault(e.Conditions.Ready, true) {
				for _, addr := range e.Addresses {
					seen[addr] = true
				}
			}
		}
	}
	return len(seen)
}

func (a *agent) forEachEndpoint(key nodePortKey, f func(e discoveryv1.Endpoint, port int)) {
	for _, slice := range a.endpointSlicesOf(key) {
		for _, p := range slice.Ports {
			name := ""
			if p.Name != nil {
				name = *p.Name
			}
			protocol := corev1.ProtocolTCP
			if p.Protocol != nil {
				protocol = *p.Protocol
			}
			if name != key.portName || p.Port == nil || protocol != key.protocol {
				continue
			}
			for _, e := range slice.Endpoints {
				f(e, int(*p.Port))
			}
		}
	}
}

func (a *agent) endpointSlicesOf(key nodePortKey) []*discoveryv1.EndpointSlice {
	of := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: key.service.Name})
	slices, err := a.slices.EndpointSlices(key.service.Namespace).List(of)
	if err != nil {
		return nil
	}
	var v4 []*discoveryv1.EndpointSlice
	for _, s := range slices {
		if s.AddressType == discoveryv1.AddressTypeIPv4 {
			v4 = append(v4, s)
		}
	}
	return v4
}

func boolOrDefault(b *bool, unset bool) bool {
	if b == nil {
		return unset
	}
	return *b
}
