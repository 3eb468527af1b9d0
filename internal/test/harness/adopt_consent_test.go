package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// sharedIngressGroup is IngressGroup "edge" with members in namespaces "shop" and "blog". Tests replace CONSENT by an
// annotation of the member in "blog".
const sharedIngressGroup = `
apiVersion: v1
kind: Namespace
metadata: {name: blog}
---
apiVersion: v1
kind: Service
metadata: {name: posts, namespace: blog, uid: 11111111-0000-4000-8000-000000000012}
spec: {type: NodePort, selector: {app: posts}, ports: [{port: 80, targetPort: 8080, nodePort: 30090}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop, annotations: {alb.ingress.kubernetes.io/group.name: edge, alb.ingress.kubernetes.io/group.order: "1"}}
spec: {ingressClassName: alb, rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: posts, namespace: blog, annotations: {alb.ingress.kubernetes.io/group.name: edge, alb.ingress.kubernetes.io/group.order: "2"CONSENT}}
spec: {ingressClassName: alb, rules: [{host: blog.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: posts, port: {number: 80}}}}]}}]}
`

// adoptingGateway is Gateway "shop/edge", which adopts the load balancer of IngressGroup "edge". Its route gives the
// same answers as the Ingress in namespace "shop".
const adoptingGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: gw}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop, annotations: {fulcrum.dev/adopt: ingress-group/edge}}
spec: {gatewayClassName: gw, listeners: [{name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}]}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: web, namespace: shop}
spec: {targetReference: {name: web}, defaultConfiguration: {targetType: instance, healthCheckConfig: {healthyThresholdCount: 2, unhealthyThresholdCount: 2, matcher: {httpCode: "200"}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec: {parentRefs: [{name: edge}], hostnames: [shop.example.com], rules: [{backendRefs: [{name: web, port: 80}]}]}
`

// blogRoute is a route of namespace "blog" to Gateway "shop/edge". It expresses the consent of the namespace if its
// answers are those of the Ingress. Tests replace HOST by a hostname.
const blogRoute = `
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: posts, namespace: blog}
spec: {targetReference: {name: posts}, defaultConfiguration: {targetType: instance, healthCheckConfig: {healthyThresholdCount: 2, unhealthyThresholdCount: 2, matcher: {httpCode: "200"}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: posts, namespace: blog}
spec: {parentRefs: [{name: edge, namespace: shop}], hostnames: [HOST], rules: [{backendRefs: [{name: posts, port: 80}]}]}
`

// TestAdoptionNeedsConsent checks that a Gateway adopts the load balancer of an Ingress in another namespace only with
// the consent of that namespace: an HTTPRoute under which requests get the same responses as under the Ingress, or an
// annotation of the Ingress. With isolated tenancy, only the annotation is consent.
func TestAdoptionNeedsConsent(t *testing.T) {
	t.Parallel()
	route := func(host string) string { return strings.Replace(blogRoute, "HOST", host, 1) }
	for name, c := range map[string]struct {
		isolated  bool
		route     string
		adoptedBy string
		why       string // part of the event that reports the refusal; "" if the load balancer is adopted
	}{
		"nothing":                      {why: "Ingress blog/posts does not consent"},
		"a route with the same answer": {route: route("blog.example.com")},
		"a route with another answer":  {route: route("other.example.com"), why: "blog.example.com"},
		"an annotation":                {adoptedBy: "shop/edge"},
		"one for another Gateway":      {adoptedBy: "shop/other", why: "does not consent"},
		"a route in isolated tenancy":  {isolated: true, route: route("blog.example.com"), why: "does not consent"},
		"an annotation there":          {isolated: true, route: route("blog.example.com"), adoptedBy: "shop/edge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opt, consent := Options{}, ""
				if c.isolated {
					opt.Ingress = func(o *ingress.Options) { o.Tenancy = ingress.Isolated }
				}
				if c.adoptedBy != "" {
					consent = ", fulcrum.dev/adopted-by: " + c.adoptedBy
				}
				r := shopWith(t, opt)
				r.Apply(shop, readyPods("web", podAddresses[:2]...), strings.Replace(sharedIngressGroup, "CONSENT", consent, 1))
				r.advanceTime(5 * time.Minute)
				before := len(r.State())
				r.Emulator.Calls().Reset()
				if c.route != "" {
					r.Apply(c.route)
				}
				r.Apply(adoptingGateway)
				r.advanceTime(10 * time.Minute)
				taken := false
				for _, line := range r.State() {
					taken = taken || strings.Contains(line, naming.StackTag(model.ALBGateway))
				}
				if taken != (c.why == "") {
					t.Errorf("adopted: %t", taken)
				}
				if c.why == "" {
					return
				}
				if n := r.Emulator.Calls().CountMutating(); n > 0 || len(r.State()) != before {
					t.Errorf("%d changes: %v", n, r.Emulator.Calls().Counts())
				}
				reported := false
				for _, o := range r.Store.All("Event") {
					e := o.(*corev1.Event)
					reported = reported || e.InvolvedObject.Kind == "Gateway" && strings.Contains(e.Message, c.why) &&
						(strings.Contains(e.Message, string(finding.AdoptionRefused)) || strings.Contains(e.Message, string(finding.AdoptionDiffers)))
				}
				if !reported {
					t.Errorf("%q is not reported: %v", c.why, r.Store.All("Event"))
				}
			})
		})
	}
}

// TestSecondGatewayReportsTheOwner checks that, if two Gateways name the same load balancer, the first one adopts it
// and the second one reports which Gateway owns it.
func TestSecondGatewayReportsTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := harnessWithAdoptedIngressGroup(t, Options{})
		before := r.State()
		r.Apply(strings.ReplaceAll(strings.Split(adoptingGateway, "---")[1], "name: edge,", "name: second,"))
		r.Apply(strings.NewReplacer("HOST", "blog.example.com", "name: posts, namespace: blog}\nspec: {parentRefs", "name: second, namespace: blog}\nspec: {parentRefs", "name: edge, namespace: shop", "name: second, namespace: shop").Replace(blogRoute))
		r.advanceTime(10 * time.Minute)
		if d := cmp.Diff(before, r.State()); d != "" {
			t.Errorf("AWS was changed (-before +after):\n%s", d)
		}
		var reported []string
		for _, o := range r.Store.All("Event") {
			if e := o.(*corev1.Event); e.InvolvedObject.Name == "second" && e.InvolvedObject.Kind == "Gateway" {
				reported = append(reported, e.Message)
			}
		}
		if !strings.Contains(strings.Join(reported, "\n"), "Gateway shop/edge has taken it over already") {
			t.Errorf("the second Gateway reports %q", reported)
		}
	})
}
