package attach

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// maxListeners is the maximum number of listeners of a Gateway and its ListenerSets that are served. The API server
// limits the number of listeners in an object, but not the number of ListenerSets.
const maxListeners = 1024

// reasonTooManyListeners is the reason of the Gateway API for listeners beyond maxListeners.
const reasonTooManyListeners = string(gatewayv1.ListenerEntryReasonTooManyListeners)

// loadListeners collects the listeners of the Gateway and of the accepted ListenerSets.
func (e *evaluation) loadListeners() {
	gw := e.gateway
	own := cluster.RefOf(gw)
	e.byParent[own] = nil // the Gateway is a parent of routes even without listeners
	for i, l := range gw.Spec.Listeners {
		e.addListener(own, i, l)
	}
	for _, s := range e.out.Sets {
		of := cluster.RefOf(s.Object)
		if !s.Accepted {
			e.rejectedSets[of] = true
			continue
		}
		e.byParent[of] = nil
		for i, l := range s.Object.Spec.Listeners {
			e.addListener(of, i, gatewayv1.Listener(l))
		}
	}
}

func (e *evaluation) addListener(of cluster.Ref, index int, spec gatewayv1.Listener) {
	l := Listener{Parent: of, Index: index, Spec: spec}
	sel := namespaceSelection{from: gatewayv1.NamespacesFromSame, sameNamespace: of.Namespace}
	if a := spec.AllowedRoutes; a != nil && a.Namespaces != nil {
		sel = newNamespaceSelection(a.Namespaces.From, gatewayv1.NamespacesFromSame, of.Namespace, a.Namespaces.Selector)
	}
	l.AdmittedNamespaces = sel.String()
	l.RouteKinds, l.RefProblem = e.routeKinds(spec)
	l.Certificates = e.certificates(&l)
	e.byParent[of] = append(e.byParent[of], len(e.out.Listeners))
	e.namespaces = append(e.namespaces, sel)
	e.out.Listeners = append(e.out.Listeners, l)
}

// routeKinds returns the kinds of routes that may attach to a listener: those in its allowedRoutes, or the defaults for
// its protocol. It also returns a Problem if allowedRoutes has a kind that the load balancer cannot serve.
func (e *evaluation) routeKinds(l gatewayv1.Listener) ([]gatewayv1.RouteGroupKind, Problem) {
	kinds := []gatewayv1.RouteGroupKind{}
	add := func(k cluster.Kind) bool {
		if !slices.Contains(e.servedRouteKinds, k) {
			return false
		}
		if !allowsKind(kinds, k) {
			group := gatewayv1.Group(gatewayv1.GroupName)
			kinds = append(kinds, gatewayv1.RouteGroupKind{Group: &group, Kind: gatewayv1.Kind(k)})
		}
		return true
	}
	if l.AllowedRoutes == nil || len(l.AllowedRoutes.Kinds) == 0 {
		for _, k := range defaultRouteKinds[l.Protocol] {
			add(k)
		}
		return kinds, Problem{}
	}
	var foreign Problem
	for _, k := range l.AllowedRoutes.Kinds {
		if (IsForeignAPIGroup(k.Group) || !add(cluster.Kind(k.Kind))) && foreign.Reason == "" {
			foreign = Problem{string(gatewayv1.ListenerReasonInvalidRouteKinds), fmt.Sprintf(
				"allowedRoutes.kinds names %q, which this load balancer cannot serve; the kind is left out, and a listener without any other kind is not served; use kinds from %s", k.Kind, joinStrings(e.servedRouteKinds))}
		}
	}
	return kinds, foreign
}

// defaultRouteKinds has the kinds of routes that may attach to a listener without allowedRoutes.kinds, by protocol.
var defaultRouteKinds = map[gatewayv1.ProtocolType][]cluster.Kind{
	gatewayv1.HTTPProtocolType:  {cluster.KindHTTPRoute},
	gatewayv1.HTTPSProtocolType: {cluster.KindHTTPRoute, cluster.KindGRPCRoute},
	gatewayv1.TCPProtocolType:   {cluster.KindTCPRoute},
	gatewayv1.UDPProtocolType:   {cluster.KindUDPRoute},
	gatewayv1.TLSProtocolType:   {cluster.KindTLSRoute, cluster.KindTCPRoute},
}

