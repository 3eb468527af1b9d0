package service

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/report"
)

// Report returns patches for the status of the members and for events.
func (f *Frontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	return report.Patches(v, o, serviceStatusReporter{f, o})
}

// serviceStatusReporter implements report.StatusReporter for the Services of a stack.
type serviceStatusReporter struct {
	frontend *Frontend
	outcome  engine.Outcome
}

// Status implements report.StatusReporter. The status shows the load balancer with those ports of the Service that have a
// listener. It is nil if the type of the Service is not LoadBalancer, because the API server removes the status of
// Services of other types. It is also nil if the Service is only held, because another controller may serve the Service.
func (k serviceStatusReporter) Status(v *cluster.View, m model.Member, n report.StatusLoadBalancer) any {
	svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, m.Ref.Namespace, m.Ref.Name)
	if !ok || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || !k.frontend.isAccepted(svc) {
		return nil
	}
	lb := corev1.LoadBalancerIngress{Hostname: strings.ToLower(n.LoadBalancer)}
	for _, p := range svc.Spec.Ports {
		if slices.Contains(n.Ports, p.Port) && listenerServesPort(k.outcome, m, p) {
			lb.Ports = append(lb.Ports, corev1.PortStatus{Port: p.Port, Protocol: corev1.Protocol(baseProtocolOf(&p))})
		}
	}
	if len(lb.Ports) == 0 {
		return nil // the listeners of all its ports belong to other Services, or are held with another protocol
	}
	return corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{lb}}}
}

// listenerServesPort reports whether the stack has a listener for a port of the Service, and the listener belongs to this
// member.
func listenerServesPort(o engine.Outcome, m model.Member, p corev1.ServicePort) bool {
	if o.Stack.LoadBalancer == nil {
		return false
	}
	return slices.ContainsFunc(o.Stack.LoadBalancer.Listeners, func(l model.Listener) bool {
		return l.Port == p.Port && slices.Contains(l.Members, m.Ref) && acceptsProtocol(protocolInAWS(o, l), baseProtocolOf(&p))
	})
}

// protocolInAWS returns the protocol that a listener has after the run. While the listener is held, or a change of its
// protocol waits, this is not the desired protocol.
func protocolInAWS(o engine.Outcome, l model.Listener) string {
	protocol := l.Protocol()
	for i := range o.Have.LoadBalancers {
		if lb := &o.Have.LoadBalancers[i]; lb.ARN == o.LiveLoadBalancers[model.LoadBalancerID].ARN {
			if live := lb.ListenerOnPort(l.Port); live != nil {
				protocol = live.Protocol
			}
		}
	}
	if len(o.Plan.ShownARNs) > 0 {
		return protocol // the steps are for another load balancer than the one that the status shows
	}
	for _, s := range o.Plan.Steps {
		var settings plan.ListenerSettings
		switch do := s.Do.(type) {
		case plan.CreateListener:
			settings = do.Settings
		case plan.ModifyListener:
			settings = do.Settings
		}
		if settings.Port == l.Port && o.CarriedOutSteps[s.ID] {
			protocol = settings.Protocol
		}
	}
	return protocol
}

// acceptsProtocol reports whether a listener with a protocol accepts traffic over the protocol sent, which is TCP or UDP.
func acceptsProtocol(listener string, sent model.BaseProtocol) bool {
	switch listener {
	case "TCP_UDP", "TCP_QUIC":
		return true
	case "UDP", "QUIC":
		return sent == model.UDP
	case "TCP", "TLS":
		return sent == model.TCP
	}
	return false // a port with another protocol has a fault and no listener
}

// ShowsLoadBalancer implements report.StatusReporter.
func (serviceStatusReporter) ShowsLoadBalancer(v *cluster.View, m model.Member) bool {
	svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, m.Ref.Namespace, m.Ref.Name)
	return ok && len(svc.Status.LoadBalancer.Ingress) > 0
}
