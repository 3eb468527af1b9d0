package attach

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// maxListeners is how many listeners of a Gateway and its ListenerSets are served. The API server bounds each object, and
// nothing bounds the number of sets.
const maxListeners = 1024

// reasonTooMany is the reason of the Gateway API for listeners of sets that are not served.
const reasonTooMany = string(gatewayv1.ListenerEntryReasonTooManyListeners)

// loadListeners collects the listeners of the Gateway and of the accepted sets.
func (e *evaluation) loadListeners() {
	gw := e.gateway
	own := parentKey{cluster.KindGateway, gw.Namespace, gw.Name}
	e.byParent[own] = nil // also without listeners it is a parent
	for i, l := range gw.Spec.Listeners {
		e.addListener(own, i, l)
	}
	for _, s := range e.out.Sets {
		of := parentKey{cluster.KindListenerSet, s.Object.Namespace, s.Object.Name}
		if !s.Accepted {
			e.rejected[of] = true
			continue
		}
		e.byParent[of] = nil
		for i, l := range s.Object.Spec.Listeners {
			e.addListener(of, i, gatewayv1.Listener(l))
		}
	}
}

func (e *evaluation) addListener(of parentKey, index int, spec gatewayv1.Listener) {
	l := Listener{Parent: of.ref(), Index: index, Spec: spec}
	sel := selection{from: gatewayv1.NamespacesFromSame, own: of.namespace}
	if a := spec.AllowedRoutes; a != nil && a.Namespaces != nil {
		sel = selectionOf(a.Namespaces.From, gatewayv1.NamespacesFromSame, of.namespace, a.Namespaces.Selector)
	}
	l.Admits = sel.String()
	l.Kinds, l.Refs = e.routeKinds(spec)
	l.Certificates = e.certificates(&l)
	e.byParent[of] = append(e.byParent[of], len(e.out.Listeners))
	e.namespaces = append(e.namespaces, sel)
	e.out.Listeners = append(e.out.Listeners, l)
}

// routeKinds returns the kinds of routes that may attach to a listener: those that it names, otherwise those of its
// protocol.
func (e *evaluation) routeKinds(l gatewayv1.Listener) ([]gatewayv1.RouteGroupKind, Problem) {
	kinds := []gatewayv1.RouteGroupKind{}
	add := func(k cluster.Kind) bool {
		if !slices.Contains(e.kinds, k) {
			return false
		}
		if !allows(kinds, k) {
			group := gatewayv1.Group(gatewayv1.GroupName)
			kinds = append(kinds, gatewayv1.RouteGroupKind{Group: &group, Kind: gatewayv1.Kind(k)})
		}
		return true
	}
	if l.AllowedRoutes == nil || len(l.AllowedRoutes.Kinds) == 0 {
		for _, k := range defaultKinds[l.Protocol] {
			add(k)
		}
		return kinds, Problem{}
	}
	var foreign Problem
	for _, k := range l.AllowedRoutes.Kinds {
		if (foreignGroup(k.Group) || !add(cluster.Kind(k.Kind))) && foreign.Reason == "" {
			foreign = Problem{string(gatewayv1.ListenerReasonInvalidRouteKinds), fmt.Sprintf(
				"allowedRoutes.kinds names %q, which this load balancer cannot serve; it is left out; name some of %s", k.Kind, joined(e.kinds))}
		}
	}
	return kinds, foreign
}

// defaultKinds are the kinds of routes of a listener that names none.
var defaultKinds = map[gatewayv1.ProtocolType][]cluster.Kind{
	gatewayv1.HTTPProtocolType:  {cluster.KindHTTPRoute},
	gatewayv1.HTTPSProtocolType: {cluster.KindHTTPRoute, cluster.KindGRPCRoute},
	gatewayv1.TCPProtocolType:   {cluster.KindTCPRoute},
	gatewayv1.UDPProtocolType:   {cluster.KindUDPRoute},
	gatewayv1.TLSProtocolType:   {cluster.KindTLSRoute, cluster.KindTCPRoute},
}

