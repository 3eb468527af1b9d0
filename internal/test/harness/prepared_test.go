package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// TestPreparationOfRejectedStepIsNotRepeated checks that, while AWS rejects a step for hours, the controller makes no
// other mutating call, such as opening and closing the port of a listener that cannot be created.
func TestPreparationOfRejectedStepIsNotRepeated(t *testing.T) {
	t.Parallel()
	refuse := func(code string, operations ...string) func(r *Harness) {
		return func(r *Harness) {
			for _, o := range operations {
				r.Emulator.Faults().Add(fault.Rule{Operation: o, Action: fault.Action{Error: &store.Error{Code: code, Message: "refused", Status: 400}}})
			}
		}
	}
	ingressPorts := func(ports string) string { return webIngress(ingressAnnotations("listen-ports", ports), "/=web") }
	routes := func(n int) string {
		out := openNetworkGateway(n)
		for i := range n {
			out += fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: t%[1]d, namespace: shop}
spec: {parentRefs: [{name: net, sectionName: l%[1]d}], rules: [{backendRefs: [{name: %[2]s, port: 80}]}]}
`, i, []string{"web", "api"}[i])
		}
		return out
	}
	kinds := map[string][2]string{
		"Service": {exposedService("mail", ipTargets, "{name: a, port: 80, targetPort: 8080}"), exposedService("mail", ipTargets, "{name: a, port: 80, targetPort: 8080}, {name: b, port: 81, targetPort: 8081}")},
		"Ingress": {ingressPorts(`[{"HTTP":80}]`), ingressPorts(`[{"HTTP":80},{"HTTP":81}]`)},
		"Ingress with a default backend": {ingressPorts(`[{"HTTP":80}]`),
			strings.Replace(ingressPorts(`[{"HTTP":80},{"HTTP":81}]`), "  rules:", "  defaultBackend: {service: {name: api, port: {number: 80}}}\n  rules:", 1)},
		"Gateway": {routes(1), routes(2)},
	}
	for kind, docs := range kinds {
		for what, with := range map[string]func(r *Harness){
			"target groups, permission": refuse("AccessDenied", "CreateTargetGroup"),
			"target groups, quota":      refuse("TooManyTargetGroups", "CreateTargetGroup"),
			"target groups, value":      refuse("ValidationError", "CreateTargetGroup"),
			"listeners, permission":     refuse("AccessDenied", "CreateListener"),
			"listeners, quota":          refuse("TooManyListeners", "CreateListener"),
			"listeners, value":          refuse("ValidationError", "CreateListener"),
			"rules, permission":         refuse("AccessDenied", "CreateRule"),
			"rules, value":              refuse("ValidationError", "CreateRule"),
		} {
			t.Run(kind+"/"+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := shopWith(t, Options{})
					r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), readyPods("mail", podAddresses[:3]...), docs[0])
					awaitSettled(t, r)
					with(r)
					r.Apply(docs[1])
					r.Settle(5 * time.Minute)
					r.Emulator.Calls().Reset()
					r.Settle(3 * time.Hour)
					for name, n := range r.Emulator.Calls().Counts() {
						_, operation, _ := strings.Cut(name, ":")
						prepares := !strings.HasPrefix(operation, "Describe") && !strings.HasPrefix(operation, "Get") && !strings.HasPrefix(operation, "List")
						if refused := strings.Contains(what, "target groups") && operation == "CreateTargetGroup" || strings.Contains(what, "listeners") && operation == "CreateListener" ||
							strings.Contains(what, "rules") && operation == "CreateRule"; prepares && !refused {
							t.Errorf("%d calls of %s within three hours", n, operation)
						}
					}
					r.Emulator.Faults().ClearRules()
					r.Settle(maxRepeatDelay)
					if len(stateOfKinds(r, "listener")) != 2 {
						t.Errorf("the listener is not created once AWS takes it: %v", stateOfKinds(r, "listener"))
					}
				})
			})
		}
	}
}

// openNetworkGateway returns YAML of NLB Gateway "shop/net" with n TCP listeners on the ports from 80.
func openNetworkGateway(n int) string {
	var b strings.Builder
	b.WriteString(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: net, namespace: shop, uid: 33333333-0000-4000-8000-000000000002}
spec:
  gatewayClassName: nlb
  listeners:`)
	for i := range n {
		fmt.Fprintf(&b, "\n  - {name: l%d, port: %d, protocol: TCP}", i, 80+i)
	}
	return b.String() + "\n"
}
