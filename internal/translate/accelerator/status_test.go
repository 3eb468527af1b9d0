package accelerator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestConditionNamesEveryLeftOutEndpoint checks that the message of condition EndpointsLoaded names every endpoint that is
// left out, even if the reasons do not all fit into the message.
func TestConditionNamesEveryLeftOutEndpoint(t *testing.T) {
	var n desiredStatus
	for g := range 2 {
		for e := range 10 {
			n.leftOutFindings = append(n.leftOutFindings, finding.Finding{
				Field:  fmt.Sprintf("spec.listeners[0].endpointGroups[%d].endpoints[%d]", g, e),
				Reason: finding.EndpointNotFound, Message: strings.Repeat("long ", 30),
			})
		}
	}
	got := finding.Truncate(n.leftOutText(), maxMessageLength)
	for _, want := range []string{
		"20 endpoints are left out: spec.listeners[0].endpointGroups[0].endpoints[0,1,2,3,4,5,6,7,8,9], spec.listeners[0].endpointGroups[1].endpoints[0,1,2,3,4,5,6,7,8,9]. ",
		"]. spec.listeners[0].endpointGroups[0].endpoints[0]: long",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	n.leftOutFindings = n.leftOutFindings[:1]
	if got, want := n.leftOutText(), n.leftOutFindings[0].TextWithField(); got != want {
		t.Errorf("one endpoint: %s, want %s", got, want)
	}
}

// TestEveryLeftOutEndpointIsInTheCondition checks that condition EndpointsLoaded reports an endpoint whatever the reason is
// for which it is left out, and not a fault of the accelerator.
func TestEveryLeftOutEndpointIsInTheCondition(t *testing.T) {
	tr := &translation{}
	builder := endpointBuilder{tr}
	for _, reason := range []finding.Reason{
		finding.EndpointNotFound, finding.EndpointNotReady, finding.EndpointElsewhere, finding.ReferenceNotPermitted, finding.Unsupported, finding.SpecInvalid,
	} {
		builder.reportLeftOut(model.Endpoint{}, reason, "reason "+string(reason), "")
	}
	tr.reportFault("spec.name", finding.SpecInvalid, finding.Error, "wrong name", "")
	got := statusOf(engine.Outcome{Findings: tr.found}, &aga.GlobalAccelerator{})
	if len(got.leftOutFindings) != 6 || got.reason != reasonBuildFailed {
		t.Errorf("left out: %v, ready: %s", got.leftOutFindings, got.reason)
	}
}

// TestReadyNamesUnknownPorts checks that, while protocol and ports are not known, condition Ready does not say that AWS
// deploys an accelerator that does not exist.
func TestReadyNamesUnknownPorts(t *testing.T) {
	pending := engine.Outcome{Stack: model.Stack{Accelerator: &model.Accelerator{Held: true, Pending: true}}}
	missing := engine.Outcome{Stack: model.Stack{Accelerator: &model.Accelerator{Held: true}}, Findings: finding.List{
		{Field: "spec.listeners[0].endpointGroups[0].endpoints[0]", Reason: finding.EndpointNotFound, Severity: finding.Warning},
	}}
	for name, out := range map[string]engine.Outcome{"no load balancer yet": pending, "load balancer is not found": missing} {
		got := statusOf(out, &aga.GlobalAccelerator{})
		if got.ready != metav1.ConditionUnknown || !strings.HasPrefix(got.message, "protocol and ports are not known") {
			t.Errorf("%s: %s %s", name, got.ready, got.message)
		}
	}
}

// TestStatusOfMissingAcceleratorHasNoAddresses checks that all names and addresses are removed from the status of a guest when
// the accelerator of the other owner does not exist any more.
func TestStatusOfMissingAcceleratorHasNoAddresses(t *testing.T) {
	out := engine.Outcome{Done: true, Stack: model.Stack{Accelerator: &model.Accelerator{Shared: "arn"}}}
	ga := &aga.GlobalAccelerator{Status: aga.GlobalAcceleratorStatus{
		DNSName: "a1", DualStackDNSName: "a1.dualstack", IPSets: []aga.IPSet{{IPAddressFamily: ipv4, IPAddresses: []string{"198.51.100.1"}}},
	}}
	text, err := json.Marshal(statusOf(out, ga).changedFields(ga.Status, metav1.Time{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"dnsName", "dualStackDnsName", "ipSets"} {
		if want := `"` + field + `":null`; !strings.Contains(string(text), want) {
			t.Errorf("the change %s lacks %s", text, want)
		}
	}
}
