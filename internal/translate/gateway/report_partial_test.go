package gateway

import (
	"fmt"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// TestPartiallyInvalidRoutes checks that a route of which only some rules are not valid is accepted for its other rules, and
// that condition PartiallyInvalid is removed when the rules are corrected. With the controller names of AWS Load Balancer
// Controller, a route is accepted as a whole or not at all.
func TestPartiallyInvalidRoutes(t *testing.T) {
	ref := finding.Ref{Kind: "HTTPRoute", Namespace: "a", Name: "r"}
	wrong := func(fields ...string) (out finding.List) {
		for _, f := range fields {
			out = append(out, finding.Finding{Object: ref, Field: f, Reason: finding.RouteValueUnsupported, Severity: finding.Error, Message: "it is wrong"})
		}
		return out
	}
	s := newReportHarness(t, oneGatewayDocs)
	s.editObject(cluster.KindHTTPRoute, "a", "r", `{"spec": {"rules": [{"name": "zero"}, {"name": "one"}, {"name": "two"}]}}`)
	conditions := func() string {
		t.Helper()
		s.writeReport()
		if n := s.writeReport(); n > 0 {
			t.Errorf("a pass without a change writes %d statuses", n)
		}
		return strings.TrimPrefix(conditionsText(s.getRoute("r").Status.Parents[0].Conditions), "ResolvedRefs=True/ResolvedRefs ")
	}
	s.outcome.Findings = wrong("spec.rules[1].filters[0]")
	if got, want := conditions(), "Accepted=False/UnsupportedValue"; got != want {
		t.Errorf("older class: %s, want %s", got, want)
	}
	s.editObject(cluster.KindGatewayClass, "", "alb", `{"spec": {"controllerName": "gateway.fulcrum.dev/aws"}}`)
	const partial = "Accepted=True/Accepted PartiallyInvalid=True/UnsupportedValue"
	for _, c := range []struct {
		name, want, message string
		found               finding.List
		attached            int32
	}{
		{"one rule", partial, "Dropped Rule 1: ", wrong("spec.rules[1].filters[0]"), 1},
		{"two rules", partial, "Dropped Rule 0, 2: ", wrong("spec.rules[2]", "spec.rules[0]"), 1},
		{"all rules", "Accepted=False/UnsupportedValue", "", wrong("spec.rules[0]", "spec.rules[1]", "spec.rules[2]"), 0},
		{"the route as a whole", "Accepted=False/UnsupportedValue", "", wrong("spec.rules[0]", "spec.hostnames"), 0},
		{"nothing", "Accepted=True/Accepted", "", nil, 1},
	} {
		s.outcome.Findings = c.found
		if got := conditions(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := findCondition(s.getRoute("r").Status.Parents[0].Conditions, "PartiallyInvalid").Message; !strings.HasPrefix(got, c.message) || c.message == "" && got != "" {
			t.Errorf("%s: message %q", c.name, got)
		}
		if n := s.getGateway().Status.Listeners[0].AttachedRoutes; n != c.attached {
			t.Errorf("%s: %d routes are attached", c.name, n)
		}
	}
}

// TestAPortWithoutBackendsIsProgrammed checks condition Programmed for a port of an NLB whose routes have no backends. Such
// a port refuses connections, because AWS does not permit a listener without a target group. It is reported as programmed
// with controller name gateway.fulcrum.dev/aws, which follows the Gateway API, and as not programmed with other controller
// names.
func TestAPortWithoutBackendsIsProgrammed(t *testing.T) {
	const docs = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: %s}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: g}
spec:
  gatewayClassName: nlb
  listeners: [{name: served, port: 80, protocol: TCP}, {name: refuses, port: 81, protocol: TCP}, {name: held, port: 82, protocol: TCP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {namespace: a, name: r}
spec:
  parentRefs: [{name: g}]
  rules: [{backendRefs: []}]
`
	for controller, refuses := range map[gwv1.GatewayController]string{
		gatewayconfig.FulcrumController: "Programmed=True/Programmed", gatewayconfig.NLBController: "Programmed=False/Invalid",
	} {
		s := newReportHarness(t, fmt.Sprintf(docs, controller))
		s.frontend = New(model.NLBGateway, s.frontend.opt)
		s.outcome.ID.Kind = model.NLBGateway
		// The listener of port 81 is not desired and does not exist. The listener of port 82 is desired, but AWS did not
		// create it.
		s.outcome.Stack.LoadBalancer = &model.LoadBalancer{Type: model.Network, Listeners: []model.Listener{{Port: 80}, {Port: 82}}}
		s.outcome.Plan.Ports = []int32{80}
		s.writeReport()
		for i, want := range []string{"Programmed=True/Programmed", refuses, "Programmed=False/Invalid"} {
			l := s.getGateway().Status.Listeners[i]
			if got := conditionsText(l.Conditions); !strings.HasSuffix(got, want) {
				t.Errorf("%s, listener %s: %s, want %s", controller, l.Name, got, want)
			}
		}
	}
}
