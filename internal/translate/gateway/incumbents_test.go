package gateway

import (
	"strings"
	"testing"

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
