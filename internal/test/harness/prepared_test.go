package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// TestPreparationOfRejectedStepIsNotRepeated checks that, while AWS rejects a step for hours, the controller repeats only
// the rejected call, with back-off. It makes no other mutating call, such as opening and closing the port of a listener that
// cannot be created. Once AWS accepts the call, the stack is completed.
func TestPreparationOfRejectedStepIsNotRepeated(t *testing.T) {
	t.Parallel()
	// mostCalls limits the calls of one step with one content in the three hours. The back-off grows within the first 20
	// minutes to 15 minutes: see backOff in internal/engine/refusals.go.
	const mostCalls = 2 + int(3*time.Hour/durations.LongestBackOff)
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
			if refused.operation == "CreateRule" && !hasRules || refused.operation == "CreateTargetGroup" && kind == "Ingress" {
				continue // the edit does not need this operation
			}
			most := mostCalls
			if hasRules && refused.code == "ValidationError" && refused.operation != "CreateTargetGroup" {
				most = 2 * mostCalls // a step with another content is called too: a fixed response in place of the refused action
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
					if n := r.Emulator.Calls().Count(refused.operation); n == 0 || n > most {
						t.Errorf("the refused operation is called %d times within three hours, want 1 to %d", n, most)
					}
					r.Emulator.Faults().ClearRules()
					r.Settle(maxRepeatDelay)
					if n := len(stateOfKinds(r, "listener")); n != 2 {
						t.Errorf("%d listeners exist once AWS accepts them, want 2", n)
					}
					if n := len(stateOfKinds(r, "rule")); hasRules && n != 4 {
						t.Errorf("%d rules exist once AWS accepts them, want a rule and a default rule for each listener", n)
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
