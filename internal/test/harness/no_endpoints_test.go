package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// noEndpointsEvents returns "kind name: message" for each event that reports a Service without ready endpoints, sorted.
func noEndpointsEvents(r *Harness) (out []string) {
	for _, o := range r.Store.All("Event") {
		switch e := o.(*corev1.Event); e.Reason {
		case "SelectorMatchesNoPod", "ServiceWithoutEndpoints", "TargetPortNotFound":
			out = append(out, fmt.Sprintf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message))
		}
	}
	slices.Sort(out)
	return out
}

// unreadyPods returns YAML like readyPods, but no pod is ready.
func unreadyPods(service string, addresses ...string) string {
	return strings.NewReplacer(`status: "True"`, `status: "False"`, "ready: true", "ready: false").Replace(readyPods(service, addresses...))
}

// podsWithOtherPortName returns YAML like readyPods, but the container port has the name "http", and the EndpointSlice
// has no port, as if the Service named another port.
func podsWithOtherPortName(service string, addresses ...string) string {
	return strings.NewReplacer(`ports: [{name: "", port: 8080, protocol: TCP}]`, "ports: []", "{containerPort: 8080}", "{containerPort: 8080, name: http}").Replace(readyPods(service, addresses...))
}

func (r *Harness) deletePods(service string, n int) {
	r.T.Helper()
	for i := range n {
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindPod, Namespace: "shop", Name: fmt.Sprintf("%s-%d", service, i)}); err != nil {
			r.T.Fatal(err)
		}
	}
}

// TestServiceWithoutPodsIsReported checks that a Service without ready endpoints and its Ingress each get one event
// that names the cause. The event comes only after the time that pods normally need to start.
func TestServiceWithoutPodsIsReported(t *testing.T) {
	t.Parallel()
	named := strings.ReplaceAll(shop, "targetPort: 8080, nodePort: 30080", "targetPort: htp, nodePort: 30080")
	for name, c := range map[string]struct {
		service, pods string
		silent        time.Duration
		want          string
	}{
		"a selector that matches no pod": {shop, readyPods("web"), 50 * time.Second, `SelectorMatchesNoPod: Service shop/web has no ready endpoints: spec.selector "app=web" matches no pod that has an address; correct the selector, or start pods with these labels`},
		"pods that do not get ready":     {shop, unreadyPods("web", podAddresses[:2]...), 290 * time.Second, `ServiceWithoutEndpoints: Service shop/web has no ready endpoints: its selector matches 2 pods, and none is ready; look at the pods and their readiness probes`},
		"a targetPort without a port":    {named, podsWithOtherPortName("web", podAddresses[:2]...), 50 * time.Second, `TargetPortNotFound: Service shop/web has no ready endpoints for port 80: targetPort "htp" is the name of no container port of its pods (did you mean "http"?); correct targetPort, or the name of the container port`},
	} {
		for _, kind := range []string{"ip", "instance"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := shopWith(t, Options{Workers: 3, Checkpoints: true})
					r.Apply(c.service, c.pods, readyPods("api", podAddresses[3:5]...), strings.ReplaceAll(webIngress("", "/=web", "/api=api"), "target-type: ip", "target-type: "+kind))
					r.advanceTime(c.silent)
					if got := noEndpointsEvents(r); len(got) > 0 {
						t.Errorf("too soon: %q", got)
					}
					r.advanceTime(20 * time.Second)
					want := []string{"Ingress web: " + c.want, "Service web: " + c.want}
					if got := noEndpointsEvents(r); !slices.Equal(got, want) {
						t.Errorf("got  %q\nwant %q", got, want)
					}
					r.Apply(strings.ReplaceAll(c.pods, "web-0", "web-9"))
					r.advanceTime(30 * time.Minute)
					if got := noEndpointsEvents(r); len(got) > 2 {
						t.Errorf("again: %q", got)
					}
				})
			})
		}
	}
}

// TestScaleToZeroIsNotReported checks that no event reports a Service that is scaled to zero, or whose new pods have
// not been ready for four minutes.
func TestScaleToZeroIsNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Workers: 3, Checkpoints: true})
		r.Apply(shop, readyPods("web", podAddresses[:2]...), readyPods("api", podAddresses[3:5]...), webIngress("", "/=web", "/api=api"))
		r.advanceTime(10 * time.Minute)
		r.deletePods("web", 2) // before the endpoints, as in a cluster: endpoints are removed because pods are deleted
		r.Apply(readyPods("web"))
		r.advanceTime(time.Hour)
		r.Apply(unreadyPods("web", podAddresses[:2]...))
		r.advanceTime(4 * time.Minute)
		r.Apply(readyPods("web", podAddresses[:2]...))
		r.advanceTime(10 * time.Minute)
		if got := noEndpointsEvents(r); len(got) > 0 {
			t.Errorf("%q", got)
		}
	})
}

// TestSelectorWithoutPodsIsReported checks that a selector that no longer matches the running pods is reported within a
// minute.
func TestSelectorWithoutPodsIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Workers: 3, Checkpoints: true})
		r.Apply(shop, readyPods("web", podAddresses[:2]...), readyPods("api", podAddresses[3:5]...), webIngress("", "/=web", "/api=api"))
		r.advanceTime(10 * time.Minute)
		r.Apply(strings.ReplaceAll(shop, "selector: {app: web}", "selector: {app: wep}"), readyPods("web"))
		r.advanceTime(time.Minute)
		got := noEndpointsEvents(r)
		if len(got) != 2 || !strings.HasPrefix(got[0], "Ingress web: SelectorMatchesNoPod") || !strings.HasPrefix(got[1], "Service web: SelectorMatchesNoPod") ||
			!strings.Contains(got[0], `"app=wep"`) || !strings.Contains(got[0], "still run") {
			t.Errorf("%q", got)
		}
	})
}

// TestServiceWithoutPodsIsReportedOnServiceAndGateway checks that Services without ready endpoints are reported on a
// Service with an NLB, and on the backend Service of a route and its Gateway.
func TestServiceWithoutPodsIsReportedOnServiceAndGateway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Workers: 3, Checkpoints: true})
		r.Apply(shop, readyPods("web"), readyPods("api"), `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: 11111111-0000-4000-8000-000000000001, annotations: {service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip}}
spec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, selector: {app: web}, ports: [{port: 80, targetPort: 8080, nodePort: 30080}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: alb, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: shop}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: api, port: 80}]}]}
`)
		r.advanceTime(5 * time.Minute)
		var on []string
		for _, e := range noEndpointsEvents(r) {
			of, _, _ := strings.Cut(e, ":")
			on = append(on, of)
		}
		if want := []string{"Gateway edge", "Service api", "Service web"}; !slices.Equal(on, want) {
			t.Errorf("%q, want on %q; %q", on, want, warningsByObject(r))
		}
	})
}
