package input

import (
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
)

// ShowUnservedFileObjects prints the objects of files that no load balancer of this controller serves, with the reasons. It
// does so only with --offline: a controller writes these reasons to the status of the objects, but it has not seen these
// files.
func ShowUnservedFileObjects(w io.Writer, d *Source, store *cluster.Memory) {
	if !d.Offline || len(d.Named) > 0 && len(d.selected.stacks) == 0 { // ReportUnservedNamedObjects has printed the named objects
		return
	}
	u := unservedReasons{store, d}
	p := stackFinder{store: store, frontends: controller.Frontends(d.Config)}
	output.ShowFirst(u.unservedObjects(d.allObjectsInScope(store), p), output.MaxShownMembers, func(ref cluster.Ref) { fmt.Fprintf(w, "# %s is not served: %s\n", ref, u.reasonAndFix(ref)) },
		output.ShowMore(w, "# … and %d more objects that are not served"))
}

// allObjectsInScope returns the objects of a scope, which are all objects in store if the scope covers everything.
func (s *scope) allObjectsInScope(store *cluster.Memory) []cluster.Object {
	var out []cluster.Object
	if !s.coversEverything() {
		for _, c := range s.objectsInScope(store) {
			out = append(out, c.after)
		}
		return out
	}
	for _, typ := range cluster.Types() {
		out = append(out, store.All(typ.Kind)...)
	}
	return out
}

// unservedObjects returns the objects of a list that need a load balancer and that no load balancer of this controller
// serves.
func (u unservedReasons) unservedObjects(objs []cluster.Object, p stackFinder) []cluster.Ref {
	var out []cluster.Ref
	for _, obj := range objs {
		if u.lacksLoadBalancer(obj, p) {
			out = append(out, cluster.RefOf(obj))
		}
	}
	return out
}

// ReasonIfUnserved returns why no load balancer of this controller serves an object that needs one, and what to do. It
// returns "" if a load balancer serves the object.
func ReasonIfUnserved(d *Source, store *cluster.Memory, obj cluster.Object) string {
	u := unservedReasons{store, d}
	if !u.lacksLoadBalancer(obj, stackFinder{store: store, frontends: controller.Frontends(d.Config)}) {
		return ""
	}
	return u.reasonAndFix(cluster.RefOf(obj))
}

// lacksLoadBalancer reports whether an object needs a load balancer, but is a member of no stack of this controller.
func (u unservedReasons) lacksLoadBalancer(obj cluster.Object, p stackFinder) bool {
	if _, mistyped := u.mistypedNameFinding(obj); mistyped {
		return true
	}
	ref := cluster.RefOf(obj)
	switch {
	case ref.Kind == cluster.KindIngress, ref.Kind == cluster.KindGateway, ref.Kind == cluster.KindGlobalAccelerator:
		return len(p.stacksOf(obj)) == 0
	case ref.Kind == cluster.KindService:
		return obj.(*corev1.Service).Spec.Type == corev1.ServiceTypeLoadBalancer && len(p.stacksOf(obj)) == 0
	case slices.Contains(cluster.RouteKinds, ref.Kind):
		parents, _ := cluster.RouteParents(obj)
		for _, parent := range parents {
			if in, err := u.store.Get(cluster.ParentRef(ref.Namespace, parent)); err == nil && in != nil && (cluster.RefOf(in).Kind != cluster.KindGateway || len(p.stacksOf(in)) > 0) {
				return false
			}
		}
		return true
	}
	return false
}
