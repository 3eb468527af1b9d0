package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// edgeGateway has ALB Gateway "shop/edge" with one HTTP listener, and Service "shop/web".
const edgeGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop, uid: 33333333-0000-4000-8000-000000000001}
spec:
  gatewayClassName: alb
  listeners:
  - {name: http, port: 80, protocol: HTTP, hostname: "*.example.com"}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
`

// routeOf returns YAML of an HTTPRoute for Gateway "shop/edge" with one rule for path prefix "/". host is its hostname.
// rule has the other fields of the rule.
func routeOf(name, host, rule string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  hostnames: [%s]
  rules:
  - matches: [{path: {type: PathPrefix, value: /}}]
    %s
---
`, name, host, rule)
}

// statusCountingAPI counts the status writes for all objects except TargetGroupBindings.
type statusCountingAPI struct {
	kube.API
	n            int
	listenerSets int // those of n that are for ListenerSets
}

func (w *statusCountingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if _, binding := obj.(*elbv2.TargetGroupBinding); part == cluster.StatusPart && !binding {
		w.n++
		if _, ok := obj.(*gwv1.ListenerSet); ok {
			w.listenerSets++
		}
	}
	return w.API.Patch(ctx, obj, part, kind, data)
}

// TestBrokenRoutesBlockNoOtherRoute checks 45 valid and five invalid routes of a Gateway. The valid routes are served,
// each invalid route reports its fault, and a reconciliation without a change makes no status write and no call to AWS.
func TestBrokenRoutesBlockNoOtherRoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		writes := &statusCountingAPI{}
		r := shopWith(t, Options{
			Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets },
			API:     func(api kube.API) kube.API { writes.API = api; return writes },
		})
		const backend = "backendRefs: [{name: web, port: 80}]"
		broken := map[string]struct{ host, rule, condition, reason string }{
			"broken-0": {"b0.example.com", "filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [x]}}]\n    " + backend, "Accepted", "UnsupportedValue"},
			"broken-1": {"b1.example.com", "backendRefs: [{name: missing, port: 80}]", "ResolvedRefs", "BackendNotFound"},
			"broken-2": {"b2.example.com", "backendRefs: [{name: web, namespace: other, port: 80}]", "ResolvedRefs", "RefNotPermitted"},
			"broken-3": {"b3.elsewhere.org", backend, "Accepted", "NoMatchingListenerHostname"},
			"broken-4": {"b4.example.com", "filters: [{type: ExtensionRef, extensionRef: {group: gateway.k8s.aws, kind: ListenerRuleConfiguration, name: none}}]\n    " + backend, "Accepted", "IncompatibleFilters"},
		}
		docs := edgeGateway + readyPods("web", podAddresses[:1]...) + "---"
		for name, b := range broken {
			docs += routeOf(name, b.host, b.rule)
		}
		for i := range 45 {
			docs += routeOf(fmt.Sprintf("route-%d", i), fmt.Sprintf("h%d.example.com", i), backend)
		}
		r.Apply(docs)
		if failed := r.Settle(10 * time.Minute); len(failed) > 0 {
			t.Fatal(failed)
		}
		v := cluster.NewView(r.Store)
		gw, _ := cluster.Get[*gwv1.Gateway](v, cluster.KindGateway, "shop", "edge")
		if c := conditionNamed(gw.Status.Conditions, "Programmed"); c.Status != metav1.ConditionTrue || !strings.HasPrefix(c.Message, "arn:") {
			t.Errorf("Programmed: %+v", c)
		}
		if n := gw.Status.Listeners[0].AttachedRoutes; n != 47 { // 45 valid routes, and two that are accepted although their backends do not resolve
			t.Errorf("%d routes are attached", n)
		}
		for i := range 45 {
			name := fmt.Sprintf("route-%d", i)
			p := routeParents(v, name)
			if len(p) != 1 || conditionNamed(p[0].Conditions, "Accepted").Status != metav1.ConditionTrue || conditionNamed(p[0].Conditions, "ResolvedRefs").Status != metav1.ConditionTrue {
				t.Errorf("%s: %+v", name, p)
			}
		}
		for i := range 45 {
			if got := answerTo(r, 80, fmt.Sprintf("h%d.example.com", i), "/"); !strings.Contains(got, "k8s-shop-route") {
				t.Errorf("requests to route-%d: %s", i, got)
			}
		}
		for i, want := range map[int]string{0: "500", 1: "500", 2: "500", 4: "500"} {
			if got := answerTo(r, 80, fmt.Sprintf("b%d.example.com", i), "/"); got != want {
				t.Errorf("requests to broken-%d: %s", i, got)
			}
		}
		for name, b := range broken {
			p := routeParents(v, name)
			if len(p) != 1 {
				t.Fatalf("%s: %+v", name, p)
			}
			if c := conditionNamed(p[0].Conditions, b.condition); c.Status != metav1.ConditionFalse || c.Reason != b.reason || c.Message == "" {
				t.Errorf("%s: %+v", name, c)
			}
		}
		// Each status is written once, including the status of the GatewayClass. The status of the Gateway is written
		// again after AWS creates the load balancer.
		if writes.n > 53 {
			t.Errorf("%d statuses were written for 52 objects", writes.n)
		}
		writes.n = 0
		for range 2 { // the first reconciliation may read expired facts again
			r.Emulator.Calls().Reset()
			r.process.enqueueExistingObjects()
			if failed := r.Settle(time.Second); len(failed) > 0 || writes.n > 0 {
				t.Errorf("a pass without a change wrote %d statuses: %v", writes.n, failed)
			}
		}
		if n := r.Emulator.Calls().Total(); n > 0 {
			t.Errorf("a pass without a change made %d calls: %v", n, r.Emulator.Calls().Counts())
		}
	})
}

func routeParents(v *cluster.View, route string) []gwv1.RouteParentStatus {
	obj, _ := cluster.Get[*gwv1.HTTPRoute](v, cluster.KindHTTPRoute, "shop", route)
	return obj.Status.Parents
}

func conditionNamed(all []metav1.Condition, name string) metav1.Condition {
	for _, c := range all {
		if c.Type == name {
			return c
		}
	}
	return metav1.Condition{}
}
