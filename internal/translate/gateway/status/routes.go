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
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// routeResult has the problem of a route for each of its conditions, without problems that concern only one parent. The zero
// Problem means that there is no problem.
type routeResult struct {
	accepted, resolved attach.Problem
	// partial is the reason why some rules are not served, if the route is accepted for its other rules.
	partial attach.Problem
	// advice describes fields that have no effect, or that have another effect than the user intended.
	advice string
}

// resultOnPorts returns the problems of the route with index i in Attached.Routes, on listeners of the ports. A problem that
// exists only on some of the ports is treated as advice if the route is served on another port.
func (r *Status) resultOnPorts(i int, ports []int32) routeResult {
	route := r.Attached.Routes[i].Object
	found := r.found[cluster.RefOf(route)]
	served := slices.ContainsFunc(ports, func(port int32) bool {
		return !slices.ContainsFunc(found, func(x finding.Finding) bool {
			return x.Port == port && conditionChangeFor(x).effect == setsAcceptedFalse
		})
	})
	var all finding.List
	adviceOfPorts := ""
	for _, x := range found {
		switch {
		case x.Port == 0:
			all = append(all, x)
		case !slices.Contains(ports, x.Port):
		case served && conditionChangeFor(x).effect == setsAcceptedFalse:
			adviceOfPorts = cmp.Or(adviceOfPorts, x.TextWithField())
		default:
			all = append(all, x)
		}
	}
	out := routeResultOf(all)
	if r.Controller == gatewayconfig.FulcrumController {
		out.markPartiallyInvalid(all, ruleCount(route))
	}
	out.advice = cmp.Or(adviceOfPorts, out.advice)
	return out
}

// attachedPorts returns the port of each listener to which a parentRef attaches a route, in the order of p.Attachments.
func (r *Status) attachedPorts(p attach.RouteParent) (out []int32) {
	for _, a := range p.Attachments {
		out = append(out, int32(r.Attached.Listeners[a.Listener].Spec.Port))
	}
	return out
}

func ruleCount(route cluster.Object) int {
	switch o := route.(type) {
	case *gwv1.HTTPRoute:
		return len(o.Spec.Rules)
	case *gwv1.GRPCRoute:
		return len(o.Spec.Rules)
	}
	return 1 // routes of other kinds have one rule
}

