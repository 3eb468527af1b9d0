package input

import (
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	unservedpkg "github.com/fulcrum-lb/fulcrum/internal/translate/unserved"
)

// ShowUnserved lists the objects of files that no load balancer of this controller serves, with the reason. A pipeline does
// not ask for each of them by name, and the controller that would report them does not see them yet.
func ShowUnserved(w io.Writer, d *Source, store *cluster.Memory) {
	if !d.Offline || len(d.Named) > 0 && len(d.chosen.stacks) == 0 { // those named were shown
		return
	}
	u := unserved{store, d.Config}
	p := parts{store: store, frontends: controller.Frontends(d.Config)}
	output.ShowFirst(u.unservedObjects(d.inFiles(store), p), output.MostMembers, func(ref cluster.Ref) { fmt.Fprintf(w, "# %s is not served: %s\n", ref, u.reasonAndFix(ref)) },
		func(n int) { fmt.Fprintf(w, "# … and %d more objects that are not served\n", n) })
}

// inFiles returns the objects that a command without a cluster is about.
func (s *scope) inFiles(store *cluster.Memory) []cluster.Object {
	var out []cluster.Object
	if !s.isEverything() {
		for _, c := range s.namedObjects(store) {
			out = append(out, c.after)
		}
		return out
	}
	for _, typ := range cluster.Types() {
		out = append(out, store.All(typ.Kind)...)
	}
	return out
}

// unservedObjects returns the objects of a list that ask for a load balancer and get none.
func (u unserved) unservedObjects(objs []cluster.Object, p parts) []cluster.Ref {
	var out []cluster.Ref
	for _, obj := range objs {
		if u.asksForLoadBalancer(obj, p) {
			out = append(out, cluster.RefOf(obj))
		}
	}
	return out
}

// Unserved returns why no load balancer of this controller serves an object that asks for one, and what to do; "" if one
// does.
func Unserved(d *Source, store *cluster.Memory, obj cluster.Object) string {
	u := unserved{store, d.Config}
	if !u.asksForLoadBalancer(obj, parts{store: store, frontends: controller.Frontends(d.Config)}) {
		return ""
	}
	return u.reasonAndFix(cluster.RefOf(obj))
}

func (u unserved) asksForLoadBalancer(obj cluster.Object, p parts) bool {
	if _, mistyped := unservedpkg.Of(cluster.NewView(u.store), obj, u.options()); mistyped {
		return true
	}
	ref := cluster.RefOf(obj)
	switch {
	case ref.Kind == cluster.KindIngress, ref.Kind == cluster.KindGateway, ref.Kind == cluster.KindGlobalAccelerator:
		return len(p.stacksOfMember(obj)) == 0
	case ref.Kind == cluster.KindService:
		return obj.(*corev1.Service).Spec.Type == corev1.ServiceTypeLoadBalancer && len(p.stacksOfMember(obj)) == 0
	case slices.Contains(cluster.RouteKinds, ref.Kind):
		parents, _ := cluster.RouteParents(obj)
		for _, parent := range parents {
			if in, err := u.store.Get(ParentRef(ref.Namespace, parent)); err == nil && in != nil && (cluster.RefOf(in).Kind != cluster.KindGateway || len(p.stacksOfMember(in)) > 0) {
				return false
			}
		}
		return true
	}
	return false
}
