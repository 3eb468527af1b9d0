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

// loadRoutes finds the routes that name the Gateway or one of its sets and attaches them.
func (e *evaluation) loadRoutes() {
	type id struct {
		kind            cluster.Kind
		namespace, name string
	}
	found := map[id]bool{}
	add := func(p parentKey) {
		for _, kind := range cluster.RouteKinds {
			for _, obj := range cluster.List[cluster.Object](e.view, cluster.Query{
				Kind: kind, Index: cluster.RouteByParent, Value: cluster.ParentValue(p.kind, p.namespace, p.name),
			}) {
				of := id{kind, obj.GetNamespace(), obj.GetName()}
				if found[of] {
					continue
				}
				found[of] = true
				if r := e.route(obj, kind); len(r.Parents) > 0 {
					e.out.Routes = append(e.out.Routes, r)
				}
			}
		}
	}
	add(parentKey{cluster.KindGateway, e.gateway.Namespace, e.gateway.Name})
	for _, s := range e.out.Sets {
		add(parentKey{cluster.KindListenerSet, s.Object.Namespace, s.Object.Name})
	}
	slices.SortFunc(e.out.Routes, func(a, b Route) int {
		return cmp.Or(compareAge(a.Object, b.Object), cmp.Compare(a.Object.GetNamespace(), b.Object.GetNamespace()),
			cmp.Compare(a.Object.GetName(), b.Object.GetName()), cmp.Compare(a.Kind, b.Kind))
	})
}

// answer is what a listener says to a route.
type answer struct {
	problem   Problem
	hostnames []string
}

// route attaches one route. A listener is asked once, however many parents lead to it.
func (e *evaluation) route(obj cluster.Object, kind cluster.Kind) Route {
	r := Route{Object: obj, Kind: kind}
	parents, _ := cluster.RouteParents(obj)
	hosts := Hostnames(obj)
	answers := map[int]answer{}
	ask := func(i int) answer {
		a, ok := answers[i]
		if !ok {
			a = e.evaluateRoute(i, obj.GetNamespace(), kind, hosts)
			answers[i] = a
			if a.problem.Reason == "" {
				e.out.Listeners[i].Attached++
			}
		}
		return a
	}
	for i, ref := range parents {
		if p, ours := e.parent(ref, obj.GetNamespace(), ask); ours {
			p.Index = i
			r.Parents = append(r.Parents, p)
		}
	}
	return r
}

// parent attaches a route by one parentRef. It reports whether that names the Gateway or one of its sets.
func (e *evaluation) parent(ref gatewayv1.ParentReference, namespace string, ask func(int) answer) (Parent, bool) {
	key, ok := keyOf(ref, namespace)
	if !ok {
		return Parent{}, false
	}
	listeners, ok := e.byParent[key]
	if !ok {
		if !e.rejected[key] {
			return Parent{}, false
		}
		return Parent{Problem: Problem{string(gatewayv1.RouteReasonNoMatchingParent), fmt.Sprintf(
			"the Gateway does not admit ListenerSet %q; the route is not attached; ask the owner of the Gateway for allowedListeners", ref.Name)}}, true
	}
	var p Parent
	var refused Problem
	for _, i := range listeners {
		l := &e.out.Listeners[i]
		if ref.SectionName != nil && *ref.SectionName != "" && *ref.SectionName != l.Spec.Name || ref.Port != nil && *ref.Port != l.Spec.Port {
			continue
		}
		a := ask(i)
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
			"%s %q has no listener with the sectionName and port of the parentRef%s%s; the route is not attached; correct sectionName or port", key.kind, ref.Name, e.probableListener(ref.SectionName, listeners), e.listenerNames(listeners))}
	}
	return p, true
}

// mostChoices is how many listeners a message lists.
const mostChoices = 5

