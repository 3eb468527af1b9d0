package model_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func host(values ...string) model.Condition { return model.HostHeader{Values: values} }
func path(values ...string) model.Condition { return model.PathPattern{Values: values} }

var (
	toHTTPS = model.Redirect{Protocol: "HTTPS", Port: "443", Status: "HTTP_301"}
	forward = model.Forward{Groups: []model.WeightedGroup{{Group: model.GroupRef{ID: "web"}}}}
)

func rule(name string, then model.Action, conditions ...model.Condition) model.Rule {
	r := model.Rule{Conditions: conditions, Actions: []model.Action{then}}
	r.Origin.Field = name
	return r
}

func names(rules []model.Rule) string {
	var out []string
	for _, r := range rules {
		out = append(out, r.Origin.Field)
	}
	return strings.Join(out, " ")
}

func TestOptimize(t *testing.T) {
	held := rule("held", nil, path("/*"))
	held.Held, held.Actions = model.HeldInvalid, nil
	auth := rule("auth", toHTTPS, path("/*"))
	auth.Actions = []model.Action{model.AuthCognito{}, toHTTPS}
	regexHost := model.HostHeader{Regex: []string{"^a.*$"}}
	secure := &model.TLS{}
	to := func(change func(*model.Redirect)) model.Redirect {
		r := toHTTPS
		change(&r)
		return r
	}
	type rules = []model.Rule
	tests := []struct {
		name  string
		port  int32
		tls   *model.TLS
		rules rules
		want  string
	}{
		{"redirect to HTTPS on the HTTP port", 80, nil, rules{rule("ssl", toHTTPS, path("/*")), rule("web", forward, path("/*"))}, "ssl"},
		{"redirect to HTTPS on the HTTPS port", 443, secure, rules{rule("ssl", toHTTPS, path("/*")), rule("web", forward, path("/*"))}, "web"},
		{"redirect to HTTPS on another HTTPS port", 8443, secure, rules{rule("ssl", toHTTPS, path("/*"))}, "ssl"},
		{"all written out as placeholders", 80, nil, rules{rule("loop", model.Redirect{Host: "#{host}", Path: "/#{path}", Port: "#{port}", Protocol: "#{protocol}", Query: "#{query}"}, host("a"))}, ""},
		{"another query", 443, secure, rules{rule("r", to(func(r *model.Redirect) { r.Query = "a=b" }), path("/*"))}, "r"},
		{"no query", 443, secure, rules{rule("r", to(func(r *model.Redirect) { r.DropQuery = true }), path("/*"))}, "r"},
		{"to one of its hosts", 443, secure, rules{rule("r", to(func(r *model.Redirect) { r.Host = "a" }), host("a", "b"))}, ""},
		{"to another host", 443, secure, rules{rule("r", to(func(r *model.Redirect) { r.Host = "c" }), host("a", "b"))}, "r"},
		{"to one of its paths", 443, secure, rules{rule("r", to(func(r *model.Redirect) { r.Path = "/foo" }), path("/foo", "/foo/*"))}, ""},
		{"paths by regex are never a loop", 443, secure, rules{rule("r", toHTTPS, model.PathPattern{Regex: []string{"^/a"}})}, "r"},
		{"authentication before it makes no difference", 443, secure, rules{auth}, ""},
		{"forwards shadow nothing", 80, nil, rules{rule("a", forward, path("/*")), rule("b", forward, path("/*"))}, "a b"},
		{"no conditions cover all", 80, nil, rules{rule("r", toHTTPS), rule("b", forward, host("b"), path("/x"))}, "r"},
		{"hosts have to be covered", 80, nil, rules{rule("r", toHTTPS, host("a", "b")), rule("a", forward, host("a")), rule("c", forward, host("a", "c")), rule("all", forward, path("/*"))}, "r c all"},
		{"paths have to be covered", 80, nil, rules{rule("r", toHTTPS, path("/a", "/b")), rule("a", forward, path("/a")), rule("sub", forward, path("/a/*")), rule("all", forward, host("h"))}, "r sub all"},
		{"a wildcard that only looks wide", 80, nil, rules{rule("r", toHTTPS, path("/a*")), rule("a", forward, path("/ab"))}, "r a"},
		{"other conditions of the redirect", 80, nil, rules{rule("r", toHTTPS, path("/*"), model.RequestMethod{Values: []string{"GET"}}), rule("a", forward, path("/*"))}, "r a"},
		{"other conditions of the later rule", 80, nil, rules{rule("r", toHTTPS, path("/*")), rule("a", forward, path("/*"), model.RequestMethod{Values: []string{"GET"}})}, "r"},
		{"a dropped redirect shadows nothing", 443, secure, rules{rule("r", toHTTPS, path("/*")), rule("a", forward, path("/*"))}, "a"},
		{"hosts by regex do not cover others", 80, nil, rules{rule("r", toHTTPS, regexHost, path("/*")), rule("a", forward, path("/*")), rule("same", forward, regexHost)}, "r a"},
		{"a regex is not a text", 80, nil, rules{rule("r", toHTTPS, path("/a")), rule("a", forward, model.PathPattern{Regex: []string{"/a"}})}, "r a"},
		{"held rules stay", 80, nil, rules{rule("r", toHTTPS, path("/*")), held}, "r held"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := names(model.Optimize(model.Listener{Port: tt.port, TLS: tt.tls, Rules: tt.rules}, model.RegexHostsCoverThemselves))
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEvaluate(t *testing.T) {
	get := model.Request{Host: "Shop.example.com", Path: "/img/a/b", Method: "GET", Query: "v=1&Name=x*y", Client: "10.1.2.3", Header: []model.HeaderField{{"X-A", "one"}, {"x-a", "Two"}}}
	tests := []struct {
		condition model.Condition
		want      bool
	}{
		{host("shop.EXAMPLE.com"), true},
		{host("*.example.com"), true},
		{host("example.com", "*.com"), true},
		{host("*.shop.example.com"), false},
		{model.HostHeader{Regex: []string{"^shop"}}, true},
		{path("/img/*"), true},
		{path("/img"), false},
		{path("/IMG/*"), false},
		{path("/img/?/b"), true},
		{path("/img/a/b?"), false},
		{path("/img/a/b*"), true},
		{model.PathPattern{Regex: []string{"/a/"}}, true},
		{model.PathPattern{Regex: []string{"^/a/"}}, false},
		{model.PathPattern{Regex: []string{"("}}, false},
		{model.HTTPHeader{Name: "x-A", Values: []string{"two"}}, true},
		{model.HTTPHeader{Name: "x-b", Values: []string{"*"}}, false},
		{model.RequestMethod{Values: []string{"get"}}, false},
		{model.RequestMethod{Values: []string{"POST", "GET"}}, true},
		{model.QueryString{Pairs: []model.QueryPair{{"V", "1"}}}, true},
		{model.QueryString{Pairs: []model.QueryPair{{"", "x*"}}}, true},
		{model.QueryString{Pairs: []model.QueryPair{{"name", `x\*y`}}}, true},
		{model.QueryString{Pairs: []model.QueryPair{{"name", `x\?y`}}}, false},
		{model.SourceIP{CIDRs: []string{"192.168.0.0/16", "10.0.0.0/8"}}, true},
		{model.SourceIP{CIDRs: []string{"::/0"}}, false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%T%v", tt.condition, tt.condition), func(t *testing.T) {
			if _, got := model.Evaluate([]model.Rule{rule("r", forward, tt.condition)}, get); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if i, ok := model.Evaluate([]model.Rule{rule("no", forward, host("x")), rule("yes", forward, host("*"), path("/img/*")), rule("later", forward)}, get); !ok || i != 1 {
		t.Errorf("got %d, %v", i, ok)
	}
}

// hosts and paths of random rules; there are few, so that rules often overlap
var (
	someHosts = []string{"a.com", "b.com", "*.com"}
	somePaths = []string{"/", "/*", "/a", "/a/*", "/b"}
)

func randomRule(r *rand.Rand, name string) model.Rule {
	pick := func(from []string) []string {
		var out []string
		for _, s := range from {
			if r.IntN(3) == 0 {
				out = append(out, s)
			}
		}
		return out
	}
	var cs []model.Condition
	if h := pick(someHosts); len(h) > 0 {
		cs = append(cs, host(h...))
	}
	if p := pick(somePaths); len(p) > 0 {
		cs = append(cs, path(p...))
	}
	if r.IntN(5) == 0 {
		cs = append(cs, model.RequestMethod{Values: []string{"GET"}})
	}
	if r.IntN(2) == 0 {
		to := model.Redirect{Protocol: []string{"", "HTTPS", "#{protocol}"}[r.IntN(3)], Port: []string{"", "443", "80"}[r.IntN(3)]}
		if r.IntN(3) == 0 {
			to.Host = someHosts[r.IntN(2)]
		}
		return rule(name, to, cs...)
	}
	return rule(name, forward, cs...)
}

// checkSameOutcome checks that every request is answered by the same rule before and after Optimize. Redirects of a
// request to itself are not compared, because Optimize removes them.
func checkSameOutcome(t *testing.T, r *rand.Rand) {
	t.Helper()
	l := model.Listener{Port: 80}
	if r.IntN(2) == 0 {
		l.Port, l.TLS = 443, &model.TLS{}
	}
	for i := range 1 + r.IntN(8) {
		l.Rules = append(l.Rules, randomRule(r, fmt.Sprint(i)))
	}
	before := names(l.Rules)
	kept := model.Optimize(l, model.RegexHostsCoverThemselves)
	if names(l.Rules) != before {
		t.Fatal("the listener was changed")
	}
	if d := cmp.Diff(names(kept), names(model.Optimize(model.Listener{Port: l.Port, TLS: l.TLS, Rules: kept}, model.RegexHostsCoverThemselves))); d != "" {
		t.Fatalf("a second time, -want +got\n%s", d)
	}
	var counted []model.Rule // all rules except redirects to themselves, found one by one
	for _, rule := range l.Rules {
		counted = append(counted, model.Optimize(model.Listener{Port: l.Port, TLS: l.TLS, Rules: []model.Rule{rule}}, model.RegexHostsCoverThemselves)...)
	}
	for _, h := range []string{"a.com", "b.com", "c.com", "d.org"} {
		for _, p := range []string{"/", "/a", "/a/x", "/b", "/c"} {
			for _, m := range []string{"GET", "PUT"} {
				req := model.Request{Host: h, Path: p, Method: m}
				if want, got := outcome(counted, req), outcome(kept, req); want != got {
					t.Fatalf("%v: rule %q before and %q after, of\n%v", req, want, got, l.Rules)
				}
			}
		}
	}
}

func outcome(rules []model.Rule, r model.Request) string {
	if i, ok := model.Evaluate(rules, r); ok {
		return rules[i].Origin.Field
	}
	return "default"
}

func TestOptimizeChangesNoOutcome(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		checkSameOutcome(t, r)
	}
}

func FuzzOptimizeChangesNoOutcome(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { checkSameOutcome(t, rand.New(rand.NewPCG(a, b))) })
}

func FuzzWildcardsOfOwnText(f *testing.F) {
	f.Add("a.com", 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if cut < 0 || cut > len(text) || strings.ContainsAny(text, "*?") {
			return
		}
		for _, p := range []string{text, text[:cut] + "*", "*" + text[cut:], text[:cut] + "*" + text[cut:], "*"} {
			if _, ok := model.Evaluate([]model.Rule{rule("r", forward, path(p))}, model.Request{Path: text}); !ok {
				t.Errorf("%q does not fit %q", text, p)
			}
		}
	})
}
