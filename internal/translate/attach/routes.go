package attach

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// loadRoutes finds the routes that name the Gateway or one of its ListenerSets as parent, and attaches them to listeners.
func (e *evaluation) loadRoutes() {
	parents := []cluster.Ref{cluster.RefOf(e.gateway)}
	for _, s := range e.out.Sets {
		parents = append(parents, cluster.RefOf(s.Object))
	}
	found := map[cluster.Ref]bool{}
	for _, p := range parents {
		for _, obj := range cluster.RoutesOf(e.view, p) {
			of := cluster.RefOf(obj)
			if found[of] {
				continue
			}
			found[of] = true
			if r := e.attachRoute(obj, of.Kind); len(r.Parents) > 0 {
				e.out.Routes = append(e.out.Routes, r)
			}
		}
	}
	slices.SortFunc(e.out.Routes, func(a, b Route) int {
		return cmp.Or(compareAge(a.Object, b.Object), cmp.Compare(a.Object.GetNamespace(), b.Object.GetNamespace()),
			cmp.Compare(a.Object.GetName(), b.Object.GetName()), cmp.Compare(a.Kind, b.Kind))
	})
}

// attachResult is the result of attaching a route to a listener: the hostnames of the route on the listener (nil for
// any), or the reason why the route is not attached.
type attachResult struct {
	problem   Problem
	hostnames []string
}

// attachRoute attaches one route to listeners. A listener is evaluated once, even if several parentRefs select it.
func (e *evaluation) attachRoute(obj cluster.Object, kind cluster.Kind) Route {
	r := Route{Object: obj, Kind: kind}
	parents, _ := cluster.RouteParents(obj)
	hosts := Hostnames(obj)
	results := map[int]attachResult{}
	attach := func(i int) attachResult {
		a, ok := results[i]
		if !ok {
			a = e.listenerAttachResult(i, obj.GetNamespace(), kind, hosts)
			results[i] = a
			if a.problem.Reason == "" {
				e.out.Listeners[i].AttachedRoutes++
			}
		}
		return a
	}
	for i, ref := range parents {
		if p, ours := e.attachByParent(ref, obj.GetNamespace(), attach); ours {
			p.Index = i
			r.Parents = append(r.Parents, p)
		}
	}
	return r
}

// attachByParent calls attach for each listener that a parentRef selects. It reports whether the parentRef names the Gateway
// or one of its ListenerSets.
func (e *evaluation) attachByParent(ref gatewayv1.ParentReference, namespace string, attach func(int) attachResult) (RouteParent, bool) {
	if IsForeignAPIGroup(ref.Group) {
		return RouteParent{}, false
	}
	key := cluster.ParentRef(namespace, ref)
	listeners, ok := e.byParent[key]
	if !ok {
		if !e.rejectedSets[key] {
			return RouteParent{}, false
		}
		return RouteParent{Problem: Problem{string(gatewayv1.RouteReasonNoMatchingParent), fmt.Sprintf(
			"the Gateway does not admit ListenerSet %q; the route is not attached; ask the owner of the Gateway to admit its namespace in spec.allowedListeners", ref.Name)}}, true
	}
	var p RouteParent
	var refused Problem
	for _, i := range listeners {
		l := &e.out.Listeners[i]
		if ref.SectionName != nil && *ref.SectionName != "" && *ref.SectionName != l.Spec.Name || ref.Port != nil && *ref.Port != l.Spec.Port {
			continue
		}
		a := attach(i)
		if a.problem.Reason == "" {
			p.Attachments = append(p.Attachments, Attachment{Listener: i, Hostnames: a.hostnames})
		} else if refused.Reason == "" {
			refused = a.problem
		}
	}
	switch {
	case len(p.Attachments) > 0:
	case refused.Reason != "":
		p.Problem = refused
	default:
		p.Problem = Problem{string(gatewayv1.RouteReasonNoMatchingParent), fmt.Sprintf(
			"%s %q has no listener with the sectionName and port of the parentRef%s%s; the route is not attached; correct sectionName or port", key.Kind, ref.Name, e.suggestListener(ref.SectionName, listeners), e.listenerNamesText(listeners))}
	}
	return p, true
}

// maxListedListeners is the maximum number of listeners that a message lists.
const maxListedListeners = 5

