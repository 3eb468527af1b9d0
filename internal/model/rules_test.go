package model_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func hostCondition(values ...string) model.Condition { return model.HostHeader{Values: values} }
func pathCondition(values ...string) model.Condition { return model.PathPattern{Values: values} }

var (
	redirectToHTTPS = model.Redirect{Protocol: "HTTPS", Port: "443", Status: "HTTP_301"}
	forwardToWeb    = model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: "web"}}}}
)

func newRule(name string, then model.Action, conditions ...model.Condition) model.Rule {
	r := model.Rule{Conditions: conditions, Actions: []model.Action{then}}
	r.Origin.Field = name
	return r
}

func ruleNames(rules []model.Rule) string {
	var out []string
	for _, r := range rules {
		out = append(out, r.Origin.Field)
	}
	return strings.Join(out, " ")
}

func TestOptimizeRules(t *testing.T) {
	held := newRule("held", nil, pathCondition("/*"))
	held.Held, held.Actions = model.HeldInvalid, nil
	auth := newRule("auth", redirectToHTTPS, pathCondition("/*"))
	auth.Actions = []model.Action{model.AuthCognito{}, redirectToHTTPS}
	regexHost := model.HostHeader{Regex: []string{"^a.*$"}}
	secure := &model.TLS{}
	to := func(change func(*model.Redirect)) model.Redirect {
		r := redirectToHTTPS
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
		{"redirect to HTTPS on the HTTP port", 80, nil, rules{newRule("ssl", redirectToHTTPS, pathCondition("/*")), newRule("web", forwardToWeb, pathCondition("/*"))}, "ssl"},
		{"redirect to HTTPS on the HTTPS port", 443, secure, rules{newRule("ssl", redirectToHTTPS, pathCondition("/*")), newRule("web", forwardToWeb, pathCondition("/*"))}, "web"},
		{"redirect to HTTPS on another HTTPS port", 8443, secure, rules{newRule("ssl", redirectToHTTPS, pathCondition("/*"))}, "ssl"},
		{"all written out as placeholders", 80, nil, rules{newRule("loop", model.Redirect{Host: "#{host}", Path: "/#{path}", Port: "#{port}", Protocol: "#{protocol}", Query: "#{query}"}, hostCondition("a"))}, ""},
		{"another query", 443, secure, rules{newRule("r", to(func(r *model.Redirect) { r.Query = "a=b" }), pathCondition("/*"))}, "r"},
		{"no query", 443, secure, rules{newRule("r", to(func(r *model.Redirect) { r.DropQuery = true }), pathCondition("/*"))}, "r"},
		{"to one of its hosts", 443, secure, rules{newRule("r", to(func(r *model.Redirect) { r.Host = "a" }), hostCondition("a", "b"))}, ""},
		{"to another host", 443, secure, rules{newRule("r", to(func(r *model.Redirect) { r.Host = "c" }), hostCondition("a", "b"))}, "r"},
		{"to one of its paths", 443, secure, rules{newRule("r", to(func(r *model.Redirect) { r.Path = "/foo" }), pathCondition("/foo", "/foo/*"))}, ""},
		{"paths by regex are never a loop", 443, secure, rules{newRule("r", redirectToHTTPS, model.PathPattern{Regex: []string{"^/a"}})}, "r"},
		{"authentication before it makes no difference", 443, secure, rules{auth}, ""},
		{"forwards shadow nothing", 80, nil, rules{newRule("a", forwardToWeb, pathCondition("/*")), newRule("b", forwardToWeb, pathCondition("/*"))}, "a b"},
		{"no conditions cover all", 80, nil, rules{newRule("r", redirectToHTTPS), newRule("b", forwardToWeb, hostCondition("b"), pathCondition("/x"))}, "r"},
		{"hosts have to be covered", 80, nil, rules{newRule("r", redirectToHTTPS, hostCondition("a", "b")), newRule("a", forwardToWeb, hostCondition("a")), newRule("c", forwardToWeb, hostCondition("a", "c")), newRule("all", forwardToWeb, pathCondition("/*"))}, "r c all"},
		{"paths have to be covered", 80, nil, rules{newRule("r", redirectToHTTPS, pathCondition("/a", "/b")), newRule("a", forwardToWeb, pathCondition("/a")), newRule("sub", forwardToWeb, pathCondition("/a/*")), newRule("all", forwardToWeb, hostCondition("h"))}, "r sub all"},
		{"a wildcard that only looks wide", 80, nil, rules{newRule("r", redirectToHTTPS, pathCondition("/a*")), newRule("a", forwardToWeb, pathCondition("/ab"))}, "r a"},
		{"other conditions of the redirect", 80, nil, rules{newRule("r", redirectToHTTPS, pathCondition("/*"), model.RequestMethod{Values: []string{"GET"}}), newRule("a", forwardToWeb, pathCondition("/*"))}, "r a"},
		{"other conditions of the later rule", 80, nil, rules{newRule("r", redirectToHTTPS, pathCondition("/*")), newRule("a", forwardToWeb, pathCondition("/*"), model.RequestMethod{Values: []string{"GET"}})}, "r"},
		{"a dropped redirect shadows nothing", 443, secure, rules{newRule("r", redirectToHTTPS, pathCondition("/*")), newRule("a", forwardToWeb, pathCondition("/*"))}, "a"},
		{"hosts by regex do not cover others", 80, nil, rules{newRule("r", redirectToHTTPS, regexHost, pathCondition("/*")), newRule("a", forwardToWeb, pathCondition("/*")), newRule("same", forwardToWeb, regexHost)}, "r a"},
		{"a regex is not a text", 80, nil, rules{newRule("r", redirectToHTTPS, pathCondition("/a")), newRule("a", forwardToWeb, model.PathPattern{Regex: []string{"/a"}})}, "r a"},
		{"held rules stay", 80, nil, rules{newRule("r", redirectToHTTPS, pathCondition("/*")), held}, "r held"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ruleNames(model.OptimizeRules(model.Listener{Port: tt.port, TLS: tt.tls, Rules: tt.rules}, model.RegexHostsCoverThemselves))
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
		{hostCondition("shop.EXAMPLE.com"), true},
		{hostCondition("*.example.com"), true},
		{hostCondition("example.com", "*.com"), true},
		{hostCondition("*.shop.example.com"), false},
		{model.HostHeader{Regex: []string{"^shop"}}, true},
		{pathCondition("/img/*"), true},
		{pathCondition("/img"), false},
		{pathCondition("/IMG/*"), false},
		{pathCondition("/img/?/b"), true},
		{pathCondition("/img/a/b?"), false},
		{pathCondition("/img/a/b*"), true},
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
			if _, got := model.FirstMatchingRule([]model.Rule{newRule("r", forwardToWeb, tt.condition)}, get); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if i, ok := model.FirstMatchingRule([]model.Rule{newRule("no", forwardToWeb, hostCondition("x")), newRule("yes", forwardToWeb, hostCondition("*"), pathCondition("/img/*")), newRule("later", forwardToWeb)}, get); !ok || i != 1 {
		t.Errorf("got %d, %v", i, ok)
	}
}

// Hosts and paths of random rules. There are only a few, so that rules often overlap.
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
		cs = append(cs, hostCondition(h...))
	}
	if p := pick(somePaths); len(p) > 0 {
		cs = append(cs, pathCondition(p...))
	}
	if r.IntN(5) == 0 {
		cs = append(cs, model.RequestMethod{Values: []string{"GET"}})
	}
	if r.IntN(2) == 0 {
		to := model.Redirect{Protocol: []string{"", "HTTPS", "#{protocol}"}[r.IntN(3)], Port: []string{"", "443", "80"}[r.IntN(3)]}
		if r.IntN(3) == 0 {
			to.Host = someHosts[r.IntN(2)]
		}
		return newRule(name, to, cs...)
	}
	return newRule(name, forwardToWeb, cs...)
}

