package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// edgeGatewayOfClass returns YAML of Gateway "shop/edge" and its backend Service "shop/web". class is the controller
// name of the GatewayClass, listeners are the listeners of the Gateway, and routes is YAML that is appended.
func edgeGatewayOfClass(class, listeners, routes string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: lb}
spec: {controllerName: %s}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop, uid: 33333333-0000-4000-8000-000000000001}
spec:
  gatewayClassName: lb
  listeners: [%s]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
%s`, class, listeners, routes)
}

const (
	albClass = "gateway.k8s.aws/alb"
	nlbClass = "gateway.k8s.aws/nlb"
	anyClass = "gateway.fulcrum.dev/aws"
)

// edgeRoute returns YAML of a route of the given kind from Gateway "shop/edge" to Service "shop/web". rest has further
// fields of its spec, each followed by a comma.
func edgeRoute(kind, rest string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: %s
metadata: {name: r, namespace: shop}
spec: {parentRefs: [{name: edge}], %s rules: [{backendRefs: [{name: web, port: 80}]}]}
---
`, kind, rest)
}

func edgeGatewayObject(r *Harness) *gwv1.Gateway {
	gw, _ := cluster.Get[*gwv1.Gateway](cluster.NewView(r.Store), cluster.KindGateway, "shop", "edge")
	return gw
}

func newGatewayHarness(t *testing.T, opt Options) *Harness {
	opt.Gateway = func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }
	return New(t, opt)
}

// TestGatewayWithoutAnyListenerIsNotProgrammed checks a Gateway with a load balancer in AWS whose only listener cannot
// be created. The Gateway and the listener are not programmed and report the reason. Both are programmed after the
// cause is fixed.
func TestGatewayWithoutAnyListenerIsNotProgrammed(t *testing.T) {
	t.Parallel()
	http := edgeRoute("HTTPRoute", "")
	for name, c := range map[string]struct {
		class, listeners, routes, says string
		refused                        string // the operation that AWS refuses; "" for none
		mended                         string // the corrected listeners; "" if AWS stops refusing
	}{
		"no certificate for the hostname": {albClass, "{name: l, port: 443, protocol: HTTPS, hostname: no.such.test}", http, "no.such.test", "", "{name: l, port: 443, protocol: HTTP}"},
		"no certificate at all":           {albClass, "{name: l, port: 443, protocol: HTTPS}", http, "certificate", "", "{name: l, port: 443, protocol: HTTP}"},
		"a Secret that is not imported": {albClass, "{name: l, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}]}}", http,
			"--import-tls-secrets=gateway", "", "{name: l, port: 443, protocol: HTTP}"},
		"AWS refuses the listener": {albClass, "{name: l, port: 80, protocol: HTTP}", http, "AWS", "CreateListener", ""},
		"the listener of an NLB": {nlbClass, "{name: l, port: 443, protocol: TLS, hostname: no.such.test}", edgeRoute("TCPRoute", ""), "no.such.test", "",
			"{name: l, port: 443, protocol: TCP}"},
		"the target group of an NLB": {nlbClass, "{name: l, port: 80, protocol: TCP}", edgeRoute("TCPRoute", ""), "AWS", "CreateTargetGroup", ""},
		"the general class":          {anyClass, "{name: l, port: 443, protocol: HTTPS, hostname: no.such.test}", http, "no.such.test", "", "{name: l, port: 443, protocol: HTTP}"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newGatewayHarness(t, Options{})
				refuse := c.refused
				r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
					if refuse != "" && call.Operation == refuse {
						return fault.Action{Error: &store.Error{Code: "InvalidConfigurationRequest", Message: "it is refused", Status: 400}}
					}
					return fault.Action{}
				})
				r.Apply(edgeGatewayOfClass(c.class, c.listeners, c.routes), readyPods("web", podAddresses[:2]...))
				r.Settle(5 * time.Minute)
				gw := edgeGatewayObject(r)
				p := conditionNamed(gw.Status.Conditions, "Programmed")
				if p.Status != metav1.ConditionFalse || p.Reason != "Invalid" || !strings.Contains(p.Message, c.says) {
					t.Errorf("the Gateway: %s %s %s, want False Invalid with %q", p.Status, p.Reason, p.Message, c.says)
				}
				if len(gw.Status.Listeners) != 1 {
					t.Fatalf("%d listeners in the status", len(gw.Status.Listeners))
				}
				l := conditionNamed(gw.Status.Listeners[0].Conditions, "Programmed")
				if l.Status != metav1.ConditionFalse || l.Reason != "Invalid" || !strings.Contains(l.Message, c.says) {
					t.Errorf("the listener: %s %s %s, want False Invalid with %q", l.Status, l.Reason, l.Message, c.says)
				}
				refuse = ""
				if c.mended != "" {
					r.Apply(edgeGatewayOfClass(c.class, c.mended, c.routes))
				}
				r.Settle(20 * time.Minute)
				gw = edgeGatewayObject(r)
				if p := conditionNamed(gw.Status.Conditions, "Programmed"); p.Status != metav1.ConditionTrue || len(gw.Status.Addresses) != 1 {
					t.Errorf("after the fix, the Gateway: %s %s %s, addresses %v", p.Status, p.Reason, p.Message, gw.Status.Addresses)
				}
				if l := conditionNamed(gw.Status.Listeners[0].Conditions, "Programmed"); l.Status != metav1.ConditionTrue {
					t.Errorf("after the fix, the listener: %s %s %s", l.Status, l.Reason, l.Message)
				}
			})
		})
	}
}

