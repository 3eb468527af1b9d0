package gateway

import (
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestOwnerOfAmbiguousTargetGroupIsDeterminedOnce checks that the names of all routes and backends that an id may name are
// generated only once for a target group. The translation asks for its owner for each conflicting listener and rule.
func TestOwnerOfAmbiguousTargetGroupIsDeterminedOnce(t *testing.T) {
	m, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	many := func(n int) string { return strings.Repeat("a-", n) + "a" }
	route := finding.Ref{Kind: "HTTPRoute", Namespace: many(30), Name: many(24)}
	gw, backend := finding.Ref{Namespace: "a", Name: "g"}, finding.Ref{Namespace: route.Namespace, Name: many(19)}
	g := &observed.TargetGroup{ARN: "arn", ResourceID: naming.GatewayTargetGroupID(gw, route, backend, "80"), Name: "k8s-aaaaaaaa-aaaaaaaa-0123456789"}
	tr := &translation{view: cluster.NewView(m)}
	tr.Live, tr.ID = &observed.Stack{}, model.StackID{Kind: model.ALBGateway, Namespace: gw.Namespace, Name: gw.Name}
	if n := testing.AllocsPerRun(10, func() { observedRoutes{tr}.isCreatedFor(g, route) }); n > 5000 {
		t.Errorf("%v allocations for each further question", n)
	}
}

// TestNewerBindingShowsNoOwner checks that a target group with a configured name and an ambiguous id belongs to the route in
// the namespace of its oldest TargetGroupBinding. A tenant can add a binding of its own where no webhook denies it.
func TestNewerBindingShowsNoOwner(t *testing.T) {
	m, err := cluster.MemoryFromYAML(nil, []byte(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: c, namespace: a-b}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: b-c, namespace: a}
`))
	if err != nil {
		t.Fatal(err)
	}
	victim, evil := finding.Ref{Kind: "HTTPRoute", Namespace: "a-b", Name: "c"}, finding.Ref{Kind: "HTTPRoute", Namespace: "a", Name: "b-c"}
	id := naming.GatewayTargetGroupID(finding.Ref{Namespace: "shop", Name: "edge"}, victim, finding.Ref{Namespace: "a-b", Name: "s"}, "80")
	bound := func(namespace, service string, created int64) observed.Binding {
		return observed.Binding{Namespace: namespace, ARN: "arn", Service: model.Binding{Service: service}, Created: time.Unix(created, 0)}
	}
	tr := &translation{view: cluster.NewView(m)}
	tr.Live = &observed.Stack{Bindings: []observed.Binding{bound("a", "b-s", 2), bound("a-b", "s", 1)}}
	g := &observed.TargetGroup{ARN: "arn", ResourceID: id, Name: "configured"}
	if live := (observedRoutes{tr}); !live.isCreatedFor(g, victim) || live.isCreatedFor(g, evil) {
		t.Errorf("created for the victim: %v, for the other route: %v", live.isCreatedFor(g, victim), live.isCreatedFor(g, evil))
	}
}
