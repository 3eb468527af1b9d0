package service

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/report"
)

// Report returns patches for the status of the members and for events.
func (f *Frontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	return report.Patches(v, o, serviceStatusReporter{f, o.Stack})
}

// serviceStatusReporter implements report.StatusReporter for the Services of a stack.
type serviceStatusReporter struct {
	frontend *Frontend
	stack    model.Stack
}

// Status implements report.StatusReporter. The status shows the load balancer with those ports of the Service that have a
// listener. It is nil if the type of the Service is not LoadBalancer, because the API server removes the status of Services
// of other types, and if the Service is only held, because another controller may serve it.
func (k serviceStatusReporter) Status(v *cluster.View, m model.Member, n report.ShownLoadBalancer) any {
	svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, m.Ref.Namespace, m.Ref.Name)
	if !ok || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || !k.frontend.isAccepted(svc) {
		return nil
	}
	lb := corev1.LoadBalancerIngress{Hostname: strings.ToLower(n.LoadBalancer)}
	for _, p := range svc.Spec.Ports {
		if slices.Contains(n.Ports, p.Port) && listenerServesPort(k.stack, m, p) {
			lb.Ports = append(lb.Ports, corev1.PortStatus{Port: p.Port, Protocol: corev1.Protocol(baseProtocolOf(&p))})
		}
	}
	if len(lb.Ports) == 0 {
		return nil // the listeners of all its ports belong to other Services
	}
	return corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{lb}}}
}

// listenerServesPort reports whether the stack has a listener for a port of the Service, and the listener belongs to this
// member.
func listenerServesPort(stack model.Stack, m model.Member, p corev1.ServicePort) bool {
	if stack.LoadBalancer == nil {
		return false
	}
	return slices.ContainsFunc(stack.LoadBalancer.Listeners, func(l model.Listener) bool {
		return l.Port == p.Port && slices.Contains(l.Members, m.Ref) && acceptsProtocol(l.BaseProtocol, baseProtocolOf(&p))
	})
}

// acceptsProtocol reports whether a listener accepts traffic over the protocol sent, which is TCP or UDP.
func acceptsProtocol(listener, sent model.BaseProtocol) bool {
	switch listener {
	case model.TCPUDP, model.TCPQUIC:
		return true
	case model.QUIC:
		return sent == model.UDP
	case model.TCP, model.UDP:
		return listener == sent
	}
	return false // a port with another protocol has a fault and no listener
}

// ShowsLoadBalancer implements report.StatusReporter.
func (serviceStatusReporter) ShowsLoadBalancer(v *cluster.View, m model.Member) bool {
	svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, m.Ref.Namespace, m.Ref.Name)
	return ok && len(svc.Status.LoadBalancer.Ingress) > 0
}
