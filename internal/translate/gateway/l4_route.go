package gateway

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// A port of a network load balancer has one route: AWS knows neither hostnames nor paths there.

// chooseRoute gives a port its route: the one that is served there, otherwise the oldest. Where listeners of the port
// admit different namespaces, it belongs to the first of them, so that no namespace gets connections of another.
func (t networkBuilder) chooseRoute(p *port) {
	p.route, p.owner = -1, p.listeners[0]
	divided := slices.ContainsFunc(p.listeners, func(l *attach.Listener) bool { return l.AdmittedNamespaces != p.owner.AdmittedNamespaces })
	at := -1
	if len(p.routes) > 1 || divided {
		at = slices.IndexFunc(p.routes, func(r attach.PortRoute) bool {
			return incumbentBuilder(t).Serves(p.Number, t.routeRef(r.Route), nil)
		})
	}
	if at >= 0 {
		p.owner = &t.attached.Listeners[p.routes[at].Listeners[0]]
	} else {
		at = slices.IndexFunc(p.routes, func(r attach.PortRoute) bool { return t.ownerAdmits(p, r) })
	}
	if at >= 0 {
		p.route = p.routes[at].Route
	}
	for _, r := range p.routes {
		// A route with the same backends as the one that is served loses no traffic.
		if r.Route != p.route && (p.route < 0 || !sameBackends(t.attached.Routes[p.route].Object, t.attached.Routes[r.Route].Object)) {
			t.outvoted[r.Route] = append(t.outvoted[r.Route], p)
		}
	}
}

// ownerAdmits reports whether the listener that a port belongs to, or one that admits the same namespaces, has a route.
func (t networkBuilder) ownerAdmits(p *port, r attach.PortRoute) bool {
	return slices.ContainsFunc(r.Listeners, func(l int) bool { return t.attached.Listeners[l].AdmittedNamespaces == p.owner.AdmittedNamespaces })
}

// sameBackends reports whether two routes of one namespace name the same backends.
func sameBackends(a, b cluster.Object) bool {
	if a.GetNamespace() != b.GetNamespace() {
		return false
	}
	type backend struct {
		kind, namespace, name string
		port                  int32
	}
	of := func(route cluster.Object) map[backend]bool {
		out := map[backend]bool{}
		for _, ref := range cluster.RouteBackends(route) {
			out[backend{backendKind(ref), backendNamespace(finding.Ref{Namespace: route.GetNamespace()}, ref), string(ref.Name), int32(valueOr(ref.Port, 0))}] = true
		}
		return out
	}
	x, y := of(a), of(b)
	if len(x) != len(y) {
		return false
	}
	for k := range x {
		if !y[k] {
			return false
		}
	}
	return true
}

// reportOutvoted reports which routes get nothing from ports that they are attached to, and whose these are.
func (t networkBuilder) reportOutvoted(ports []*port) {
	for n := range t.attached.Routes {
		lost := t.outvoted[n]
		if len(lost) == 0 {
			continue
		}
		attached := 0
		for _, p := range ports {
			if slices.ContainsFunc(p.routes, func(r attach.PortRoute) bool { return r.Route == n }) {
				attached++
			}
		}
		f, strange := t.outvotedBy(lost[0], n)
		if len(lost) < attached || t.strict && !strange { // the standard accepts routes that get nothing
			f.Reason, f.Severity = finding.RouteFieldIgnored, finding.Warning
		}
		t.Found.Add(f)
	}
}

// outvotedBy returns why a route does not get the connections of a port. strange reports that the port belongs to a listener
// that does not admit it.
func (t networkBuilder) outvotedBy(p *port, n int) (f finding.Finding, strange bool) {
	f = finding.Finding{
		Object: t.routeRef(n), Field: "spec.parentRefs", Reason: finding.RouteValueUnsupported, Severity: finding.Error, Blocks: finding.BlocksNothing,
		Fix: "attach the route to a listener of another port, or name the backends in one route",
	}
	const then = "and a network load balancer takes the backends of one route for each port; this route gets no connections there"
	i := slices.IndexFunc(p.routes, func(r attach.PortRoute) bool { return r.Route == n })
	switch {
	case !t.ownerAdmits(p, p.routes[i]):
		f.Message = fmt.Sprintf("port %d belongs to listener %q, which admits other namespaces, %s", p.Number, p.owner.Spec.Name, then)
		f.Fix = "attach the route to a listener of another port, or ask the owner of the Gateway for one"
		return f, true
	case p.route < n: // routes are in the order of their age
		f.Message = fmt.Sprintf("an older route has port %d, %s", p.Number, then)
	default:
		f.Message = fmt.Sprintf("another route is served on port %d, %s", p.Number, then)
	}
	return f, false
}
