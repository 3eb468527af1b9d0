package model_test

import (
	"math/rand/v2"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestMatchingBeginsWithTheRuleThatAnswers checks that Matching returns exactly the rules that answer a request if there is
// no other rule, and that the first of them is the rule that Evaluate returns.
func TestMatchingBeginsWithTheRuleThatAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	for range 2000 {
		var rules []model.Rule
		for range rng.IntN(6) {
			r := model.Rule{Conditions: []model.Condition{model.HostHeader{Values: []string{pick("a.io", "*.io", "b.io")}}}}
			if rng.IntN(2) == 0 {
				r.Conditions = append(r.Conditions, model.PathPattern{Values: []string{pick("/*", "/x", "/x/*")}})
			}
			if rng.IntN(3) == 0 {
				r.Conditions = append(r.Conditions, model.RequestMethod{Values: []string{"POST"}})
			}
			rules = append(rules, r)
		}
		req := model.Request{Host: pick("a.io", "b.io", "c.org"), Path: pick("/", "/x", "/x/y"), Method: pick("GET", "POST")}
		all := model.MatchingRules(rules, req)
		first, ok := model.FirstMatchingRule(rules, req)
		if ok != (len(all) > 0) || ok && all[0] != first {
			t.Fatalf("%+v: %d, %v; matching %v", req, first, ok, all)
		}
		in := map[int]bool{}
		for _, i := range all {
			in[i] = true
		}
		for i := range rules {
			if _, alone := model.FirstMatchingRule(rules[i:i+1], req); alone != in[i] {
				t.Fatalf("%+v: rule %d alone %v, matching %v", req, i, alone, all)
			}
		}
	}
}