func allowsKind(kinds []gatewayv1.RouteGroupKind, k cluster.Kind) bool {
	return slices.ContainsFunc(kinds, func(x gatewayv1.RouteGroupKind) bool { return x.Kind == gatewayv1.Kind(k) })
}

func joinStrings[T ~string](all []T) string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = string(x)
	}
	return strings.Join(out, ", ")
}

// certificates returns the Secrets in the certificateRefs of a listener that it may use. If it may not use one of them,
// certificates sets RefProblem to the reason.
func (e *evaluation) certificates(l *Listener) []SecretRef {
	tls := l.Spec.TLS
	if tls == nil || tls.Mode != nil && *tls.Mode == gatewayv1.TLSModePassthrough {
		return nil
	}
	var out []SecretRef
	for _, ref := range tls.CertificateRefs {
		s := SecretRef{Namespace: l.Parent.Namespace, Name: string(ref.Name)}
		if ref.Namespace != nil && *ref.Namespace != "" {
			s.Namespace = string(*ref.Namespace)
		}
		var p Problem
		switch {
		case ref.Group != nil && *ref.Group != "" || ref.Kind != nil && *ref.Kind != "" && *ref.Kind != gatewayv1.Kind(cluster.KindSecret):
			p = Problem{string(gatewayv1.ListenerReasonInvalidCertificateRef), fmt.Sprintf(
				"certificateRefs names %q, which is not a Secret; the reference is not used; refer to a Secret of type kubernetes.io/tls", ref.Name)}
		case !e.out.Grants.Permits(
			Referrer{gatewayv1.GroupName, l.Parent.Kind, l.Parent.Namespace}, Referent{"", cluster.KindSecret, s.Namespace, s.Name}):
			p = Problem{string(gatewayv1.ListenerReasonRefNotPermitted), fmt.Sprintf(
				"no ReferenceGrant permits the reference to Secret %q of namespace %q; the Secret is not used; create a ReferenceGrant in that namespace", s.Name, s.Namespace)}
		default:
			out = append(out, s)
		}
		if l.RefProblem.Reason == "" {
			l.RefProblem = p
		}
	}
	return out
}

// problemOfListener returns the Problem that the listener with index i has regardless of conflicts with other listeners.
func (e *evaluation) problemOfListener(i int, l *Listener) Problem {
	spec := l.Spec
	switch {
	case len(l.RouteKinds) == 0 && l.RefProblem.Reason == string(gatewayv1.ListenerReasonInvalidRouteKinds):
		return l.RefProblem
	case i >= maxListeners:
		return Problem{reasonTooManyListeners, fmt.Sprintf(
			"the Gateway and its ListenerSets have more than %d listeners; the listener is not served; remove listeners or ListenerSets", maxListeners)}
	case spec.Port < 1 || spec.Port > 65535:
		return Problem{string(gatewayv1.ListenerReasonPortUnavailable), fmt.Sprintf(
			"port %d is not valid; the listener is not served; use a port from 1 to 65535", spec.Port)}
	case !slices.Contains(e.protocols, spec.Protocol):
		return Problem{string(gatewayv1.ListenerReasonUnsupportedProtocol), fmt.Sprintf(
			"the load balancer does not support protocol %q; the listener is not served; use one of %s", spec.Protocol, joinStrings(e.protocols))}
	case e.namespaces[i].err != nil:
		return Problem{string(gatewayv1.ListenerReasonUnsupportedValue), fmt.Sprintf(
			"allowedRoutes.namespaces.selector is malformed: %q; the listener is not served; correct the selector", e.namespaces[i].err)}
	case l.Hostname() != "" && !isValidHostname(l.Hostname()):
		return Problem{string(gatewayv1.ListenerReasonUnsupportedValue), fmt.Sprintf(
			"%q is an IP address or has a label of more than 63 characters; the listener is not served; use a hostname", l.Hostname())}
	}
	return Problem{}
}

// isValidHostname reports whether h is not an IP address and has no label of more than 63 characters. h may be a
// wildcard.
func isValidHostname(h string) bool {
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
