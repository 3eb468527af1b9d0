package model

import (
	"math/rand/v2"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// TestAnUnreachableRuleGetsNoRequest checks with random rules that a rule that UnreachableRules returns answers no request.
func TestAnUnreachableRuleGetsNoRequest(t *testing.T) {
	hosts := []string{"", "a.test", "b.test", "*.test", "x.a.test", "*.a.test", "?.test"}
	paths := []string{"", "/", "/*", "/a", "/a/*", "/a*", "/a/b", "/a/b/*", "/a?", "*"}
	reported := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		pick := func(of []string) string { return of[r.IntN(len(of))] }
		var rules []Rule
		for i := range 2 + r.IntN(6) {
			rule := Rule{Member: finding.Ref{Kind: "Ingress", Namespace: "n", Name: string(rune('a' + i%3))}, Origin: finding.Origin{Field: string(rune('0' + i))}}
			if h := pick(hosts); h != "" {
				rule.Conditions = append(rule.Conditions, HostHeader{Values: []string{h}})
			}
			if p := pick(paths); p != "" {
				rule.Conditions = append(rule.Conditions, PathPattern{Values: []string{p, pick(paths[1:])}})
			}
			if r.IntN(5) == 0 {
				rule.Conditions = append(rule.Conditions, RequestMethod{Values: []string{"GET"}})
			}
			rules = append(rules, rule)
		}
		dead := map[string]bool{}
		for _, c := range UnreachableRules(rules) {
			dead[rules[c.Rule].Origin.Field] = true
			reported++
		}
		for _, h := range []string{"a.test", "b.test", "x.a.test", "y.x.a.test", "z", "c.test"} {
			for _, p := range []string{"/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/c", "/aa"} {
				for _, m := range []string{"GET", "PUT"} {
					if i, ok := FirstMatchingRule(rules, Request{Host: h, Path: p, Method: m}); ok && dead[rules[i].Origin.Field] {
						t.Fatalf("seed %d: %s %s%s is answered by rule %d, which is reported as unreachable: %+v", seed, m, h, p, i, rules)
					}
				}
			}
		}
	}
	if reported < 500 {
		t.Errorf("only %d rules were reported; too few for this test", reported)
	}
}

// TestUnreachableRulesAreFound checks for pairs of rules whether UnreachableRules returns the second rule. It must do so if
// the first one has the same conditions, a wider path or a wildcard host, unless it is a redirect of the same member.
func TestUnreachableRulesAreFound(t *testing.T) {
	rule := func(member, host, path string) Rule {
		r := Rule{Member: finding.Ref{Kind: "Ingress", Name: member}, Conditions: []Condition{PathPattern{Values: []string{path}}}}
		if host != "" {
			r.Conditions = append(r.Conditions, HostHeader{Values: []string{host}})
		}
		return r
	}
	of := func(r Rule, field string) Rule { r.Origin.Field = field; return r }
	redirect := func(r Rule) Rule { r.Actions = []Action{Redirect{Protocol: "HTTPS"}}; return r }
	for name, c := range map[string]struct {
		front, behind Rule
		want          bool
	}{
		"the same conditions":     {rule("a", "H.test", "/x"), rule("b", "h.test", "/x"), true},
		"a path below":            {rule("a", "h.test", "/x/*"), rule("b", "h.test", "/x/y/*"), true},
		"a host below a wildcard": {rule("a", "*.test", "/*"), rule("b", "h.test", "/x"), true},
		"any host":                {rule("a", "", "/x*"), rule("b", "h.test", "/x/y"), true},
		"a longer path":           {rule("a", "h.test", "/x/*"), rule("b", "h.test", "/x"), false},
		"another host":            {rule("a", "h.test", "/*"), rule("b", "g.test", "/*"), false},
		"a wider host":            {rule("a", "h.test", "/*"), rule("b", "*.test", "/*"), false},
		"its own rule":            {rule("a", "h.test", "/*"), of(rule("a", "h.test", "/x"), "two"), true},
		"the same field":          {rule("a", "h.test", "/*"), rule("a", "h.test", "/x"), false},
		"its own redirect":        {redirect(rule("a", "h.test", "/*")), of(rule("a", "h.test", "/x"), "two"), false},
		"a redirect of another":   {redirect(rule("a", "h.test", "/*")), rule("b", "h.test", "/x"), true},
	} {
		found := UnreachableRules([]Rule{c.front, c.behind})
		if got := len(found) == 1 && found[0] == (UnreachableRule{Rule: 1, CoveredBy: 0}); got != c.want {
			t.Errorf("%s: %v", name, found)
		}
	}
}
