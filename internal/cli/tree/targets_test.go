package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
)

// TestTargetsAreComparedWithEndpoints checks the comparison of targets with the endpoints of the Service: an endpoint that
// is not registered is "missing", a registered target without an endpoint is "surplus", and a draining target is neither.
func TestTargetsAreComparedWithEndpoints(t *testing.T) {
	h := observed.Health{Targets: []*observed.Target{
		{ID: "10.0.0.1", Port: 80, State: "healthy"}, {ID: "10.0.0.2", Port: 80, State: "draining"},
		{ID: "10.0.0.3", Port: 80, State: "healthy"}, {ID: "10.0.0.4", Port: 80, State: "draining"},
	}}
	endpoints := []targets.Endpoint{{ID: "10.0.0.1", Port: 80}, {ID: "10.0.0.2", Port: 80}, {ID: "10.0.0.2", Port: 80}}
	var got []string
	for _, x := range compareTargets(h, endpoints, true) {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", x.ID, x.State, x.Compared)))
	}
	want := []string{"10.0.0.1 healthy", "10.0.0.2 draining", "10.0.0.2 not registered missing", "10.0.0.3 healthy surplus", "10.0.0.4 draining"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestEndpointsOfSharedTargetGroupsAreUnknown checks that the endpoints of a target group with two TargetGroupBindings are
// unknown, also if the endpoints of one of them cannot be determined.
func TestEndpointsOfSharedTargetGroupsAreUnknown(t *testing.T) {
	binding := func(name, service, arn string) string {
		return fmt.Sprintf(`---
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: %s, namespace: shop}
spec: {targetGroupARN: %s, targetType: ip, serviceRef: {name: %s, port: 80}}
`, name, arn, service)
	}
	store := enginetest.LoadObjects(t, `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}]}
`+binding("single", "web", "one")+binding("a", "missing", "shared")+binding("b", "web", "shared")+binding("c", "web", "both")+binding("d", "web", "both"))
	got := EndpointsByTargetGroup(store, config.Default())
	if _, ok := got["one"]; len(got) != 1 || !ok {
		t.Errorf("the endpoints of %v are known; want only those of target group one", got)
	}
}

// TestTargetsOfOtherOwnersAreNotCounted checks that get does not know the number of targets of a load balancer that also
// forwards to a target group of another owner, which was not read.
func TestTargetsOfOtherOwnersAreNotCounted(t *testing.T) {
	groups := []TargetGroup{{comparison: comparison{ARN: "own"}, Targets: []Target{{ID: "10.0.0.1", Port: 80, State: "healthy"}}}}
	for _, tc := range []struct {
		forwards map[string]bool
		known    bool
	}{{map[string]bool{"own": true}, true}, {map[string]bool{"own": true, "other": true}, false}, {map[string]bool{"other": true}, false}, {nil, true}} {
		if _, _, known := countTargets(groups, tc.forwards); known != tc.known {
			t.Errorf("forwards to %v: known %v, want %v", tc.forwards, known, tc.known)
		}
	}
}
