package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// routeVerdict is what is wrong with a route whatever its parents are. Zero problems are none.
type routeVerdict struct {
	accepted, resolved attach.Problem
	// partial is why some rules are not served, where the others are and the route is accepted for them.
	partial attach.Problem
	// advice is about what has no effect, or not the one that is meant.
	advice string
}

// verdictOn sorts the findings on a route into conditions, as far as they concern listeners of the ports. What some of them
// do not serve and others do is advice.
func (r *Status) verdictOn(i int, ports []int32) routeVerdict {
	route := r.Attached.Routes[i].Object
	found := r.found[ownership.RefOf(route)]
	served := slices.ContainsFunc(ports, func(port int32) bool {
		return !slices.ContainsFunc(found, func(x finding.Finding) bool { return x.Port == port && conditionOf(x).of == onAccepted })
	})
	var all finding.List
	aside := ""
	for _, x := range found {
		switch {
		case x.Port == 0:
			all = append(all, x)
		case !slices.Contains(ports, x.Port):
		case served && conditionOf(x).of == onAccepted:
			aside = cmp.Or(aside, x.Located())
		default:
			all = append(all, x)
		}
	}
	out := routeVerdictOf(all)
	if r.Controller == gatewayconfig.AnyController {
		out.acceptPartially(all, ruleCount(route))
	}
	out.advice = cmp.Or(aside, out.advice)
	return out
}

// portsOf returns the ports of the listeners that a parent attaches a route to.
func (r *Status) portsOf(p attach.Parent) (out []int32) {
	for _, a := range p.Attachments {
		out = append(out, int32(r.Attached.Listeners[a.Listener].Spec.Port))
	}
	return out
}

// ruleCount returns the number of rules of a route.
func ruleCount(route cluster.Object) int {
	switch o := route.(type) {
	case *gwv1.HTTPRoute:
		return len(o.Spec.Rules)
	case *gwv1.GRPCRoute:
		return len(o.Spec.Rules)
	}
	return 1 // others have one
}