// checkSameOutcome checks for random rules that the same rule answers each request before and after OptimizeRules, and that
// a second call removes no more rules. Redirects to their own URL are left out of the comparison, because OptimizeRules
// removes them.
func checkSameOutcome(t *testing.T, r *rand.Rand) {
	t.Helper()
	l := model.Listener{Port: 80}
	if r.IntN(2) == 0 {
		l.Port, l.TLS = 443, &model.TLS{}
	}
	for i := range 1 + r.IntN(8) {
		l.Rules = append(l.Rules, randomRule(r, fmt.Sprint(i)))
	}
	before := ruleNames(l.Rules)
	kept := model.OptimizeRules(l, model.RegexHostsCoverThemselves)
	if ruleNames(l.Rules) != before {
		t.Fatal("the listener was changed")
	}
	if d := cmp.Diff(ruleNames(kept), ruleNames(model.OptimizeRules(model.Listener{Port: l.Port, TLS: l.TLS, Rules: kept}, model.RegexHostsCoverThemselves))); d != "" {
		t.Fatalf("a second time, -want +got\n%s", d)
	}
	var counted []model.Rule // all rules except redirects to their own URL, which are found one by one
	for _, rule := range l.Rules {
		counted = append(counted, model.OptimizeRules(model.Listener{Port: l.Port, TLS: l.TLS, Rules: []model.Rule{rule}}, model.RegexHostsCoverThemselves)...)
	}
	for _, h := range []string{"a.com", "b.com", "c.com", "d.org"} {
		for _, p := range []string{"/", "/a", "/a/x", "/b", "/c"} {
			for _, m := range []string{"GET", "PUT"} {
				req := model.Request{Host: h, Path: p, Method: m}
				if want, got := answeringRuleName(counted, req), answeringRuleName(kept, req); want != got {
					t.Fatalf("%v: rule %q before and %q after, of\n%v", req, want, got, l.Rules)
				}
			}
		}
	}
}

func answeringRuleName(rules []model.Rule, r model.Request) string {
	if i, ok := model.FirstMatchingRule(rules, r); ok {
		return rules[i].Origin.Field
	}
	return "default"
}

func TestOptimizeRulesChangesNoOutcome(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		checkSameOutcome(t, r)
	}
}

func FuzzOptimizeChangesNoOutcome(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { checkSameOutcome(t, rand.New(rand.NewPCG(a, b))) })
}

func FuzzTextMatchesPatternsMadeFromIt(f *testing.F) {
	f.Add("a.com", 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if cut < 0 || cut > len(text) || strings.ContainsAny(text, "*?") {
			return
		}
		for _, p := range []string{text, text[:cut] + "*", "*" + text[cut:], text[:cut] + "*" + text[cut:], "*"} {
			if _, ok := model.FirstMatchingRule([]model.Rule{newRule("r", forwardToWeb, pathCondition(p))}, model.Request{Path: text}); !ok {
				t.Errorf("%q does not fit %q", text, p)
			}
		}
	})
}
