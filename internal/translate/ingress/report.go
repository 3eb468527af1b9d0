package ingress

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/report"
)

// Report returns patches for the status of the members, for the plan annotation, and for events.
func (f *Frontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	return append(report.Patches(v, o, ingressStatusReporter{}), f.planPatches(v, o)...)
}

// ingressStatusReporter implements report.StatusReporter for Ingresses.
type ingressStatusReporter struct{}

// Status implements report.StatusReporter. The status shows the load balancer with its ports, and its frontend NLB without
// ports.
func (ingressStatusReporter) Status(_ *cluster.View, _ model.Member, n report.StatusLoadBalancer) any {
	lb := networkingv1.IngressLoadBalancerIngress{Hostname: n.LoadBalancer}
	for _, port := range n.Ports {
		lb.Ports = append(lb.Ports, networkingv1.IngressPortStatus{Port: port, Protocol: corev1.ProtocolTCP})
	}
	entries := []networkingv1.IngressLoadBalancerIngress{lb}
	if n.Frontend != "" {
		entries = append(entries, networkingv1.IngressLoadBalancerIngress{Hostname: n.Frontend})
	}
	return networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: entries}}
}

// ShowsLoadBalancer implements report.StatusReporter.
func (ingressStatusReporter) ShowsLoadBalancer(v *cluster.View, m model.Member) bool {
	ing, ok := cluster.Get[*networkingv1.Ingress](v, cluster.KindIngress, m.Ref.Namespace, m.Ref.Name)
	return ok && len(ing.Status.LoadBalancer.Ingress) > 0
}
