package accelerator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator/rules"
)

// hasPortDiscovery reports whether the protocol or the ports of a listener are taken from its endpoint. This requires that
// the spec lacks the protocol or the ports, and that the listener has a single endpoint.
func hasPortDiscovery(l aga.Listener) bool {
	return (l.Protocol == "" || len(l.PortRanges) == 0) && len(l.EndpointGroups) == 1 && len(l.EndpointGroups[0].Endpoints) == 1
}

// discoverListeners builds the listeners for a spec without protocol or ports: one listener for each protocol on which
// the endpoint listens, or for the protocol in the spec. While the endpoint has no load balancer, the accelerator is
// held.
func (t listenerBuilder) discoverListeners(spec aga.Listener) {
	field := listenerField(0)
	at := field + ".endpointGroups[0].endpoints[0]"
	t.asksForPorts = true
	groups := endpointBuilder(t).buildEndpointGroups(spec.EndpointGroups, 0)
	if len(groups) == 0 {
		t.accelerator.Held = true
		return
	}
	g := groups[0]
	if len(g.Endpoints) == 0 {
		t.accelerator.Held = true // a finding already reports why the endpoint is left out
		return
	}
	found, why := t.endpointPorts(spec.EndpointGroups[0].Endpoints[0], g.Endpoints[0].ID)
	if why != "" {
		if t.live != nil {
			t.holdAccelerator(at, finding.SpecInvalid, "protocol and ports cannot be taken from the endpoint: "+why+"; no listener is created", "set protocol and portRanges")
		}
		return
	}
	protocols := []model.BaseProtocol{model.BaseProtocol(spec.Protocol)}
	if spec.Protocol == "" {
		protocols = slices.DeleteFunc([]model.BaseProtocol{model.TCP, model.UDP}, func(p model.BaseProtocol) bool { return len(found[p]) == 0 })
	}
	shown := t.endpointOrigin(spec.EndpointGroups[0].Endpoints[0], at)
	var skipped []model.AcceleratorListener // not created, because they have too many port ranges
	for i, p := range protocols {
		l := model.AcceleratorListener{ID: fmt.Sprintf("Listener-%d", i), Protocol: p, SourceIP: t.hasSourceIPAffinity(spec, field), Origin: t.origin(field), ProtocolOf: shown, PortsOf: shown}
		if spec.Protocol != "" {
			l.ProtocolOf = t.origin(field + ".protocol")
		}
		if len(spec.PortRanges) > 0 {
			ports, ok := t.readPortRanges(spec.PortRanges, field+".portRanges")
			if !ok {
				return
			}
			l.Ports, l.PortsOf = ports, t.origin(field+".portRanges")
		} else {
			l.Ports = portRanges(found[p])
		}
		switch {
		case len(l.Ports) == 0:
			t.holdAccelerator(field+".portRanges", finding.SpecInvalid, fmt.Sprintf("the endpoint has no %s ports, and the listener does not set portRanges; the listener is not created", p), "set portRanges, or change the protocol")
			continue
		case len(l.Ports) > rules.MaxPortRanges:
			t.holdAccelerator(at, finding.QuotaReached, fmt.Sprintf("the endpoint has %s ports in %d ranges, and a listener can have at most %d; this listener is not created", p, len(l.Ports), rules.MaxPortRanges), "set portRanges")
			skipped = append(skipped, l)
			continue
		}
		own := g
		own.ID = fmt.Sprintf("EndpointGroup-%d-0", i)
		l.Groups = []model.EndpointGroup{own}
		t.accelerator.Listeners = append(t.accelerator.Listeners, l)
	}
	// An override applies only to the listener that has its port. If no listener has the port, the first created listener
	// keeps the override, so that checkOverrides reports it.
	all := slices.Concat(t.accelerator.Listeners, skipped)
	hasPort := func(port int32) func(model.AcceleratorListener) bool {
		return func(l model.AcceleratorListener) bool { return l.HasPort(port) }
	}
	for i, l := range t.accelerator.Listeners {
		l.Groups[0].Overrides = slices.DeleteFunc(slices.Clone(g.Overrides), func(o model.PortOverride) bool {
			return !l.HasPort(o.Listener) && (i > 0 || slices.ContainsFunc(all, hasPort(o.Listener)))
		})
	}
}