// TestEachListenerHasItsOwnConditions checks a Gateway with two listeners of which one cannot be created. The Gateway
// is programmed, and only the other listener is programmed. The route counts as attached only to the listener that
// serves it.
func TestEachListenerHasItsOwnConditions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayHarness(t, Options{})
		r.Apply(edgeGatewayOfClass(albClass, "{name: http, port: 80, protocol: HTTP}, {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}]}}",
			edgeRoute("HTTPRoute", "hostnames: [no.such.test],")), readyPods("web", podAddresses[:2]...))
		r.Settle(5 * time.Minute)
		gw := edgeGatewayObject(r)
		if p := conditionNamed(gw.Status.Conditions, "Programmed"); p.Status != metav1.ConditionTrue || len(gw.Status.Addresses) != 1 {
			t.Errorf("the Gateway: %s %s %s, addresses %v", p.Status, p.Reason, p.Message, gw.Status.Addresses)
		}
		if got := answerTo(r, 80, "no.such.test", "/"); !strings.Contains(got, "k8s-shop-r") {
			t.Fatalf("port 80 answers %s", got)
		}
		for i, want := range []struct {
			status   metav1.ConditionStatus
			attached int32
		}{{metav1.ConditionTrue, 1}, {metav1.ConditionFalse, 0}} {
			l := gw.Status.Listeners[i]
			if p := conditionNamed(l.Conditions, "Programmed"); p.Status != want.status || l.AttachedRoutes != want.attached {
				t.Errorf("listener %s: %s %s, %d routes; want %+v", l.Name, p.Status, p.Message, l.AttachedRoutes, want)
			}
		}
		p := routeParents(cluster.NewView(r.Store), "r")
		if len(p) != 1 {
			t.Fatal(p)
		}
		if a := conditionNamed(p[0].Conditions, "Accepted"); a.Status != metav1.ConditionTrue || !strings.Contains(a.Message, "443") {
			t.Errorf("the route, which port 80 serves: %s %s %s", a.Status, a.Reason, a.Message)
		}
	})
}

const capacityConfiguration = `
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: c, namespace: shop}
spec: {minimumLoadBalancerCapacity: {capacityUnits: 500}}
`

// TestGatewayWithCapacityIsProgrammedWhenItsLoadBalancerIsActive checks that a Gateway with a capacity reservation is
// programmed at most 30 seconds after its load balancer is active, and stays programmed when the reservation is edited.
func TestGatewayWithCapacityIsProgrammedWhenItsLoadBalancerIsActive(t *testing.T) {
	t.Parallel()
	for _, class := range []string{albClass, nlbClass} {
		t.Run(class, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newGatewayHarness(t, Options{})
				const takes = 3 * time.Minute
				w := r.Emulator.Store()
				w.Lock()
				w.Config.ELB.ProvisioningDelay = takes
				w.Unlock()
				listener, route := "{name: l, port: 80, protocol: HTTP}", edgeRoute("HTTPRoute", "")
				if class == nlbClass {
					listener, route = "{name: l, port: 80, protocol: TCP}", edgeRoute("TCPRoute", "")
				}
				r.Apply(strings.Replace(edgeGatewayOfClass(class, listener, route), "  listeners:",
					"  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: c}}\n  listeners:", 1), capacityConfiguration, readyPods("web", podAddresses[:2]...))
				begin := time.Now()
				for time.Since(begin) < 20*time.Minute && conditionNamed(edgeGatewayObject(r).Status.Conditions, "Programmed").Status != metav1.ConditionTrue {
					r.advanceTime(time.Second)
				}
				if took := time.Since(begin); took > takes+30*time.Second {
					t.Errorf("programmed %s after the load balancer is active", took-takes)
				}
				r.Settle(5 * time.Minute)
				if n := reservedCapacity(r); n != 500 {
					t.Errorf("%d units are reserved", n)
				}
				// The Gateway stays programmed when the capacity is edited.
				r.Apply(strings.Replace(capacityConfiguration, "500}", "600}", 1))
				r.Settle(5 * time.Minute)
				if p := conditionNamed(edgeGatewayObject(r).Status.Conditions, "Programmed"); p.Status != metav1.ConditionTrue || reservedCapacity(r) != 600 {
					t.Errorf("after an edit: %s %s %s, %d units", p.Status, p.Reason, p.Message, reservedCapacity(r))
				}
			})
		})
	}
}

// TestGRPCRouteOnHTTPReportsThatItNeedsHTTPS checks that a GRPCRoute on an HTTP listener is not accepted, and reports
// that it needs a listener with protocol "HTTPS".
func TestGRPCRouteOnHTTPReportsThatItNeedsHTTPS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayHarness(t, Options{})
		r.Apply(edgeGatewayOfClass(albClass, "{name: plain, port: 80, protocol: HTTP}", edgeRoute("GRPCRoute", "")), readyPods("web", podAddresses[:2]...))
		r.Settle(5 * time.Minute)
		route, _ := cluster.Get[*gwv1.GRPCRoute](cluster.NewView(r.Store), cluster.KindGRPCRoute, "shop", "r")
		if len(route.Status.Parents) != 1 {
			t.Fatal(route.Status)
		}
		c := conditionNamed(route.Status.Parents[0].Conditions, "Accepted")
		if c.Status != metav1.ConditionFalse || c.Reason != "NotAllowedByListeners" || !strings.Contains(c.Message, `with protocol "HTTPS"`) {
			t.Errorf("%+v", c)
		}
	})
}
