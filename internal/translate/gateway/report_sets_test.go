package gateway

import (
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// secureSetDocs has Gateway a/g, whose only served listener is in a ListenerSet of another namespace.
const secureSetDocs = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: g}
spec:
  gatewayClassName: alb
  allowedListeners: {namespaces: {from: All}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: tenant, name: set}
spec:
  parentRef: {name: g, namespace: a}
  listeners:
  - {name: https, port: 443, protocol: HTTPS, hostname: a.com, tls: {certificateRefs: [{name: secret}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: tenant, name: r}
spec:
  parentRefs: [{kind: ListenerSet, group: gateway.networking.k8s.io, name: set}]
---
`

// TestReportOfAnUnservedListenerSet checks that the listener of a ListenerSet is only reported as waiting for an import while
// nothing prevents the import, and that neither the Gateway nor the ListenerSet shows details of the other namespace.
func TestReportOfAnUnservedListenerSet(t *testing.T) {
	gateway, set := finding.Ref{Kind: "Gateway", Namespace: "a", Name: "g"}, finding.Ref{Kind: "ListenerSet", Namespace: "tenant", Name: "set"}
	refused := finding.Finding{Object: set, Field: "spec.listeners[0].tls.certificateRefs", Reason: finding.QuotaReached, Severity: finding.Error, Message: `Secret "tenant/secret": too many`}
	private := finding.Finding{Object: gateway, Reason: finding.AccessDenied, Severity: finding.Error, Message: "private to the Gateway"}
	for _, c := range []struct {
		name     string
		findings finding.List
		// reason and message are those of condition Programmed of the listener. The Gateway has the same reason, and message
		// ofGateway.
		reason, message, ofGateway string
	}{
		{"import runs", nil, "Pending", `import of the certificate of Secret "tenant/secret"`, `listener "https": see the status of ListenerSet tenant/set`},
		{"import is refused", finding.List{refused}, "Invalid", "too many", `listener "https": see the status of ListenerSet tenant/set`},
		{"the Gateway has an error", finding.List{private}, "Invalid", "see the status of Gateway a/g", `listener "https": private to the Gateway`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newReportHarness(t, secureSetDocs)
			step := plan.Step{Address: plan.Address{Kind: plan.Certificate, ID: "imported/tenant/secret"}, Wait: plan.Wait{For: "its ARN"}}
			s.outcome.Plan, s.outcome.Findings = plan.Plan{Steps: []plan.Step{step}}, c.findings
			s.writeReport()
			listeners, _ := cluster.Get[*gwv1.ListenerSet](cluster.NewView(s.src), cluster.KindListenerSet, "tenant", "set")
			got := findCondition(listeners.Status.Listeners[0].Conditions, "Programmed")
			if got.Reason != c.reason || !strings.Contains(got.Message, c.message) || strings.Contains(got.Message, "private") {
				t.Errorf("listener: %s: %s", got.Reason, got.Message)
			}
			got = findCondition(s.getGateway().Status.Conditions, "Programmed")
			if got.Reason != c.reason || got.Message != c.ofGateway {
				t.Errorf("Gateway: %s: %s", got.Reason, got.Message)
			}
		})
	}
}
