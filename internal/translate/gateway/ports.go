package gateway

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// port is a port of a Gateway with its valid listeners.
type port struct {
	*members.Port
	// listeners are the valid listeners of the port, in the order of attach.Result.Listeners.
	listeners []*attach.Listener
	// routes are the routes that are attached to the listeners, oldest first.
	routes []attach.PortRoute
	// servedRoute is the route that a port of a network load balancer serves, by its index in attach.Result.Routes; -1 if
	// there is none. owner is the listener to which this route is attached, otherwise the first listener of the port.
	servedRoute int
	owner       *attach.Listener
	// entry is the entry of the configuration for the listener; nil if there is none. at is the field with this entry.
	entry *gwconfig.ListenerConfiguration
	at    finding.Origin
}

// applicationPorts returns the ports of an application load balancer.
func (t *translation) applicationPorts() []*port {
	out := t.portsOf(func(p *port) { p.TLS = p.listeners[0].Spec.Protocol == gwv1.HTTPSProtocolType })
	for _, p := range out {
		if p.TLS {
			for _, r := range p.routes {
				t.httpsRoutes[r.Route] = true
			}
		}
	}
	return out
}

// portsOf returns the ports of valid listeners in ascending order. setProtocol is called for each port, to set its protocol.
func (t *translation) portsOf(setProtocol func(*port)) []*port {
	var out []*port
	byNumber := map[int32]*port{}
	for i := range t.attached.Listeners {
		l := &t.attached.Listeners[i]
		if !l.IsValid() {
			continue
		}
		n := int32(l.Spec.Port)
		if byNumber[n] == nil {
			byNumber[n] = &port{Port: &members.Port{Number: n, Members: []*members.Member{t.member}}}
		}
		byNumber[n].listeners = append(byNumber[n].listeners, l)
	}
	for _, n := range t.attached.Ports() {
		p := byNumber[n]
		p.routes = t.attached.RoutesOnPort(n)
		setProtocol(p)
		p.entry, p.at = t.config.ListenerEntry(t.ref, p.ListenPort().Protocol(), p.Number)
		out = append(out, p)
	}
	return out
}

// listenerSets returns the ListenerSets that define a port; nil if the Gateway itself has a listener on the port.
func (t *translation) listenerSets(p *port) (out []finding.Ref) {
	for _, l := range p.listeners {
		if l.Parent == t.ref {
			return nil
		}
		if !slices.Contains(out, l.Parent) {
			out = append(out, l.Parent)
		}
	}
	return out
}

// buildListener builds a listener with the settings that both types of load balancers have.
func (t *translation) buildListener(p *port) model.Listener {
	l := model.Listener{Port: p.Number, BaseProtocol: p.BaseProtocol, Tags: t.ListenerTags(p.Port), Members: []finding.Ref{t.ref}, ListenerSets: t.listenerSets(p)}
	if p.TLS {
		l.TLS = &model.TLS{Policy: t.opt.DefaultSSLPolicy, Certificates: certificateBuilder{t}.certificates(p)}
		l.TLS.NotImported = !t.opt.ImportCertificates && slices.ContainsFunc(p.listeners, func(l *attach.Listener) bool { return len(l.Certificates) > 0 })
		if p.entry != nil && p.entry.SSLPolicy != nil && *p.entry.SSLPolicy != "" {
			l.TLS.Policy = *p.entry.SSLPolicy
		}
	}
	if p.entry != nil && (p.BaseProtocol == model.HTTP || !p.TLS) && len(p.entry.ListenerAttributes) > 0 {
		l.Attributes = gatewayconfig.AttributeMap(p.entry.ListenerAttributes)
		l.AttributesOf = []finding.Origin{p.at}
		t.Found.Add(settings.ListenerAttributeKeys.FindProbableMistakes(l.Attributes, p.at.Object, p.at.Field, finding.ParametersInvalid)...)
	}
	return l
}
