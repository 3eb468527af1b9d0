package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestZeroWeightsAndInvalidProtocolsAreReported checks that a forward whose weights are all 0 is reported, and a Service
// with an invalid backend protocol: on routes in the condition Accepted, on other objects in an event.
func TestZeroWeightsAndInvalidProtocolsAreReported(t *testing.T) {
	t.Parallel()
	const nlb = `
apiVersion: v1
kind: Service
metadata: {name: nlb, namespace: shop, annotations: {service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip, KEY: 'VALUE'}}
spec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, ports: [{port: 80, targetPort: 8080, nodePort: 30082}]}
`
	route := func(kind, class, protocol string, weight string) string {
		return strings.NewReplacer("KIND", kind, "CLASS", class, "PROTOCOL", protocol, "WEIGHT", weight).Replace(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: gw}
spec: {controllerName: gateway.k8s.aws/CLASS}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: gw, listeners: [{name: one, port: 80, protocol: PROTOCOL}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: KIND
metadata: {name: route, namespace: shop}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: web, port: 80, weight: WEIGHT}, {name: api, port: 80, weight: 0}]}]}
`)
	}
	forward := func(weight string) string {
		return strings.ReplaceAll(webIngress(ingressAnnotations("actions.x", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":"80","weight":`+weight+`},{"serviceName":"api","servicePort":"80","weight":0}]}}`), "/x=x"),
			"{name: x, port: {number: 80}}", "{name: x, port: {name: use-annotation}}")
	}
	service := func(key, value string) string {
		return strings.NewReplacer("KEY", "service.beta.kubernetes.io/"+key, "VALUE", value).Replace(nlb)
	}
	weighted := func(own string) string {
		return service("actions.TCP-80", `{"type":"forward","forwardConfig":{"baseServiceWeight":`+own+`,"targetGroups":[{"serviceName":"web","servicePort":80,"weight":0}]}}`)
	}
	for name, c := range map[string]struct{ docs, on, want string }{
		"an Ingress, all 0":               {forward("0"), "web", "AllWeightsZero: spec.rules[0].http.paths[0]: all weights are 0; requests are answered with 503"},
		"an Ingress":                      {forward("1"), "web", ""},
		"an HTTPRoute, all 0":             {route("HTTPRoute", "alb", "HTTP", "0"), "route", "spec.rules[0].backendRefs: all weights are 0; requests are answered with 500"},
		"an HTTPRoute":                    {route("HTTPRoute", "alb", "HTTP", "1"), "route", ""},
		"a TCPRoute, all 0":               {route("TCPRoute", "nlb", "TCP", "0"), "route", "spec.rules[0].backendRefs: all weights are 0; port 80 has no listener"},
		"a TCPRoute":                      {route("TCPRoute", "nlb", "TCP", "1"), "route", ""},
		"a Service, all 0":                {weighted("0"), "nlb", "AllWeightsZero"},
		"a Service":                       {weighted("1"), "nlb", ""},
		"a Service with no protocol":      {service("aws-load-balancer-backend-protocol", "https2"), "nlb", `AnnotationInvalid: service.beta.kubernetes.io/aws-load-balancer-backend-protocol: "https2" is not a valid protocol (did you mean "https"?); connections to targets do not use TLS`},
		"a Service with another protocol": {service("aws-load-balancer-backend-protocol", "tcp"), "nlb", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Workers: 3})
				r.Apply(shop, readyPods("web", podAddresses[:2]...), readyPods("api", podAddresses[3:5]...), c.docs)
				r.advanceTime(30 * time.Second)
				got := warningsByObject(r)[c.on]
				for _, kind := range cluster.RouteKinds {
					for _, o := range r.Store.All(kind) {
						_, entries := cluster.RouteParents(o)
						for _, x := range entries[0].Conditions {
							if x.Type == "Accepted" && x.Message != "" {
								got = append(got, x.Message)
							}
						}
					}
				}
				if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}
