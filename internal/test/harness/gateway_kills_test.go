package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// gatewayEdits are the YAML documents that edgeLifecycle applies one after the other. Each changes Gateway "shop/edge",
// its routes or its configuration.
var gatewayEdits = []string{
	edgeGateway + routeOf("one", "a.example.com", "backendRefs: [{name: web, port: 80}]"),
	routeOf("one", "b.example.com", "backendRefs: [{name: web, port: 80, weight: 3}, {name: missing, port: 80}]") +
		routeOf("two", "a.example.com", "filters: [{type: RequestRedirect, requestRedirect: {hostname: b.example.com}}]") + `
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: shop}
spec:
  parentRef: {name: edge}
  listeners: [{name: alt, port: 8080, protocol: HTTP}]
---
`,
	strings.Replace(edgeGateway, "  listeners:", `  allowedListeners: {namespaces: {from: Same}}
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: edge}}
  listeners:`, 1) + `
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: edge, namespace: shop}
spec: {scheme: internet-facing, tags: {Team: a}}
`,
}

// TestGatewaysSurviveKillAtAnyCall checks that the result for a Gateway is the same if the process is killed at a
// mutating call, or does not receive the response. Each run interrupts one call.
func TestGatewaysSurviveKillAtAnyCall(t *testing.T) {
	t.Parallel()
	var want []string
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		want = edgeLifecycle(t, func(c fault.Call) fault.Action { countMutation(c, &calls); return fault.Action{} }, nil)
	})
	if calls < 20 {
		t.Fatalf("the lifecycle of the Gateway makes only %d mutating calls", calls)
	}
	interruptEach(t, want, calls, seeds.Step(14), edgeLifecycle) // not each call, because a lifecycle is slow
}

// edgeLifecycle applies gatewayEdits and then deletes the Gateway. It fails the test if the deletion leaves resources
// in AWS or a status in the routes. It returns State and edgeConditions before the deletion, and the number of bindings
// after it. hook is the fault hook for the calls to AWS. with, if not nil, is called with the new harness.
func edgeLifecycle(t *testing.T, hook func(fault.Call) fault.Action, with func(*Harness)) []string {
	t.Helper()
	r := shopWith(t, Options{Checkpoints: true, Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }})
	if with != nil {
		with(r)
	}
	r.Apply(readyPods("web", podAddresses[:3]...))
	before := r.State()
	r.Emulator.Faults().SetHook(hook)
	for _, doc := range gatewayEdits {
		r.Apply(doc)
		r.settleWithRestarts(time.Hour)
	}
	out := append(r.State(), r.edgeConditions())
	r.deleteObject(cluster.KindGateway, "shop", "edge")
	r.settleWithRestarts(time.Hour)
	if d := cmp.Diff(before, r.State()); d != "" {
		t.Fatalf("left behind (-before +after):\n%s", d)
	}
	for _, name := range []string{"one", "two"} {
		if p := routeParents(cluster.NewView(r.Store), name); len(p) > 0 {
			t.Fatalf("the status of route %s still has %v", name, p)
		}
	}
	return append(out, fmt.Sprint(len(r.Store.All(cluster.KindBinding)), " bindings"))
}

// edgeConditions returns the conditions of Gateway "shop/edge" and of HTTPRoutes "one" and "two", and the numbers of
// attached routes of the listeners, as one line.
func (r *Harness) edgeConditions() string {
	v := cluster.NewView(r.Store)
	gw, _ := cluster.Get[*gwv1.Gateway](v, cluster.KindGateway, "shop", "edge")
	var out []string
	for _, c := range gw.Status.Conditions {
		out = append(out, fmt.Sprint(c.Type, c.Status, c.Reason))
	}
	for _, l := range gw.Status.Listeners {
		out = append(out, fmt.Sprint(l.Name, l.AttachedRoutes))
	}
	for _, name := range []string{"one", "two"} {
		for _, p := range routeParents(v, name) {
			for _, c := range p.Conditions {
				out = append(out, fmt.Sprint(name, c.Type, c.Status, c.Reason))
			}
		}
	}
	return strings.Join(out, "; ")
}