// markPartiallyInvalid accepts a route if only some of its rules have problems, as the Gateway API requires. rules is the
// number of its rules. It is called only for controller name gateway.fulcrum.dev/aws. AWS Load Balancer Controller accepts
// either the whole route or nothing.
func (v *routeResult) markPartiallyInvalid(found finding.List, rules int) {
	wrong := map[int]bool{}
	for _, x := range found {
		if conditionChangeFor(x).effect != setsAcceptedFalse {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(x.Field, "spec.rules[%d]", &n); err != nil {
			return // the finding is about the whole route
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

func routeResultOf(found finding.List) routeResult {
	var out routeResult
	for _, x := range found {
		row := conditionChangeFor(x)
		switch {
		case row.effect == setsAcceptedFalse && out.accepted.Reason == "":
			out.accepted = attach.Problem{Reason: row.reason, Message: x.TextWithField()}
		case row.effect == setsResolvedRefsFalse && out.resolved.Reason == "":
			out.resolved = attach.Problem{Reason: row.reason, Message: x.TextWithField()}
		case row.effect == addsAdvice && out.advice == "":
			out.advice = x.TextWithField()
		}
	}
	return out
}

// routeConditions returns the conditions of a route for its parent p. result has the problems of the route on the
// listeners of p.
func routeConditions(route attach.Route, p attach.RouteParent, result routeResult) []metav1.Condition {
	generation := route.Object.GetGeneration()
	accepted := newCondition(gwv1.RouteConditionAccepted, metav1.ConditionTrue, gwv1.RouteReasonAccepted, result.advice, generation)
	if bad := firstProblem(p.Problem, result.accepted); bad.Reason != "" {
		accepted = newCondition(gwv1.RouteConditionAccepted, metav1.ConditionFalse, bad.Reason, bad.Message, generation)
	}
	resolved := newCondition(gwv1.RouteConditionResolvedRefs, metav1.ConditionTrue, gwv1.RouteReasonResolvedRefs, "", generation)
	if bad := result.resolved; bad.Reason != "" {
		resolved = newCondition(gwv1.RouteConditionResolvedRefs, metav1.ConditionFalse, bad.Reason, bad.Message, generation)
	}
	out := []metav1.Condition{resolved, accepted}
	if bad := result.partial; bad.Reason != "" && accepted.Status == metav1.ConditionTrue {
		out = append(out, newCondition(gwv1.RouteConditionPartiallyInvalid, metav1.ConditionTrue, bad.Reason, bad.Message, generation))
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

// parentKey identifies a parentRef of a route, including its sectionName and port.
type parentKey struct {
	group   string
	parent  cluster.Ref
	section string
	port    int32
}

func parentKeyOf(p gwv1.ParentReference, namespace string) parentKey {
	k := parentKey{group: gwv1.GroupName, parent: cluster.ParentRef(namespace, p)}
	if p.Group != nil {
		k.group = string(*p.Group)
	}
	if p.SectionName != nil {
		k.section = string(*p.SectionName)
	}
	if p.Port != nil {
		k.port = int32(*p.Port)
	}
	return k
}

// routePatches returns the patches that write the entries of the Gateway into the status of its routes, and remove the
// entries of parentRefs that the routes no longer have.
func (r *Status) routePatches() []cluster.Patch {
	// The Gateway may have had another class of this controller before, and its ListenerSets may have belonged to another
	// Gateway.
	own := entrySelector{gatewayconfig.Controllers, map[cluster.Ref]bool{cluster.RefOf(r.Gateway): true}}
	for _, s := range r.Attached.Sets {
		own.parents[cluster.RefOf(s.Object)] = true
	}
	var out []cluster.Patch
	attached := map[cluster.Ref]bool{}
	for i, route := range r.Attached.Routes {
		attached[cluster.RefOf(route.Object)] = true
		out = append(out, own.replaceEntriesPatch(route.Object, r.routeParentStatuses(i)))
	}
	return sortedPatches(append(out, own.removeEntriesPatches(r.View, attached)...))
}

// routeParentStatuses returns the status entries of a route for the Gateway and its ListenerSets, one for each distinct
// parentRef.
func (r *Status) routeParentStatuses(i int) []gwv1.RouteParentStatus {
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
			ParentRef: refs[p.Index], ControllerName: r.Controller, Conditions: routeConditions(route, p, r.resultOnPorts(i, r.attachedPorts(p))),
		})
	}
	return out
}

// sortedPatches sorts patches by their objects.
func sortedPatches(all []cluster.Patch) []cluster.Patch {
	slices.SortStableFunc(all, func(a, b cluster.Patch) int {
		return a.(cluster.StatusEdit).Ref.Compare(b.(cluster.StatusEdit).Ref)
	})
	return all
}

// entrySelector selects the entries in the status of routes that certain controllers wrote for certain parents.
type entrySelector struct {
	controllers []gwv1.GatewayController
	parents     map[cluster.Ref]bool
}

// removeEntriesPatches returns patches that remove the selected entries from the status of all routes, except for the routes
// in except. It adds these routes to except.
func (own entrySelector) removeEntriesPatches(v *cluster.View, except map[cluster.Ref]bool) []cluster.Patch {
	var out []cluster.Patch
	for parent := range own.parents {
		for _, obj := range cluster.RoutesOf(v, parent) {
			if ref := cluster.RefOf(obj); !except[ref] {
				except[ref] = true
				out = append(out, own.replaceEntriesPatch(obj, nil))
			}
		}
	}
	return out
}

// replaceEntriesPatch returns a patch that replaces the selected entries in the status of a route by want. Other entries stay
// unchanged.
func (own entrySelector) replaceEntriesPatch(route cluster.Object, want []gwv1.RouteParentStatus) cluster.StatusEdit {
	namespace, generation := route.GetNamespace(), route.GetGeneration()
	return cluster.StatusEdit{Ref: cluster.RefOf(route), Edit: func(obj cluster.Object, now metav1.Time) any {
		_, have := cluster.RouteParents(obj)
		out, used := []gwv1.RouteParentStatus{}, map[int]bool{}
		differ := false
		for _, h := range have {
			if !slices.Contains(own.controllers, h.ControllerName) || !own.parents[cluster.ParentRef(namespace, h.ParentRef)] {
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
				used[i], out = true, append(out, h) // entry h is about a later generation than route, so h is not changed
			default:
				used[i] = true
				w := want[i]
				w.Conditions = mergeConditions(h.Conditions, w.Conditions, now)
				differ = differ || !sameConditions(h.Conditions, w.Conditions) || h.ControllerName != w.ControllerName || !equality.Semantic.DeepEqual(h.ParentRef, w.ParentRef)
				out = append(out, w)
			}
		}
		for i, w := range want {
			if !used[i] {
				differ = true
				w.Conditions = mergeConditions(nil, w.Conditions, now)
				out = append(out, w)
			}
		}
		if !differ {
			return nil
		}
		return gwv1.RouteStatus{Parents: out}
	}}
}

// RouteStatusRemovalPatches returns patches that remove the entries with the previous controller names from the status of
// all routes of a Gateway and of its ListenerSets. If unserved is true, because no class of this controller serves the
// Gateway any more, the status that this controller wrote for its ListenerSets is reset.
func RouteStatusRemovalPatches(v *cluster.View, gateway cluster.Ref, previous []gwv1.GatewayController, unserved bool) []cluster.Patch {
	own := entrySelector{previous, map[cluster.Ref]bool{gateway: true}}
	var out []cluster.Patch
	for _, s := range cluster.List[*gwv1.ListenerSet](v, cluster.Query{
		Kind: cluster.KindListenerSet, Index: cluster.ListenerSetByGateway, Value: gateway.Namespace + "/" + gateway.Name,
	}) {
		own.parents[cluster.RefOf(s)] = true
		if unserved {
			out = append(out, attach.ListenerSetStatusReset(cluster.RefOf(s)))
		}
	}
	return sortedPatches(append(out, own.removeEntriesPatches(v, map[cluster.Ref]bool{})...))
}
