package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestTargetsAreComparedWithEndpoints checks that targets are compared with the endpoints of the Service: an endpoint that
// is not registered is "missing", a registered target without an endpoint is "surplus", and a draining target is neither.
func TestTargetsAreComparedWithEndpoints(t *testing.T) {
	h := observed.Health{Targets: []*observed.Target{
		{ID: "10.0.0.1", Port: 80, State: "healthy"}, {ID: "10.0.0.2", Port: 80, State: "draining"},
		{ID: "10.0.0.3", Port: 80, State: "healthy"}, {ID: "10.0.0.4", Port: 80, State: "draining"},
	}}
	endpoints := []targets.Endpoint{{ID: "10.0.0.1", Port: 80}, {ID: "10.0.0.2", Port: 80}, {ID: "10.0.0.2", Port: 80}}
	var got []string
	for _, x := range compareTargets(h, endpoints) {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", x.ID, x.State, x.Compared)))
	}
	want := []string{"10.0.0.1 healthy", "10.0.0.2 draining", "10.0.0.2 not registered missing", "10.0.0.3 healthy surplus", "10.0.0.4 draining"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
