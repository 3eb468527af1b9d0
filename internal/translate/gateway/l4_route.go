package gateway

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// chooseRoute sets the route that a port serves, and the owner of the port. A port of a network load balancer serves one
// route, because its listener has no conditions for hostnames or paths. If AWS serves one of the routes now, that route is
// chosen, otherwise the oldest route. If listeners of the port admit different namespaces, the oldest route is chosen only
// among the routes that the first listener admits, so that no namespace receives connections for another namespace.
func (t networkListenerBuilder) chooseRoute(p *port) {
	p.servedRoute, p.owner = -1, p.listeners[0]
	divided := slices.ContainsFunc(p.listeners, func(l *attach.Listener) bool { return l.AdmittedNamespaces != p.owner.AdmittedNamespaces })
	at := -1
	if len(p.routes) > 1 || divided {
		at = slices.IndexFunc(p.routes, func(r attach.PortRoute) bool {
			return observedRoutes(t).Serves(p.Number, t.routeRef(r.Route), nil)
		})
	}
	if at >= 0 {
		p.owner = &t.attached.Listeners[p.routes[at].Listeners[0]]
	} else {
		at = slices.IndexFunc(p.routes, func(r attach.PortRoute) bool { return t.ownerAdmitsRoute(p, r) })
	}
	if at >= 0 {
		p.servedRoute = p.routes[at].Route
	}
	for _, r := range p.routes {
		// A route with the same backends as the chosen route is not reported, because the same backends receive the
		// connections.
		if r.Route != p.servedRoute && (p.servedRoute < 0 || !sameBackends(t.attached.Routes[p.servedRoute].Object, t.attached.Routes[r.Route].Object)) {
			t.unservedPorts[r.Route] = append(t.unservedPorts[r.Route], p)
		}
	}
}

// ownerAdmitsRoute reports whether a route is attached to the listener that owns a port, or to another listener that admits
// the same namespaces.
func (t networkListenerBuilder) ownerAdmitsRoute(p *port, r attach.PortRoute) bool {
	return slices.ContainsFunc(r.Listeners, func(l int) bool { return t.attached.Listeners[l].AdmittedNamespaces == p.owner.AdmittedNamespaces })
}

// sameBackends reports whether two routes are in the same namespace and have the same backends.
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

// reportUnservedRoutes reports the routes that receive no connections from some of the ports to which they are attached.
func (t networkListenerBuilder) reportUnservedRoutes(ports []*port) {
	for n := range t.attached.Routes {
		unserved := t.unservedPorts[n]
		if len(unserved) == 0 {
			continue
		}
		attached := 0
		for _, p := range ports {
			if slices.ContainsFunc(p.routes, func(r attach.PortRoute) bool { return r.Route == n }) {
				attached++
			}
		}
		f, notAdmitted := t.unservedRouteFinding(unserved[0], n)
		if len(unserved) < attached || t.strictConformance && !notAdmitted { // the Gateway API accepts routes that get no connections
			f.Reason, f.Severity = finding.RouteFieldIgnored, finding.Warning
		}
		t.Found.Add(f)
	}
}

// unservedRouteFinding returns the finding about a route that receives no connections from a port. notAdmitted reports
// whether the reason is that the listener that owns the port does not admit the route.
func (t networkListenerBuilder) unservedRouteFinding(p *port, n int) (f finding.Finding, notAdmitted bool) {
	f = finding.Finding{
		Object: t.routeRef(n), Field: "spec.parentRefs", Reason: finding.RouteValueUnsupported, Severity: finding.Error, Blocks: finding.BlocksNothing,
		Fix: "attach the route to a listener of another port, or name the backends in one route",
	}
	const then = "and a network load balancer uses the backends of one route for each port; this route receives no connections on this port"
	i := slices.IndexFunc(p.routes, func(r attach.PortRoute) bool { return r.Route == n })
	switch {
	case !t.ownerAdmitsRoute(p, p.routes[i]):
		f.Message = fmt.Sprintf("port %d is served by listener %q, whose allowedRoutes.namespaces differ from those of the listener of this route, %s", p.Number, p.owner.Spec.Name, then)
		f.Fix = "attach the route to a listener of another port, or ask the owner of the Gateway for one"
		return f, true
	case p.servedRoute < n: // the chosen route is older, because routes are sorted by age
		f.Message = fmt.Sprintf("an older route has port %d, %s", p.Number, then)
	default:
		f.Message = fmt.Sprintf("another route is served on port %d, %s", p.Number, then)
	}
	return f, false
}
