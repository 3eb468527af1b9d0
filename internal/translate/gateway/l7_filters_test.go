package gateway

import (
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

// TestQueryOfARedirect checks that a redirect has the query of its ListenerRuleConfiguration as it is, except that the
// default value keeps the query of the request.
func TestQueryOfARedirect(t *testing.T) {
	for query, want := range map[string]model.Redirect{
		"#{query}":         {},
		"":                 {DropQuery: true},
		"a=b":              {Query: "a=b"},
		"#{query}&a=b":     {Query: "#{query}&a=b"},
		"a=b&#{query}&c=d": {Query: "a=b&#{query}&c=d"},
	} {
		f := &gwv1.HTTPRequestRedirectFilter{Hostname: new(gwv1.PreciseHostname("other.example.com"))}
		to, _, fault := redirectOf(f, &port{Port: &members.Port{Number: 80}}, "", &match{path: prefixPath, value: "/"}, &query)
		if want.Host, want.Status = "other.example.com", "HTTP_302"; fault != nil || to != want {
			t.Errorf("query %q: %+v, want %+v (%v)", query, to, want, fault)
		}
	}
}

// TestRedirectOfPrefixNamesHost checks that a redirect that changes only the prefix of the path has the exact hostname of
// its rule, because AWS refuses a redirect that keeps protocol, host, port and path. Without one it is a fault.
func TestRedirectOfPrefixNamesHost(t *testing.T) {
	path := &gwv1.HTTPPathModifier{Type: gwv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: new("/new")}
	for host, want := range map[string]string{"shop.example.com": "shop.example.com", "*.example.com": "", "": ""} {
		for _, number := range []*gwv1.PortNumber{nil, new(gwv1.PortNumber(80))} {
			f := &gwv1.HTTPRequestRedirectFilter{Path: path, Port: number}
			to, _, fault := redirectOf(f, &port{Port: &members.Port{Number: 80}}, host, &match{path: prefixPath, value: "/old"}, nil)
			if to.Host != want || (fault == nil) != (want != "") {
				t.Errorf("host %q, port %v: %+v, %+v", host, number, to, fault)
			}
		}
	}
}
