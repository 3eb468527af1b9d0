package gatewayclass

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// ObjectsToReconcile returns the objects to reconcile after a change of obj. If obj is of one of the Kinds, Items returns
// obj itself. If obj is a route, Items returns the ListenerSets about which this controller has written entries in the
// status of the route, even ListenerSets that do not exist any more.
func ObjectsToReconcile(obj cluster.Object) []cluster.Ref {
	ref := cluster.RefOf(obj)
	if slices.Contains(Kinds, ref.Kind) {
		return []cluster.Ref{ref}
	}
	var out []cluster.Ref
	_, entries := cluster.RouteParents(obj)
	for _, e := range entries {
		set := cluster.ParentRef(ref.Namespace, e.ParentRef)
		if set.Kind != cluster.KindListenerSet || !slices.Contains(gatewayconfig.Controllers, e.ControllerName) {
			continue
		}
		if !slices.Contains(out, set) {
			out = append(out, set)
		}
	}
	return out
}

// listenerSetPatches returns patches that remove the status that this controller wrote for a ListenerSet, from the
// ListenerSet and from its routes. It returns none if the ListenerSet belongs to a Gateway of this controller, because then
// the stack of the Gateway writes the status.
func listenerSetPatches(v *cluster.View, ref cluster.Ref, opt Options) []cluster.Patch {
	if !opt.ListenerSets || !v.Installed(cluster.KindListenerSet) {
		return nil
	}
	set, exists := cluster.Get[*gwv1.ListenerSet](v, ref.Kind, ref.Namespace, ref.Name)
	if exists && belongsToOwnGateway(v, set) {
		return nil
	}
	var out []cluster.Patch
	if exists && attach.HasOwnSetStatus(set) {
		out = append(out, attach.ListenerSetStatusReset(ref))
	}
	isOwn := func(e gwv1.RouteParentStatus, namespace string) bool {
		return slices.Contains(gatewayconfig.Controllers, e.ControllerName) && cluster.ParentRef(namespace, e.ParentRef) == ref
	}
	for _, route := range cluster.RoutesOf(v, ref) {
		edit := func(obj cluster.Object, _ metav1.Time) any {
			_, have := cluster.RouteParents(obj)
			left := slices.DeleteFunc(slices.Clone(have), func(e gwv1.RouteParentStatus) bool { return isOwn(e, obj.GetNamespace()) })
			if len(left) == len(have) {
				return nil
			}
			return gwv1.RouteStatus{Parents: append([]gwv1.RouteParentStatus{}, left...)}
		}
		if edit(route, metav1.Time{}) != nil {
			out = append(out, cluster.StatusEdit{Ref: cluster.RefOf(route), Edit: edit})
		}
	}
	return out
}

// belongsToOwnGateway reports whether the parent of a ListenerSet is a Gateway with a class of this controller, or with a
// finalizer of this controller.
func belongsToOwnGateway(v *cluster.View, set *gwv1.ListenerSet) bool {
	p := cluster.ListenerSetParentRef(set)
	if attach.IsForeignAPIGroup(set.Spec.ParentRef.Group) || p.Kind != cluster.KindGateway {
		return false
	}
	gw, ok := cluster.Get[*gwv1.Gateway](v, p.Kind, p.Namespace, p.Name)
	return ok && (len(ownership.ClaimedStacks(v, gw)) > 0 || gatewayconfig.IsOwnClass(gatewayconfig.ClassOf(v, gw)))
}
