package gateway

import (
	"cmp"
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// networkListenerBuilder builds the listeners of a network load balancer.
type networkListenerBuilder struct{ *translation }

// networkPorts returns the ports of a network load balancer, each with its protocol and the route that it serves.
func (t networkListenerBuilder) networkPorts() []*port {
	out := t.portsOf(chooseProtocol)
	t.unservedPorts = map[int][]*port{}
	t.fixedProtocol, t.firstPort = map[int]string{}, map[int]*port{}
	for _, p := range out {
		t.upgradeToQUIC(p)
		t.chooseRoute(p)
		if p.servedRoute < 0 {
			continue
		}
		if t.firstPort[p.servedRoute] == nil {
			t.firstPort[p.servedRoute] = p
		}
		// A TCP_UDP listener needs a TCP_UDP target group. TCP listeners and UDP listeners can also use a TCP_UDP target
		// group, so all ports of the route without TLS get it.
		if p.BaseProtocol == model.TCPUDP {
			t.fixedProtocol[p.servedRoute] = p.ListenPort().Protocol()
		}
	}
	t.reportUnservedRoutes(out)
	return out
}

// chooseProtocol sets the protocol of a port to that of its first listener, or to TCP_UDP if it has TCP and UDP listeners.
func chooseProtocol(p *port) {
	first := p.listeners[0].Spec
	if first.Protocol == gwv1.TLSProtocolType {
		p.BaseProtocol, p.TLS = model.TCP, terminatesTLS(first.TLS)
		return
	}
	p.BaseProtocol = model.BaseProtocol(first.Protocol)
	if slices.ContainsFunc(p.listeners, func(l *attach.Listener) bool { return l.Spec.Protocol != first.Protocol }) {
		p.BaseProtocol = model.TCPUDP
	}
}

// terminatesTLS reports whether a listener terminates TLS instead of passing it through.
func terminatesTLS(tls *gwv1.ListenerTLSConfig) bool {
	return tls == nil || tls.Mode == nil || *tls.Mode == gwv1.TLSModeTerminate
}

// upgradeToQUIC changes the protocol of a UDP or TCP_UDP port to QUIC or TCP_QUIC if the configuration has quicEnabled.
func (t networkListenerBuilder) upgradeToQUIC(p *port) {
	if p.entry == nil || !valueOr(p.entry.QUICEnabled, false) {
		return
	}
	quic, ok := map[model.BaseProtocol]model.BaseProtocol{model.UDP: model.QUIC, model.TCPUDP: model.TCPQUIC}[p.BaseProtocol]
	if !ok || p.TLS {
		t.Found.Add(finding.Finding{
			Object: p.at.Object, Field: p.at.Field, Reason: finding.ParametersInvalid, Severity: finding.Warning, Blocks: finding.BlocksNothing,
			Message: fmt.Sprintf("quicEnabled has no effect, because it is for UDP and port %d is %s", p.Number, p.ListenPort().Protocol()), Fix: "remove quicEnabled, or add a UDP listener on the port",
		})
		return
	}
	p.BaseProtocol = quic
}

// quicProtocol returns the protocol of a port with QUIC, and "" for other ports. The target groups of such a port need the
// same protocol, so other listeners cannot use them.
func quicProtocol(p *port) string {
	if p.BaseProtocol == model.QUIC || p.BaseProtocol == model.TCPQUIC {
		return p.ListenPort().Protocol()
	}
	return ""
}

// networkListener builds the listener of a port. It returns false if no backend would receive the connections.
func (t networkListenerBuilder) networkListener(p *port) (model.Listener, bool) {
	if p.servedRoute < 0 {
		return model.Listener{}, false
	}
	l := t.buildListener(p)
	if l.TLS != nil {
		l.TLS.ALPN = "None"
		if p.entry != nil && p.entry.ALPNPolicy != nil {
			l.TLS.ALPN = string(*p.entry.ALPNPolicy)
		}
	}
	route := t.attached.Routes[p.servedRoute]
	l.DefaultOf = finding.Origin{Object: t.routeRef(p.servedRoute), Field: "spec.rules[0].backendRefs"}
	if quicProtocol(p) != "" && t.Stack.LoadBalancer.SecurityGroups != nil {
		t.Found.Add(finding.Finding{
			Object: p.at.Object, Field: p.at.Field, Reason: finding.ParametersInvalid, Blocks: finding.BlocksListener,
			Message: fmt.Sprintf("AWS does not support QUIC listeners on load balancers with security groups; port %d stays unchanged", p.Number),
			Fix:     "set disableSecurityGroup to true before the load balancer is created",
		})
		l.DefaultHeld = model.HeldInvalid
		return l, true
	}
	forward, serving, held := t.networkForward(p, route)
	switch {
	case held:
		l.DefaultHeld = model.HeldInvalid
		return l, true
	case !serving:
		return model.Listener{}, false
	}
	if p.entry != nil && p.entry.TargetGroupStickiness != nil {
		forward.Stickiness = &model.TargetGroupStickiness{Enabled: p.entry.TargetGroupStickiness}
	}
	l.Default = []model.Action{forward}
	return l, true
}

// networkForward returns the forward action to the backends of all rules of a route. serving reports whether a backend has a
// weight above 0. held reports whether the listener is held, because a target group cannot be built or because there are too
// many target groups.
func (t networkListenerBuilder) networkForward(p *port, route attach.Route) (out model.Forward, serving, held bool) {
	refs := cluster.RouteBackends(route.Object)
	groups := make([]model.TargetGroupRef, len(refs))
	ref := t.routeRef(p.servedRoute)
	for i, b := range refs {
		at := finding.Origin{Object: ref, Field: fmt.Sprintf("spec.rules[0].backendRefs[%d]", i)}
		group, ok, fault := t.networkBackend(p, route, b, at)
		held = held || fault
		if ok {
			groups[i] = group
		}
	}
	out.Groups, serving = weightedGroups(refs, groups)
	if quicProtocol(p) != "" {
		for i := range out.Groups {
			out.Groups[i].Weight = nil // AWS refuses weights with QUIC
		}
	}
	if len(out.Groups) > 0 && !serving {
		t.Found.Add(finding.NewAllWeightsZeroFinding(finding.Origin{Object: ref, Field: "spec.rules[0].backendRefs"}, fmt.Sprintf("port %d has no listener", p.Number)))
	}
	hold := func(reason finding.Reason, message, fix string) {
		t.Found.Add(finding.Finding{
			Object: ref, Field: "spec.rules[0].backendRefs", Reason: reason, Blocks: finding.BlocksRule,
			Message: fmt.Sprintf("%s; port %d stays unchanged", message, p.Number), Fix: fix,
		})
		held = true
	}
	switch n := len(out.Groups); {
	case n > maxTargetGroups:
		hold(finding.RouteValueUnsupported, fmt.Sprintf("%d backends exceed the limit of %d target groups in a listener", n, maxTargetGroups), "name fewer backends")
	case n > 1 && t.opt.NoWeightedTargetGroups:
		hold(finding.FeatureDisabled, "several target groups in one action are disabled", "ask the operator to enable feature gate WeightedTargetGroups, or name one backend")
	}
	return out, serving, held
}

// networkBackend returns the target group for one backend. ok is false if the backend cannot be used. held reports whether
// the listener is held, because the target group cannot be built.
func (t networkListenerBuilder) networkBackend(p *port, route attach.Route, ref gwv1.BackendRef, at finding.Origin) (_ model.TargetGroupRef, ok, held bool) {
	switch kind := backendKind(ref); kind {
	case serviceBackend:
		a, ok, fault := t.serviceTarget(route.Object, ref, at)
		if !ok {
			return model.TargetGroupRef{}, false, fault != 0
		}
		a.protocol, a.protocolFixed = t.targetProtocol(p, route)
		if t.needsOwnTargetGroup(p, a) {
			a.variant = a.protocol
		}
		handle, ok := targetGroupBuilder(t).requestTargetGroup(a)
		return model.TargetGroupRef{ID: handle}, ok, !ok
	case targetGroupBackend:
		group, ok := targetGroupBuilder(t).namedTargetGroup(ref, at)
		return group, ok, !ok
	case gatewayBackend:
		return t.albTargetGroup(p, route.Object, ref, at)
	default:
		t.reportInvalidBackend(at, finding.BackendKindUnknown, fmt.Sprintf("network load balancers cannot forward to backends of kind %q", finding.TruncateValue(kind)), "name a Service, a Gateway with an application load balancer, or a TargetGroupName")
		return model.TargetGroupRef{}, false, false
	}
}

// needsOwnTargetGroup reports whether a port cannot use the target group that the first port of its route uses. There are
// three cases: only one of the two ports uses QUIC; the port terminates TLS, and the route has a TCP_UDP port; or the route
// is a TLSRoute, only one of the two ports terminates TLS, and no configuration sets the protocol of the targets.
func (t networkListenerBuilder) needsOwnTargetGroup(p *port, a target) bool {
	first := t.firstPort[p.servedRoute]
	return quicProtocol(p) != quicProtocol(first) || p.TLS && t.fixedProtocol[p.servedRoute] != "" ||
		a.route.Kind == cluster.KindTLSRoute && p.TLS != first.TLS && targetGroupBuilder(t).targetConfiguration(a).Protocol == nil
}

// targetProtocol returns the protocol of the target groups of a route, and reports whether the listener requires this
// protocol. AWS refuses TCP_UDP target groups behind TLS listeners, so a TLS port has its own target groups.
func (t networkListenerBuilder) targetProtocol(p *port, route attach.Route) (protocol string, fixed bool) {
	if protocol := cmp.Or(quicProtocol(p), t.fixedProtocol[p.servedRoute]); protocol != "" && !p.TLS {
		return protocol, true
	}
	switch route.Kind {
	case cluster.KindUDPRoute:
		return "UDP", false
	case cluster.KindTLSRoute:
		if p.TLS {
			return "TLS", false
		}
	}
	return "TCP", false
}
