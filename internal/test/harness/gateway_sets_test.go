package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// otherGateways has Gateway "theirs" of another controller, and Gateway "second" of this controller.
const otherGateways = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: theirs}
spec: {controllerName: example.com/other}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: any}
spec: {controllerName: gateway.fulcrum.dev/aws}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: theirs, namespace: shop, uid: uid-theirs}
spec: {gatewayClassName: theirs, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: second, namespace: shop, uid: uid-second}
spec:
  gatewayClassName: any
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
`

// listenerSetForGateway returns YAML of ListenerSet "shop/more" for the Gateway with the given name.
func listenerSetForGateway(gateway string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: shop}
spec:
  parentRef: {name: %s}
  listeners: [{name: alt, port: 8080, protocol: HTTP}]
---
`, gateway)
}

// listenerSetConditions returns the conditions and the number of listeners in the status of ListenerSet "shop/more",
// and for each parent of HTTPRoute "shop/web" the controller and its condition Accepted.
func listenerSetConditions(r *Harness) string {
	v := cluster.NewView(r.Store)
	var out []string
	if set, ok := cluster.Get[*gwv1.ListenerSet](v, cluster.KindListenerSet, "shop", "more"); ok {
		for _, c := range set.Status.Conditions {
			out = append(out, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason))
		}
		out = append(out, fmt.Sprintf("%d listeners", len(set.Status.Listeners)))
	}
	var entries []string
	route, _ := cluster.Get[*gwv1.HTTPRoute](v, cluster.KindHTTPRoute, "shop", "web")
	if route == nil {
		return strings.Join(out, "; ")
	}
	for _, p := range route.Status.Parents {
		entries = append(entries, fmt.Sprintf("%s %s", p.ControllerName, conditionNamed(p.Conditions, "Accepted").Status))
	}
	slices.Sort(entries)
	return strings.Join(append(out, entries...), "; ")
}

// TestStatusFollowsAListenerSet checks the statuses of a ListenerSet and of its route. When the ListenerSet moves to a
// Gateway of another controller or to a missing Gateway, its conditions return to Pending, and the status that this
// controller wrote for the route is removed. Both are updated when it moves to another Gateway of this controller. The
// route status of the other controller is kept.
func TestStatusFollowsAListenerSet(t *testing.T) {
	t.Parallel()
	const (
		served  = "Accepted True Accepted; Programmed True Programmed; 1 listeners; example.com/other False; "
		waiting = "Accepted Unknown Pending; Programmed Unknown Pending; 0 listeners; example.com/other False"
	)
	synctest.Test(t, func(t *testing.T) {
		writes := &statusCountingAPI{}
		r := New(t, Options{
			Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets },
			API:     func(api kube.API) kube.API { writes.API = api; return writes },
		})
		shows := func(what, want string) {
			t.Helper()
			if failed := r.Settle(30 * time.Minute); len(failed) > 0 {
				t.Fatalf("%s: %v", what, failed)
			}
			if got := listenerSetConditions(r); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
			writes.n = 0
			r.process.enqueueExistingObjects()
			if failed := r.Settle(time.Second); len(failed) > 0 || writes.n > 0 {
				t.Errorf("%s: a pass without a change wrote %d statuses: %v", what, writes.n, failed)
			}
		}
		open := strings.Replace(edgeGateway, "  listeners:", "  allowedListeners: {namespaces: {from: Same}}\n  listeners:", 1)
		route := strings.Replace(routeOf("web", "a.example.com", "backendRefs: [{name: web, port: 80}]"), "{name: edge}", "{kind: ListenerSet, name: more}", 1)
		r.Apply(open + readyPods("web", "10.0.132.1") + "---" + otherGateways + listenerSetForGateway("edge") + route)
		obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindHTTPRoute, Namespace: "shop", Name: "web"})
		if err != nil {
			t.Fatal(err)
		}
		theirs := obj.DeepCopyObject().(*gwv1.HTTPRoute)
		theirs.Status.Parents = []gwv1.RouteParentStatus{{
			ParentRef: theirs.Spec.ParentRefs[0], ControllerName: "example.com/other",
			Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionFalse, Reason: "Pending"}},
		}}
		if err := r.Store.Put(theirs); err != nil {
			t.Fatal(err)
		}
		shows("of this controller", served+"gateway.k8s.aws/alb True")
		r.Apply(listenerSetForGateway("theirs"))
		shows("of another controller", waiting)
		r.Apply(listenerSetForGateway("second"))
		shows("of another Gateway", served+"gateway.fulcrum.dev/aws True")
		r.Apply(listenerSetForGateway("edge"))
		shows("moved back", served+"gateway.k8s.aws/alb True")
		r.Apply(listenerSetForGateway("missing"))
		shows("without a Gateway", waiting)
		r.Apply(listenerSetForGateway("edge"))
		shows("moved back from a missing Gateway", served+"gateway.k8s.aws/alb True")
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindListenerSet, Namespace: "shop", Name: "more"}); err != nil {
			t.Fatal(err)
		}
		shows("deleted", "example.com/other False")
		r.Apply(listenerSetForGateway("edge"))
		shows("created again", served+"gateway.k8s.aws/alb True")
		r.Kill()
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindListenerSet, Namespace: "shop", Name: "more"}); err != nil {
			t.Fatal(err)
		}
		r.Start()
		shows("deleted while no process runs", "example.com/other False")
	})
}

// TestListenerSetsOfOtherControllersAreNotChanged checks that the status of a ListenerSet for a Gateway of another controller
// is not written.
func TestListenerSetsOfOtherControllersAreNotChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		writes := &statusCountingAPI{}
		r := New(t, Options{API: func(api kube.API) kube.API { writes.API = api; return writes }})
		r.Apply(otherGateways + listenerSetForGateway("theirs"))
		obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindListenerSet, Namespace: "shop", Name: "more"})
		if err != nil {
			t.Fatal(err)
		}
		set := obj.DeepCopyObject().(*gwv1.ListenerSet)
		set.Status.Conditions = []metav1.Condition{
			{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", Message: "The ListenerSet is accepted"},
			{Type: "Programmed", Status: metav1.ConditionTrue, Reason: "Programmed", Message: "Programmed"},
		}
		if err := r.Store.Put(set); err != nil {
			t.Fatal(err)
		}
		r.Settle(10 * time.Minute)
		if n := writes.listenerSets; n > 0 {
			t.Errorf("the status is written %d times", n)
		}
		if got, want := listenerSetConditions(r), "Accepted True Accepted; Programmed True Programmed; 0 listeners"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
