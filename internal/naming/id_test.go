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