// portRanges returns ports as sorted ranges without duplicates. Consecutive ports become one range.
func portRanges(ports []int32) (out []model.PortRange) {
	for _, p := range slices.Compact(slices.Sorted(slices.Values(ports))) {
		if n := len(out); n > 0 && out[n-1].To+1 == p {
			out[n-1].To = p
			continue
		}
		out = append(out, model.PortRange{From: p, To: p})
	}
	return out
}

// portsByProtocol has the ports of an endpoint, by protocol.
type portsByProtocol map[model.BaseProtocol][]int32

func (p portsByProtocol) addPort(protocol string, port int32) {
	base := model.TCP
	if protocol == string(corev1.ProtocolUDP) {
		base = model.UDP
	}
	p[base] = append(p[base], port)
}

// endpointPorts returns the ports of an endpoint that the GlobalAccelerator may use, or the reason why they are unknown.
// id is the ARN of the load balancer.
func (t listenerBuilder) endpointPorts(e aga.Endpoint, id string) (out portsByProtocol, why string) {
	out = portsByProtocol{}
	namespace := t.namespaceOf(e)
	switch e.Type {
	case aga.EndpointTypeService:
		svc, ok := cluster.Get[*corev1.Service](t.view, cluster.KindService, namespace, e.Name)
		if !ok || len(svc.Status.LoadBalancer.Ingress) == 0 {
			return nil, "the status of the Service has no ports"
		}
		seen := map[int32]bool{}
		for _, p := range svc.Status.LoadBalancer.Ingress[0].Ports {
			if seen[p.Port] {
				return nil, fmt.Sprintf("the Service has port %d for TCP and for UDP", p.Port)
			}
			seen[p.Port] = true
			out.addPort(string(p.Protocol), p.Port)
		}
	case aga.EndpointTypeIngress:
		ing, ok := cluster.Get[*networkingv1.Ingress](t.view, cluster.KindIngress, namespace, e.Name)
		if !ok {
			return nil, "the Ingress does not exist"
		}
		if shown := albStatusEntry(ing); shown != nil {
			for _, p := range shown.Ports {
				out.addPort("TCP", p.Port)
			}
		}
	case aga.EndpointTypeGateway:
		gw, ok := cluster.Get[*gwv1.Gateway](t.view, cluster.KindGateway, namespace, e.Name)
		if !ok {
			return nil, "the Gateway does not exist"
		}
		for _, l := range gw.Spec.Listeners {
			out.addPort(string(l.Protocol), int32(l.Port))
		}
	case aga.EndpointTypeEndpointID:
		return t.loadBalancerPorts(id)
	}
	if len(out) == 0 {
		return nil, fmt.Sprintf("the status of the %s has no ports", e.Type)
	}
	return out, ""
}

// loadBalancerPorts returns the listener ports of the load balancer with the ARN id, or the reason why they are unknown.
func (t listenerBuilder) loadBalancerPorts(id string) (out portsByProtocol, why string) {
	lb := t.requestLoadBalancer(model.AskLoadBalancers{ARN: id, Ports: true})
	if lb == nil || lb.Ports == nil {
		return nil, fmt.Sprintf("%q is not a load balancer in the region and account of the cluster", finding.TruncateValue(id))
	}
	out = portsByProtocol{}
	for _, protocol := range slices.Sorted(maps.Keys(lb.Ports)) {
		for _, port := range lb.Ports[protocol] {
			switch protocol {
			case "HTTP", "HTTPS", "TCP", "TLS":
				out.addPort("TCP", port)
			case "UDP":
				out.addPort("UDP", port)
			default:
				return nil, fmt.Sprintf("the load balancer has a listener with protocol %s on port %d, which a listener of an accelerator cannot have", protocol, port)
			}
		}
	}
	if len(out) == 0 {
		return nil, "the load balancer has no listeners"
	}
	return out, ""
}

// albStatusEntry returns the entry of the ALB in the status of an Ingress, or nil if there is none. It is the last entry
// whose hostname contains "elb.amazonaws"; hostnames of frontend NLBs do not contain it.
func albStatusEntry(ing *networkingv1.Ingress) (out *networkingv1.IngressLoadBalancerIngress) {
	for i := range ing.Status.LoadBalancer.Ingress {
		if e := &ing.Status.LoadBalancer.Ingress[i]; strings.Contains(e.Hostname, "elb.amazonaws") {
			out = e
		}
	}
	return out
}