// probableListener returns the listener that a sectionName was probably to name.
func (e *evaluation) probableListener(name *gatewayv1.SectionName, listeners []int) string {
	if name == nil {
		return ""
	}
	var known []string
	for _, i := range listeners {
		known = append(known, string(e.out.Listeners[i].Spec.Name))
	}
	if slices.Contains(known, string(*name)) {
		return "" // the port is wrong
	}
	return finding.DidYouMean(string(*name), known)
}

// listenerNames lists the listeners that a parentRef can name.
func (e *evaluation) listenerNames(listeners []int) string {
	var known []string
	for _, i := range listeners[:min(len(listeners), mostChoices)] {
		l := e.out.Listeners[i]
		known = append(known, fmt.Sprintf("%s (port %d)", l.Spec.Name, l.Spec.Port))
	}
	if len(known) == 0 {
		return ""
	}
	if more := len(listeners) - mostChoices; more > 0 {
		known = append(known, fmt.Sprintf("%d more", more))
	}
	return "; its listeners are: " + strings.Join(known, ", ")
}

// keyOf returns the parent that a parentRef names; false if it is neither a Gateway nor a ListenerSet.
func keyOf(ref gatewayv1.ParentReference, namespace string) (parentKey, bool) {
	key := parentKey{cluster.KindGateway, namespace, string(ref.Name)}
	if ref.Kind != nil && *ref.Kind != "" {
		key.kind = cluster.Kind(*ref.Kind)
	}
	if ref.Namespace != nil && *ref.Namespace != "" {
		key.namespace = string(*ref.Namespace)
	}
	return key, !foreignGroup(ref.Group) && (key.kind == cluster.KindGateway || key.kind == cluster.KindListenerSet)
}

// evaluateRoute reports whether a listener takes a route, and for which hostnames.
func (e *evaluation) evaluateRoute(i int, namespace string, kind cluster.Kind, hosts []string) answer {
	l := &e.out.Listeners[i]
	switch {
	case !e.admits(e.namespaces[i], namespace):
		return answer{problem: Problem{string(gatewayv1.RouteReasonNotAllowedByListeners), fmt.Sprintf(
			"listener %q does not admit routes of namespace %q; the route is not attached to it; ask the owner of %s to admit the namespace in spec.listeners[%d].allowedRoutes.namespaces", l.Spec.Name, namespace, l.Parent, l.Index)}}
	case !allows(l.Kinds, kind) && kind == cluster.KindGRPCRoute && l.Spec.Protocol == gatewayv1.HTTPProtocolType:
		return answer{problem: Problem{string(gatewayv1.RouteReasonNotAllowedByListeners), fmt.Sprintf(
			"listener %q has protocol %q, and load balancers serve gRPC over HTTPS alone; the route is not attached to it; attach it to a listener with protocol \"HTTPS\"", l.Spec.Name, l.Spec.Protocol)}}
	case !allows(l.Kinds, kind):
		return answer{problem: Problem{string(gatewayv1.RouteReasonNotAllowedByListeners), fmt.Sprintf(
			"listener %q does not admit routes of kind %q; the route is not attached to it; use another listener", l.Spec.Name, kind)}}
	case kind == cluster.KindTCPRoute || kind == cluster.KindUDPRoute:
		return answer{}
	}
	compat, ok := compatible(l.Hostname(), hosts)
	if !ok {
		return answer{problem: Problem{string(gatewayv1.RouteReasonNoMatchingListenerHostname), fmt.Sprintf(
			"no hostname of the route fits hostname %q of listener %q; the route is not attached to it; correct the hostnames", l.Hostname(), l.Spec.Name)}}
	}
	return answer{hostnames: compat}
}

// Hostnames returns the hostnames that a route names, each once and in order; none for kinds without.
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

// Claims reports whether a route names a hostname, or leaves it to its listeners. "" stands for all hostnames.
func Claims(obj cluster.Object, host string) bool {
	names := Hostnames(obj)
	return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return n == host || covers(n, host) })
}