func allows(kinds []gatewayv1.RouteGroupKind, k cluster.Kind) bool {
	return slices.ContainsFunc(kinds, func(x gatewayv1.RouteGroupKind) bool { return x.Kind == gatewayv1.Kind(k) })
}

func joined[T ~string](all []T) string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = string(x)
	}
	return strings.Join(out, ", ")
}

// certificates returns the Secrets that a listener may use. Why it may not use one is noted as a problem of its
// references.
func (e *evaluation) certificates(l *Listener) []Secret {
	tls := l.Spec.TLS
	if tls == nil || tls.Mode != nil && *tls.Mode == gatewayv1.TLSModePassthrough {
		return nil
	}
	var out []Secret
	for _, ref := range tls.CertificateRefs {
		s := Secret{Namespace: l.Parent.Namespace, Name: string(ref.Name)}
		if ref.Namespace != nil && *ref.Namespace != "" {
			s.Namespace = string(*ref.Namespace)
		}
		var p Problem
		switch {
		case ref.Group != nil && *ref.Group != "" || ref.Kind != nil && *ref.Kind != "" && *ref.Kind != gatewayv1.Kind(cluster.KindSecret):
			p = Problem{string(gatewayv1.ListenerReasonInvalidCertificateRef), fmt.Sprintf(
				"certificateRefs names %q, which is not a Secret; it is not used; name a Secret of type kubernetes.io/tls", ref.Name)}
		case !e.out.Grants.Permits(
			From{gatewayv1.GroupName, l.Parent.Kind, l.Parent.Namespace}, To{"", string(cluster.KindSecret), s.Namespace, s.Name}):
			p = Problem{string(gatewayv1.ListenerReasonRefNotPermitted), fmt.Sprintf(
				"no ReferenceGrant permits the reference to Secret %q of namespace %q; it is not used; create a ReferenceGrant in that namespace", s.Name, s.Namespace)}
		default:
			out = append(out, s)
		}
		if l.Refs.Reason == "" {
			l.Refs = p
		}
	}
	return out
}

// ownProblem returns what is wrong with a listener whatever the others are.
func (e *evaluation) ownProblem(i int, l *Listener) Problem {
	spec := l.Spec
	switch {
	case len(l.Kinds) == 0 && l.Refs.Reason == string(gatewayv1.ListenerReasonInvalidRouteKinds):
		return l.Refs
	case i >= maxListeners:
		return Problem{reasonTooMany, fmt.Sprintf(
			"the Gateway and its ListenerSets have more than %d listeners; this one is not served; remove listeners or ListenerSets", maxListeners)}
	case spec.Port < 1 || spec.Port > 65535:
		return Problem{string(gatewayv1.ListenerReasonPortUnavailable), fmt.Sprintf(
			"port %d does not exist; the listener is not served; use a port from 1 to 65535", spec.Port)}
	case !slices.Contains(e.protocols, spec.Protocol):
		return Problem{string(gatewayv1.ListenerReasonUnsupportedProtocol), fmt.Sprintf(
			"this load balancer has no protocol %q; the listener is not served; use one of %s", spec.Protocol, joined(e.protocols))}
	case e.namespaces[i].err != nil:
		return Problem{string(gatewayv1.ListenerReasonUnsupportedValue), fmt.Sprintf(
			"allowedRoutes.namespaces.selector is malformed: %q; the listener is not served; correct the selector", e.namespaces[i].err)}
	case l.Hostname() != "" && !hostnameValid(l.Hostname()):
		return Problem{string(gatewayv1.ListenerReasonUnsupportedValue), fmt.Sprintf(
			"%q is an IP address or has a label of more than 63 characters; the listener is not served; use a hostname", l.Hostname())}
	}
	return Problem{}
}

// hostnameValid reports whether requests can name a host, which may be a wildcard.
func hostnameValid(h string) bool {
	if _, err := netip.ParseAddr(h); err == nil {
		return false
	}
	for label := range strings.SplitSeq(h, ".") {
		if len(label) > 63 {
			return false
		}
	}
	return true
}
