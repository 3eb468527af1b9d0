package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
)

const unattachedYAML = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: gw}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: gw
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - {name: tcp, port: 9000, protocol: TCP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec: {parentRefs: [{name: edge, namespace: infra, sectionName: http}], rules: [{backendRefs: [{name: web, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: grpc, namespace: bank}
spec: {parentRefs: [{name: edge, namespace: infra, sectionName: http}], rules: [{backendRefs: [{name: pay, port: 80}]}]}
`

// TestEveryCommandShowsUnattachedObjects checks that plan, tree, explain and get report a GRPCRoute that no listener allows
// and a listener with an unsupported protocol. With -n shop they do not report the GRPCRoute, which is in namespace "bank".
func TestEveryCommandShowsUnattachedObjects(t *testing.T) {
	_, flags := startEmulator(t)
	objects := strings.Join([]string{serviceYAML, replaceNames(serviceYAML, "bank", "pay"), unattachedYAML}, "---\n")
	_, config := serveCluster(t, objects)
	const route, listener = "error NotAllowedByListeners GRPCRoute bank/grpc spec.parentRefs[0]: listener \"http\" has protocol", "error UnsupportedProtocol Gateway infra/edge spec.listeners[1]: the load balancer does not support protocol \"TCP\""
	for args, shown := range map[string][2]bool{
		"plan": {true, true}, "tree": {true, true}, "plan -n bank": {true, true}, "plan -n infra": {true, true}, "plan -n shop": {false, true}, "tree -n shop": {false, true},
		"explain httproute/web -n shop": {false, true}, "explain grpcroute/grpc -n bank": {true, true}, "tree gateway/edge -n infra": {true, true}, "tree service/web -n shop": {false, true},
	} {
		code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat(strings.Fields(args), []string{"--flags-from=none"}, flags)...)
		if got := [2]bool{strings.Contains(out, route), strings.Contains(out, listener)}; got != shown || code == 1 || strings.Count(out, route) > 1 {
			t.Errorf("%s: exit %d, route and listener shown %t: %s%s", args, code, got, stderr, out)
		}
	}
	if code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"get", "-n=infra", "--flags-from=none"}, flags)...); code != 0 || !strings.Contains(out, "3 errors") /* and one about node ports */ {
		t.Errorf("exit %d: %s%s", code, stderr, out)
	}
	if code, out, stderr := runWithInput(t, objects, nil, "plan", "--offline", "-f=-"); code != output.ExitObjectErrors || !strings.Contains(out, route) {
		t.Errorf("offline: exit %d: %s%s", code, stderr, out)
	}
}
