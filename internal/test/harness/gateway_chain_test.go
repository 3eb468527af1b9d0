package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// chainedGateways has an NLB Gateway whose TCPRoute forwards to port 80 of Gateway "shop/edge".
const chainedGateways = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: net, name: front, uid: 33333333-0000-4000-8000-000000000002}
spec: {gatewayClassName: nlb, listeners: [{name: web, protocol: TCP, port: 8000}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {namespace: net, name: web}
spec:
  parentRefs: [{name: front}]
  rules: [{backendRefs: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop, name: edge, port: 80}]}]
---
`

// chainGrant permits TCPRoutes of namespace "net" to refer to Gateways of namespace "shop".
const chainGrant = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {namespace: shop, name: net}
spec:
  from: [{group: gateway.networking.k8s.io, kind: TCPRoute, namespace: net}]
  to: [{group: gateway.networking.k8s.io, kind: Gateway}]
---
`

// edgeLoadBalancerConfiguration returns YAML of the LoadBalancerConfiguration of Gateway "shop/edge" with the given scheme.
func edgeLoadBalancerConfiguration(scheme string) string {
	return fmt.Sprintf(`
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: shop, name: edge}
spec: {scheme: %s}
---
`, scheme)
}

// edgeWithConfiguration is Gateway "shop/edge" with a reference to its LoadBalancerConfiguration.
const edgeWithConfiguration = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop, uid: 33333333-0000-4000-8000-000000000001}
spec:
  gatewayClassName: alb
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: edge}}
  listeners:
  - {name: http, port: 80, protocol: HTTP, hostname: "*.example.com"}
---
`

// TestGatewayForwardsToAnotherGateway checks that an NLB forwards to the ALB of another Gateway if a ReferenceGrant
// permits the reference. The NLB forwards to the new ALB after a replacement, and to nothing after the deletion of the
// other Gateway. Nothing remains in AWS after both Gateways are deleted.
func TestGatewayForwardsToAnotherGateway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }})
		none := r.State()
		leads := func(what string, want ...string) {
			t.Helper()
			if failed := r.Settle(30 * time.Minute); len(failed) > 0 {
				t.Fatalf("%s: %v", what, failed)
			}
			if got := nlbForwards(r); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		r.Apply(edgeGateway + edgeLoadBalancerConfiguration("internal") + edgeWithConfiguration + readyPods("web", "10.0.132.1") + "---" +
			routeOf("web", "a.example.com", "backendRefs: [{name: web, port: 80}]") + chainedGateways)
		leads("without a grant")
		r.Apply(chainGrant)
		leads("with a grant", "internal:8000 to internal:80")
		before := r.Emulator.Calls().CountMutating()
		r.Start()
		leads("after a restart", "internal:8000 to internal:80")
		if n := r.Emulator.Calls().CountMutating() - before; n > 0 {
			t.Errorf("%d mutating calls after a restart", n)
		}
		r.Apply(edgeLoadBalancerConfiguration("internet-facing"))
		leads("replaced", "internal:8000 to internet-facing:80")
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindGateway, Namespace: "shop", Name: "edge"}); err != nil {
			t.Fatal(err)
		}
		leads("without the backend")
		if obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: "shop", Name: "edge"}); obj != nil {
			t.Error("the deleted backend Gateway still exists")
		}
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindGateway, Namespace: "net", Name: "front"}); err != nil {
			t.Fatal(err)
		}
		leads("at the end")
		if left := r.State(); !slices.Equal(left, none) {
			t.Errorf("resources left in AWS: %q", left)
		}
	})
}

// TestListenerInFrontStaysWithoutClassBehind checks that the NLB in front of an ALB keeps its listener while the GatewayClass
// of the ALB does not exist.
func TestListenerInFrontStaysWithoutClassBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := chainScenario.startServing(t)
		before := strings.Join(nlbForwards(r), ", ")
		r.forceDelete(cluster.KindGatewayClass, "", "alb")
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "the listener", before, strings.Join(nlbForwards(r), ", "))
	})
}
