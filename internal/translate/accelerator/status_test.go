package accelerator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
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
