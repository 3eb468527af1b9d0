package cost

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

// TestMixedCluster measures a controller when idle and under load, with a real API server: 200 Ingresses, 400
// Services, of which 150 have their own load balancers, 50 Gateways and 5,000 pods.
func TestMixedCluster(t *testing.T) {
	if os.Getenv("FULCRUM_BENCH") == "" {
		t.Skip("a measurement of twenty minutes; FULCRUM_BENCH=1 runs it")
	}
	const ingressed, balanced, routed, pods = 200, 150, 50, 5000
	const all = ingressed + routed + balanced
	objects := serviceManifests(ingressed+routed) + ingressManifests(ingressed, 1) + gatewayManifests(ingressed, routed) + loadBalancerServiceManifests(ingressed+routed, balanced)
	h := startCluster(t, clusterShape{
		worldOptions: world.Options{GatewayAPI: "standard", ActiveImmediately: true},
		quotas:       map[string]int{"application-load-balancers": 500, "network-load-balancers": 500, "security-groups": 5000},
		services:     all, pods: pods, spareAddresses: 3000, objects: objects,
	}, "--default-target-type=ip")
	d := measurementDuration(t)

	h.callAdminAPI(t, http.MethodDelete, "calls", nil)
	before := h.readUsage(t)
	time.Sleep(d)
	after := h.readUsage(t)
	t.Logf("BENCH %d Ingresses, %d Services, %d Gateways, %d pods at rest for %v: %.1f s of CPU, %.0f MiB resident, %d calls", ingressed, all, routed, pods, d, after.cpu-before.cpu, after.resident/(1<<20), h.countCalls(t))

	// Successive replacements are nearly always in different target groups, so each replacement needs two calls. The
	// documented limit of AWS is four calls per second, so calls queue at four replacements per second.
	for _, rate := range []int{1, 4} {
		h.callAdminAPI(t, http.MethodDelete, "calls", nil)
		before = h.readUsage(t)
		h.replaceRandomPods(t, rate, d)
		after = h.readUsage(t)
		in, out := h.propagationTimes(t)
		t.Logf("BENCH the same while %d pods are replaced in %v: %.1f s of CPU, %.0f MiB resident, %d calls", h.replacedCount, d, after.cpu-before.cpu, after.resident/(1<<20), h.countCalls(t))
		t.Logf("BENCH from EndpointSlice to RegisterTargets answered: %s; to DeregisterTargets answered: %s", formatQuantiles(in), formatQuantiles(out))
	}
}

// gatewayManifests returns n Gateways with one route each. Each route forwards to the next Service in order; first is
// the number of the first Service.
func gatewayManifests(first, n int) string {
	text := `---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
`
	for i := range n {
		text += fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g%[1]d, namespace: %[2]s}
spec:
  gatewayClassName: alb
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: g%[1]d, namespace: %[2]s}
spec:
  parentRefs: [{name: g%[1]d}]
  rules: [{backendRefs: [{name: %[3]s, port: 80}]}]
`, i, namespace, serviceName(first+i))
	}
	return text
}

// loadBalancerServiceManifests returns n Services of type LoadBalancer. first is the number of the first Service.
func loadBalancerServiceManifests(first, n int) string {
	text := ""
	for g := first; g < first+n; g++ {
		text += fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, allocateLoadBalancerNodePorts: false, ports: [{port: 80, targetPort: 8080}]}
`, serviceName(g), namespace)
	}
	return text
}
