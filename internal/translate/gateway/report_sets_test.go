package gateway

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

const setOfGatewayDocs = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: g}
spec:
  gatewayClassName: alb
  allowedListeners: {namespaces: {from: %s}}
  listeners: [{name: web, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: a, name: part}
spec: {parentRef: {name: g}, listeners: [{name: l, port: 81, protocol: HTTP}]}
`

// TestStatusOfSetsOfAHeldGatewayStays checks that a ListenerSet is not reported as programmed while its Gateway is held,
// because its listeners are not created. A ListenerSet that the Gateway does not admit is reported.
func TestStatusOfSetsOfAHeldGatewayStays(t *testing.T) {
	for from, want := range map[string]string{"Same": "Accepted=Unknown/Pending Programmed=Unknown/Pending", "None": "Accepted=False/NotAllowed Programmed=False/NotAllowed"} {
		s := newReportHarness(t, fmt.Sprintf(setOfGatewayDocs, from))
		s.outcome.Stack.Held.Everything = true
		s.outcome.Findings = finding.List{{Object: finding.Ref{Kind: "Gateway", Namespace: "a", Name: "g"}, Reason: finding.ParametersInvalid, Severity: finding.Error, Blocks: finding.BlocksMember, Message: "no configuration"}}
		s.writeReport()
		obj, _ := s.src.Get(cluster.Ref{Kind: cluster.KindListenerSet, Namespace: "a", Name: "part"})
		if got := conditionsText(obj.(*gwv1.ListenerSet).Status.Conditions); got != want {
			t.Errorf("%s: conditions %s", from, got)
		}
	}
}

// TestAttachedSetsAreNotReportedWithoutTheirKind checks that a Gateway has no number of ListenerSets if the API server does
// not serve them, because the CRD of Gateways may then lack the field, so that each run would write it again.
func TestAttachedSetsAreNotReportedWithoutTheirKind(t *testing.T) {
	s := newReportHarness(t, oneGatewayDocs)
	for _, p := range s.frontend.Report(cluster.NewView(sourceWithoutKinds{s.src, []cluster.Kind{cluster.KindListenerSet}}), s.outcome) {
		e, ok := p.(cluster.StatusEdit)
		if !ok || e.Ref.Kind != cluster.KindGateway {
			continue
		}
		fields := e.Edit(s.getGateway(), metav1.Time{}).(map[string]any)
		if n, written := fields["attachedListenerSets"]; written || fields["listeners"] == nil {
			t.Errorf("attachedListenerSets is %v in %v", n, fields)
		}
	}
}

// TestStatusOfSetsThatAnotherControllerServesStays checks that the status of a ListenerSet is reset when the class of its
// Gateway belongs to another controller, and that the status which that controller then writes stays, although the Gateway
// still has the finalizer of this controller.
func TestStatusOfSetsThatAnotherControllerServesStays(t *testing.T) {
	s := newReportHarness(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: other}
spec: {controllerName: example.com/other}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: g, finalizers: [gateway.k8s.aws/alb]}
spec:
  gatewayClassName: alb
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: web, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: a, name: part}
spec: {parentRef: {name: g}, listeners: [{name: l, port: 81, protocol: HTTP}]}
`)
	s.frontend.opt.AllowMassRemoval = true
	s.writeReport()
	conditions := func() []metav1.Condition {
		obj, _ := s.src.Get(cluster.Ref{Kind: cluster.KindListenerSet, Namespace: "a", Name: "part"})
		return obj.(*gwv1.ListenerSet).Status.Conditions
	}
	if got := findCondition(conditions(), "Accepted"); got.Status != metav1.ConditionTrue {
		t.Fatalf("conditions %s", conditionsText(conditions()))
	}
	s.editObject(cluster.KindGateway, "a", "g", `{"spec": {"gatewayClassName": "other"}}`)
	s.writeReport()
	if got := findCondition(conditions(), "Accepted"); got.Status != metav1.ConditionUnknown {
		t.Fatalf("conditions %s", conditionsText(conditions()))
	}
	s.editObject(cluster.KindListenerSet, "a", "part", `{"status": {"conditions": [
		{"type": "Accepted", "status": "True", "reason": "Accepted", "message": "valid", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		{"type": "Programmed", "status": "True", "reason": "Programmed", "message": "ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`)
	if n := s.writeReport(); n != 0 || findCondition(conditions(), "Accepted").Message != "valid" {
		t.Errorf("%d writes, conditions %s", n, conditionsText(conditions()))
	}
}
