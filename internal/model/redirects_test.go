package model

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// optimizeByComparingEachRedirect is a simple implementation of OptimizeRules without an index. It compares each rule with
// each earlier redirect.
func optimizeByComparingEachRedirect(l Listener, s Shadowing) []Rule {
	var kept, earlier []Rule
	for _, r := range l.Rules {
		target, isRedirect := redirectOf(r)
		switch {
		case r.Held != 0:
		case isRedirect && redirectsToItself(l, r, target):
			continue
		case slices.ContainsFunc(earlier, func(e Rule) bool { return shadows(e, r, s) }):
			continue
		case isRedirect:
			earlier = append(earlier, r)
		}
		kept = append(kept, r)
	}
	return kept
}

func TestOptimizeRulesEqualsComparisonWithEachRedirect(t *testing.T) {
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 7))
		some := func(from ...string) []string {
			out := make([]string, 0, 2)
			for range r.IntN(3) {
				out = append(out, from[r.IntN(len(from))])
			}
			return out
		}
		l := Listener{Port: 80}
		for range r.IntN(12) {
			rule := Rule{Actions: []Action{Forward{}}}
			if r.IntN(10) == 0 {
				rule.Held = HeldInvalid
			}
			if r.IntN(2) == 0 {
				rule.Actions = []Action{Redirect{Host: "x", Status: "HTTP_301"}}
			}
			if r.IntN(3) > 0 {
				rule.Conditions = append(rule.Conditions, HostHeader{Values: some("a", "b", "*.c")})
			}
			if r.IntN(8) == 0 {
				rule.Conditions = append(rule.Conditions, HostHeader{Regex: some("a", "d")})
			}
			if r.IntN(3) > 0 {
				rule.Conditions = append(rule.Conditions, PathPattern{Values: some("/*", "/a", "/b")})
			}
			if r.IntN(8) == 0 {
				rule.Conditions = append(rule.Conditions, PathPattern{Regex: some("/a", "/d")})
			}
			if r.IntN(12) == 0 {
				rule.Conditions = append(rule.Conditions, RequestMethod{Values: []string{"GET"}})
			}
			l.Rules = append(l.Rules, rule)
		}
		for _, s := range []Shadowing{RegexHostsCoverThemselves, RegexHostsCoverAll} {
			if want, got := optimizeByComparingEachRedirect(l, s), OptimizeRules(l, s); !reflect.DeepEqual(want, got) {
				t.Fatalf("seed %d: %d of %d rules are kept, want %d: %+v", seed, len(got), len(l.Rules), len(want), l.Rules)
			}
		}
	}
}