// suggestListener returns a suggestion of finding.SpellingHint for a sectionName that is not the name of a listener. It
// returns "" if there is no suggestion.
func (e *evaluation) suggestListener(name *gatewayv1.SectionName, listeners []int) string {
	if name == nil {
		return ""
	}
	var known []string
	for _, i := range listeners {
		known = append(known, string(e.out.Listeners[i].Spec.Name))
	}
	if slices.Contains(known, string(*name)) {
		return "" // the name is correct, so the port of the parentRef is wrong
	}
	return finding.SpellingHint(string(*name), known)
}

// listenerNamesText returns the end of a message that lists the names and ports of listeners, or "" if there are none.
func (e *evaluation) listenerNamesText(listeners []int) string {
	var known []string
	for _, i := range listeners[:min(len(listeners), maxListedListeners)] {
		l := e.out.Listeners[i]
		known = append(known, fmt.Sprintf("%s (port %d)", l.Spec.Name, l.Spec.Port))
	}
	if len(known) == 0 {
		return ""
	}
	if more := len(listeners) - maxListedListeners; more > 0 {
		known = append(known, fmt.Sprintf("%d more", more))
	}
	return "; its listeners are: " + strings.Join(known, ", ")
}

// listenerAttachResult checks whether a route attaches to listener i. It returns the hostnames of the route on the
// listener, or the reason why the listener does not admit the route. hosts are the hostnames of the route.
func (e *evaluation) listenerAttachResult(i int, namespace string, kind cluster.Kind, hosts []string) attachResult {
	l := &e.out.Listeners[i]
	switch {
	case !e.isNamespaceSelected(e.namespaces[i], namespace):
		return attachResult{problem: Problem{string(gatewayv1.RouteReasonNotAllowedByListeners), fmt.Sprintf(
			"listener %q does not admit routes of namespace %q; the route is not attached to it; ask the owner of %s to admit the namespace in spec.listeners[%d].allowedRoutes.namespaces", l.Spec.Name, namespace, l.Parent, l.Index)}}
	case !allowsKind(l.RouteKinds, kind) && kind == cluster.KindGRPCRoute && l.Spec.Protocol == gatewayv1.HTTPProtocolType:
		return attachResult{problem: Problem{string(gatewayv1.RouteReasonNotAllowedByListeners), fmt.Sprintf(
			"listener %q has protocol %q, and load balancers serve gRPC only over HTTPS; the route is not attached to it; attach it to a listener with protocol \"HTTPS\"", l.Spec.Name, l.Spec.Protocol)}}
	case !allowsKind(l.RouteKinds, kind):
		return attachResult{problem: Problem{string(gatewayv1.RouteReasonNotAllowedByListeners), fmt.Sprintf(
			"listener %q does not admit routes of kind %q; the route is not attached to it; use another listener", l.Spec.Name, kind)}}
	case kind == cluster.KindTCPRoute || kind == cluster.KindUDPRoute:
		return attachResult{}
	}
	compat, ok := compatibleHosts(l.Hostname(), hosts)
	if !ok {
		return attachResult{problem: Problem{string(gatewayv1.RouteReasonNoMatchingListenerHostname), fmt.Sprintf(
			"no hostname of the route matches hostname %q of listener %q; the route is not attached to it; correct the hostnames", l.Hostname(), l.Spec.Name)}}
	}
	return attachResult{hostnames: compat}
}

// Hostnames returns the hostnames of a route, in their order and without duplicates. It returns nil for kinds of routes
// without hostnames.
func Hostnames(obj cluster.Object) []string {
	var all []gatewayv1.Hostname
	switch o := obj.(type) {
	case *gatewayv1.HTTPRoute:
		all = o.Spec.Hostnames
	case *gatewayv1.GRPCRoute:
		all = o.Spec.Hostnames
	case *gatewayv1.TLSRoute:
		all = o.Spec.Hostnames
	}
	var out []string
	for _, h := range all {
		if !slices.Contains(out, string(h)) {
			out = append(out, string(h))
		}
	}
	return out
}

// MayClaimHost reports whether a hostname of a route matches host. A route without hostnames may claim each host,
// because its listeners decide. host is "" for rules for any hostname.
func MayClaimHost(obj cluster.Object, host string) bool {
	names := Hostnames(obj)
	return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return n == host || coversHost(n, host) })
}