// acceptPartially accepts a route of which only some rules are wrong, as the Gateway API asks for. Older controllers
// accept all of a route or nothing, so their classes do too.
func (v *routeVerdict) acceptPartially(found finding.List, rules int) {
	wrong := map[int]bool{}
	for _, x := range found {
		if conditionOf(x).of != onAccepted {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(x.Field, "spec.rules[%d]", &n); err != nil {
			return // it concerns the whole route
		}
		wrong[n] = true
	}
	if len(wrong) == 0 || len(wrong) >= rules {
		return
	}
	var names []string
	for _, n := range slices.Sorted(maps.Keys(wrong)) {
		names = append(names, strconv.Itoa(n))
	}
	v.partial = attach.Problem{Reason: v.accepted.Reason, Message: "Dropped Rule " + strings.Join(names, ", ") + ": " + v.accepted.Message}
	v.accepted = attach.Problem{}
}

func routeVerdictOf(found finding.List) routeVerdict {
	var out routeVerdict
	for _, x := range found {
		row := conditionOf(x)
		switch {
		case row.of == onAccepted && out.accepted.Reason == "":
			out.accepted = attach.Problem{Reason: row.reason, Message: x.Located()}
		case row.of == onResolvedRefs && out.resolved.Reason == "":
			out.resolved = attach.Problem{Reason: row.reason, Message: x.Located()}
		case row.of == asAdvice && out.advice == "":
			out.advice = x.Located()
		}
	}
	return out
}

// routeConditions returns the conditions of a route for one of its parents.
func routeConditions(route attach.Route, p attach.Parent, verdict routeVerdict) []metav1.Condition {
	generation := route.Object.GetGeneration()
	accepted := condition(gwv1.RouteConditionAccepted, metav1.ConditionTrue, gwv1.RouteReasonAccepted, verdict.advice, generation)
	if bad := firstProblem(p.Problem, verdict.accepted); bad.Reason != "" {
		accepted = condition(gwv1.RouteConditionAccepted, metav1.ConditionFalse, bad.Reason, bad.Message, generation)
	}
	resolved := condition(gwv1.RouteConditionResolvedRefs, metav1.ConditionTrue, gwv1.RouteReasonResolvedRefs, "", generation)
	if bad := verdict.resolved; bad.Reason != "" {
		resolved = condition(gwv1.RouteConditionResolvedRefs, metav1.ConditionFalse, bad.Reason, bad.Message, generation)
	}
	out := []metav1.Condition{resolved, accepted}
	if bad := verdict.partial; bad.Reason != "" && accepted.Status == metav1.ConditionTrue {
		out = append(out, condition(gwv1.RouteConditionPartiallyInvalid, metav1.ConditionTrue, bad.Reason, bad.Message, generation))
	}
	return out
}

func firstProblem(all ...attach.Problem) attach.Problem {
	for _, p := range all {
		if p.Reason != "" {
			return p
		}
	}
	return attach.Problem{}
}

// parentKey names a parent of a route with the part of it that is meant.
type parentKey struct {
	group, kind, namespace, name, section string
	port                                  int32
}

func parentKeyOf(p gwv1.ParentReference, namespace string) parentKey {
	k := parentKey{group: gwv1.GroupName, kind: string(cluster.KindGateway), namespace: namespace, name: string(p.Name)}
	if p.Group != nil {
		k.group = string(*p.Group)
	}
	if p.Kind != nil {
		k.kind = cmp.Or(string(*p.Kind), k.kind)
	}
	if p.Namespace != nil {
		k.namespace = cmp.Or(string(*p.Namespace), k.namespace)
	}
	if p.SectionName != nil {
		k.section = string(*p.SectionName)
	}
	if p.Port != nil {
		k.port = int32(*p.Port)
	}
	return k
}

// routeEdits bring the entries of the Gateway into the status of its routes, and take those out whose parentRef has
// left.
func (r *Status) routeEdits() []cluster.Patch {
	ours := map[finding.Ref]bool{r.ref(): true}
	for _, s := range r.Attached.Sets {
		ours[ownership.RefOf(s.Object)] = true
	}
	mine := func(e gwv1.RouteParentStatus, namespace string) bool {
		k := parentKeyOf(e.ParentRef, namespace)
		// The Gateway may have had another of our classes, and a ListenerSet another Gateway.
		return slices.Contains(gatewayconfig.Controllers, e.ControllerName) && ours[finding.Ref{Kind: k.kind, Namespace: k.namespace, Name: k.name}]
	}
	var out []cluster.Patch
	attached := map[finding.Ref]bool{}
	for i, route := range r.Attached.Routes {
		attached[ownership.RefOf(route.Object)] = true
		out = append(out, routeEdit(route.Object, r.entries(i), mine))
	}
	for ref := range ours {
		for _, obj := range routesOf(r.View, ref) {
			if !attached[ownership.RefOf(obj)] {
				attached[ownership.RefOf(obj)] = true
				out = append(out, routeEdit(obj, nil, mine))
			}
		}
	}
	return sortedEdits(out)
}

// entries returns the entries of a route for the parents that are the Gateway or one of its sets, one for each that is
// named.
func (r *Status) entries(i int) []gwv1.RouteParentStatus {
	route := r.Attached.Routes[i]
	refs, _ := cluster.RouteParents(route.Object)
	var out []gwv1.RouteParentStatus
	named := map[parentKey]bool{}
	for _, p := range route.Parents {
		key := parentKeyOf(refs[p.Index], route.Object.GetNamespace())
		if named[key] {
			continue
		}
		named[key] = true
		out = append(out, gwv1.RouteParentStatus{
			ParentRef: refs[p.Index], ControllerName: r.Controller, Conditions: routeConditions(route, p, r.verdictOn(i, r.portsOf(p))),
		})
	}
	return out
}

// routesOf returns the routes that name a Gateway or a ListenerSet, or have an entry about it.
func routesOf(v *cluster.View, ref finding.Ref) []cluster.Object {
	var out []cluster.Object
	for _, kind := range cluster.RouteKinds {
		out = append(out, cluster.List[cluster.Object](v, cluster.Query{
			Kind: kind, Index: cluster.RouteByParent, Value: cluster.ParentValue(cluster.Kind(ref.Kind), ref.Namespace, ref.Name),
		})...)
	}
	return out
}

// sortedEdits puts edits in the order of their objects.
func sortedEdits(all []cluster.Patch) []cluster.Patch {
	slices.SortStableFunc(all, func(a, b cluster.Patch) int {
		x, y := a.(cluster.StatusEdit).Ref, b.(cluster.StatusEdit).Ref
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return all
}

// routeEdit replaces the entries of a route that are mine by the wanted ones. Those of others stay as they are.
func routeEdit(route cluster.Object, want []gwv1.RouteParentStatus, mine func(e gwv1.RouteParentStatus, namespace string) bool) cluster.StatusEdit {
	namespace, generation := route.GetNamespace(), route.GetGeneration()
	return cluster.StatusEdit{Ref: cluster.RefOf(route), Edit: func(obj cluster.Object, now metav1.Time) any {
		_, have := cluster.RouteParents(obj)
		out, used := []gwv1.RouteParentStatus{}, map[int]bool{}
		differ := false
		for _, h := range have {
			if !mine(h, namespace) {
				out = append(out, h)
				continue
			}
			i := slices.IndexFunc(want, func(w gwv1.RouteParentStatus) bool {
				return parentKeyOf(w.ParentRef, namespace) == parentKeyOf(h.ParentRef, namespace)
			})
			switch {
			case i < 0 || used[i]:
				differ = true
			case len(h.Conditions) > 0 && h.Conditions[0].ObservedGeneration > generation:
				used[i], out = true, append(out, h) // of a later state of the route than the one that was read
			default:
				used[i] = true
				w := want[i]
				w.Conditions = merged(h.Conditions, w.Conditions, now)
				differ = differ || !sameConditions(h.Conditions, w.Conditions) || h.ControllerName != w.ControllerName || !equality.Semantic.DeepEqual(h.ParentRef, w.ParentRef)
				out = append(out, w)
			}
		}
		for i, w := range want {
			if !used[i] {
				differ = true
				w.Conditions = merged(nil, w.Conditions, now)
				out = append(out, w)
			}
		}
		if !differ {
			return nil
		}
		return gwv1.RouteStatus{Parents: out}
	}}
}

// Forget takes the entries that were written under previous names of controllers off the routes of a Gateway, and off those
// of its ListenerSets. Where the Gateway is not served at all any more, its ListenerSets become as new.
func Forget(v *cluster.View, gateway finding.Ref, previous []gwv1.GatewayController, unserved bool) []cluster.Patch {
	ours := map[finding.Ref]bool{gateway: true}
	var out []cluster.Patch
	for _, s := range setsOf(v, gateway) {
		ours[ownership.RefOf(s)] = true
		if unserved {
			out = append(out, forgetSet(s))
		}
	}
	mine := func(e gwv1.RouteParentStatus, namespace string) bool {
		k := parentKeyOf(e.ParentRef, namespace)
		return slices.Contains(previous, e.ControllerName) && ours[finding.Ref{Kind: k.kind, Namespace: k.namespace, Name: k.name}]
	}
	seen := map[finding.Ref]bool{}
	for ref := range ours {
		for _, obj := range routesOf(v, ref) {
			if !seen[ownership.RefOf(obj)] {
				seen[ownership.RefOf(obj)] = true
				out = append(out, routeEdit(obj, nil, mine))
			}
		}
	}
	return sortedEdits(out)
}
