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
	ingressPorts := func(ports string) string { return webIngress(ingressAnnotations("listen-ports", ports), "/=web") }
	routes := func(n int) string {
		out := nlbGatewayWithListeners(n)
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
		"Service": {nlbService("mail", ipTargets, "{name: a, port: 80, targetPort: 8080}"), nlbService("mail", ipTargets, "{name: a, port: 80, targetPort: 8080}, {name: b, port: 81, targetPort: 8081}")},
		"Ingress": {ingressPorts(`[{"HTTP":80}]`), ingressPorts(`[{"HTTP":80},{"HTTP":81}]`)},
		"Ingress with a default backend": {ingressPorts(`[{"HTTP":80}]`),
			strings.Replace(ingressPorts(`[{"HTTP":80},{"HTTP":81}]`), "  rules:", "  defaultBackend: {service: {name: api, port: {number: 80}}}\n  rules:", 1)},
		"Gateway": {routes(1), routes(2)},
	}
	for kind, docs := range kinds {
		hasRules := strings.HasPrefix(kind, "Ingress") // the others have an NLB
		for _, refused := range []struct{ operation, code string }{
			{"CreateTargetGroup", "AccessDenied"}, {"CreateTargetGroup", "TooManyTargetGroups"}, {"CreateTargetGroup", "ValidationError"},
			{"CreateListener", "AccessDenied"}, {"CreateListener", "TooManyListeners"}, {"CreateListener", "ValidationError"},
			{"CreateRule", "AccessDenied"}, {"CreateRule", "ValidationError"},
		} {
			if refused.operation == "CreateRule" && !hasRules {
				continue
			}
			t.Run(kind+"/"+refused.operation+"/"+refused.code, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := shopWith(t, Options{})
					r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), readyPods("mail", podAddresses[:3]...), docs[0])
					settleWithoutErrors(t, r)
					r.Emulator.Faults().Add(fault.Rule{Operation: refused.operation, Action: fault.Action{Error: &store.Error{Code: refused.code, Message: "refused", Status: 400}}})
					r.Apply(docs[1])
					r.Settle(5 * time.Minute)
					r.Emulator.Calls().Reset()
					r.Settle(3 * time.Hour)
					for name, n := range r.Emulator.Calls().Counts() {
						_, operation, _ := strings.Cut(name, ":")
						reads := strings.HasPrefix(operation, "Describe") || strings.HasPrefix(operation, "Get") || strings.HasPrefix(operation, "List")
						if !reads && operation != refused.operation {
							t.Errorf("%d calls of %s within three hours", n, operation)
						}
					}
					if n := r.Emulator.Calls().Count(refused.operation); n == 0 || n > 3*int(time.Hour/maxRepeatDelay)+5 {
						t.Errorf("the refused operation is called %d times within three hours", n)
					}
					r.Emulator.Faults().ClearRules()
					r.Settle(maxRepeatDelay)
					if n := len(stateOfKinds(r, "listener")); n != 2 {
						t.Errorf("%d listeners exist once AWS accepts them, want 2", n)
					}
					if n := len(stateOfKinds(r, "rule")); hasRules && n != 2 {
						t.Errorf("%d rules exist once AWS accepts them, want 2", n)
					}
				})
			})
		}
	}
}

// nlbGatewayWithListeners returns YAML of NLB Gateway "shop/net" with n TCP listeners on the ports from 80.
func nlbGatewayWithListeners(n int) string {
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
