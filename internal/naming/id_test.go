package naming_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

func TestTargetGroupIDsHaveFewPossibleBackendNamespaces(t *testing.T) {
	of := func(backend string) []string {
		namespace, name, _ := strings.Cut(backend, "/")
		return naming.BackendNamespaces(naming.GatewayTargetGroupID(finding.Ref{Kind: "Gateway", Namespace: "infra", Name: "gate"},
			finding.Ref{Kind: "HTTPRoute", Namespace: "a-b", Name: "c"}, finding.Ref{Kind: "Service", Namespace: namespace, Name: name}, "http"))
	}
	for backend, want := range map[string][]string{
		"shop/web": {"shop"}, "shop-a/web": {"shop", "shop-a"}, "shop/web-1": {"shop", "shop-web"},
		strings.Repeat("x", 63) + "/" + strings.Repeat("y", 250): nil, // a hash of the id
	} {
		if got := of(backend); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", backend, got, want)
		}
	}
	for _, id := range []string{"", "shop/web-web:80", "a:b:c:d", "a:b:HTTPRoute-:80"} {
		if got := naming.BackendNamespaces(id); len(got) > 0 {
			t.Errorf("%q: %v", id, got)
		}
	}
}

// TestShortenedIDsNameTheirObjects checks that an id that is too long for a tag still names its object, whether the name or
// only its end is cut off, and no object of another namespace.
func TestShortenedIDsNameTheirObjects(t *testing.T) {
	gate := ref("Gateway", "infra/gate")
	for n := 1; n <= 253; n++ {
		name := strings.Repeat("a", n)
		ing, route := ref("Ingress", "ns/"+name), ref("HTTPRoute", "ns/"+name)
		ofIngress := naming.IngressTargetGroupID("ns", name, "svc", "80")
		ofRoute := naming.GatewayTargetGroupID(gate, route, ref("Service", "ns/svc"), "80")
		for _, distinct := range []bool{false, true} {
			if distinct {
				ofIngress, ofRoute = naming.DistinctID(ofIngress, "x"), naming.DistinctID(ofRoute, "x")
			}
			if !naming.IsTargetGroupOf(ofIngress, ing) || naming.IsTargetGroupOf(ofIngress, ref("Ingress", "other/"+name)) {
				t.Errorf("Ingress with %d letters, distinct %v: %s", n, distinct, ofIngress)
			}
			if !naming.IsTargetGroupOf(ofRoute, route) || naming.IsTargetGroupOf(ofRoute, ref("HTTPRoute", "other/"+name)) {
				t.Errorf("route with %d letters, distinct %v: %s", n, distinct, ofRoute)
			}
			if !naming.TargetGroupMayBeOfRoute(ofRoute, gate, route) || naming.TargetGroupMayBeOfRoute(ofRoute, gate, ref("HTTPRoute", "other/"+name)) {
				t.Errorf("route with %d letters, distinct %v: %s", n, distinct, ofRoute)
			}
		}
	}
}

// TestShortenedIDsNameNamespacesOfTheirServices checks which namespaces may have the Service of a target group, according to
// an id that was shortened in its route or in its backend.
func TestShortenedIDsNameNamespacesOfTheirServices(t *testing.T) {
	gate := ref("Gateway", "infra/gate")
	for n := 150; n <= 253; n++ {
		route, backend := ref("HTTPRoute", "team/"+strings.Repeat("a", n)), ref("Service", "team/"+strings.Repeat("b", 60))
		id := naming.GatewayTargetGroupID(gate, route, backend, "80")
		if !naming.TargetGroupMayServeNamespace(id, "team") || naming.TargetGroupMayServeNamespace(id, "other") {
			t.Errorf("route with %d letters: %s", n, id)
		}
	}
}
