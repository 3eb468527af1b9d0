package match_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/migrate/match"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Values of random conditions. There are only a few, so that different rules often match the same requests.
var (
	hosts   = []string{"", "", "a.com", "b.com", "*.com", "*.b.com", "x.b.com"}
	paths   = []string{"/", "/*", "/a", "/a/*", "/a/b", "/b/*", "*", "/a/b/*", "/?"}
	methods = []string{"GET", "POST"}
)

func randomConditions(r *rand.Rand) []model.Condition {
	var out []model.Condition
	if h := hosts[r.IntN(len(hosts))]; h != "" {
		out = append(out, model.HostHeader{Values: []string{h}})
	}
	p := paths[r.IntN(len(paths))]
	if r.IntN(4) == 0 {
		out = append(out, model.PathPattern{Values: []string{p, paths[r.IntN(len(paths))], paths[r.IntN(len(paths))]}})
	} else if r.IntN(2) == 0 {
		p = []string{"/a", "/b", "/a/b"}[r.IntN(3)]
		out = append(out, model.PathPattern{Values: []string{p, p + "/*"}})
	} else {
		out = append(out, model.PathPattern{Values: []string{p}})
	}
	switch r.IntN(8) {
	case 0:
		out = append(out, model.RequestMethod{Values: []string{methods[r.IntN(2)]}})
	case 1:
		out = append(out, model.HTTPHeader{Name: []string{"x", "X"}[r.IntN(2)], Values: []string{"1", "2"}[r.IntN(2):]})
	case 2:
		out = append(out, model.QueryString{Pairs: []model.QueryPair{{Key: "q", Value: "1"}}})
	case 3:
		out = append(out, model.SourceIP{CIDRs: []string{"10.0.0.0/8"}})
	}
	return out
}

// requests returns requests that distinguish all values of random conditions.
func requests() []model.Request {
	var out []model.Request
	for _, h := range []string{"a.com", "b.com", "x.b.com", "y.b.com", "c.com", "other"} {
		for _, p := range []string{"/", "/a", "/a/", "/a/b", "/a/b/c", "/b", "/b/x", "/c", "/ab"} {
			for _, m := range append(methods, "PUT") {
				for _, v := range []string{"", "1", "2"} {
					for _, q := range []string{"", "q=1"} {
						for _, from := range []string{"10.1.1.1", "192.0.2.1"} {
							r := model.Request{Host: h, Path: p, Method: m, Query: q, Client: from}
							if v != "" {
								r.Header = []model.HeaderField{{Name: "x", Value: v}}
							}
							out = append(out, r)
						}
					}
				}
			}
		}
	}
	return out
}

// TestArrangedRulesAnswerAlike arranges random rules. It checks that in the order of precedence of the Gateway API, with the
// routes of the owners in any order, each request gets the same answer as before, unless there are conflicts.
func TestArrangedRulesAnswerAlike(t *testing.T) {
	t.Parallel()
	n := 1500
	if testing.Short() {
		n = 300
	}
	all := requests()
	conflicts, added := 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		var before []model.Rule
		var rules []match.Rule
		for i := range 1 + r.IntN(7) {
			conditions := randomConditions(r)
			converted := match.FromConditions(conditions)
			if len(converted.Faults) > 0 {
				t.Fatalf("%v: %v", conditions, converted.Faults)
			}
			before = append(before, model.Rule{Conditions: conditions})
			for j, m := range converted.List {
				rules = append(rules, match.Rule{Match: m, Excluded: converted.Excluded[j], Answer: fmt.Sprint(r.IntN(3)), RuleIndex: i, Owner: fmt.Sprint(i / 3)})
			}
		}
		rules = append(rules, match.Rule{Match: match.AnyRequest, Answer: "default", RuleIndex: len(before), IsDefault: seed%2 == 0})
		answers := map[int]string{}
		for _, x := range rules {
			answers[x.RuleIndex] = cmp.Or(answers[x.RuleIndex], x.Answer)
		}
		for i := range rules {
			rules[i].Answer = answers[rules[i].RuleIndex]
		}
		out := match.Arrange(rules)
		conflicts += min(len(out.Conflicts), 1)
		for _, x := range out.Rules {
			if x.AddedBefore >= 0 {
				added++
			}
			for i, h := range x.Match.Headers {
				if slices.ContainsFunc(x.Match.Headers[:i], func(o match.Header) bool { return strings.EqualFold(o.Name, h.Name) }) {
					t.Fatalf("seed %d: %s names a header twice", seed, x.Match.Text())
				}
			}
		}
		routes := []string{"0", "1", "2", ""}
		r.Shuffle(len(routes), func(i, j int) { routes[i], routes[j] = routes[j], routes[i] })
		place := map[string]int{}
		for i, x := range routes {
			place[x] = i
		}
		sorted := slices.Clone(out.Rules)
		slices.SortStableFunc(sorted, func(a, b match.Rule) int {
			if a.IsDefault {
				return 1
			}
			if b.IsDefault {
				return -1
			}
			return cmp.Or(a.Compare(b.Match), cmp.Compare(place[a.Owner], place[b.Owner]))
		})
		var after []model.Rule
		for _, x := range sorted {
			after = append(after, model.Rule{Conditions: conditionsOf(x.Match)})
		}
		if len(out.Conflicts) > 0 {
			continue
		}
		for _, req := range all {
			want, got := "default", "default"
			if i, ok := model.FirstMatchingRule(before, req); ok {
				want = answers[i]
			}
			if i, ok := model.FirstMatchingRule(after, req); ok {
				got = sorted[i].Answer
			}
			if got != want {
				for _, x := range before {
					t.Logf("before: %v", x.Conditions)
				}
				for _, x := range sorted {
					t.Logf("after: %s -> %s (of %d, before %d)", x.Text(), x.Answer, x.RuleIndex, x.AddedBefore)
				}
				t.Fatalf("seed %d: %+v is answered %q, want %q", seed, req, got, want)
			}
		}
	}
	t.Logf("%d rules added, conflicts in %d lists", added, conflicts)
	if conflicts > n/2 || added < n {
		t.Error("the rules hardly meet, or are hardly arranged")
	}
}

// TestTooManyMatchesAreReported checks that FromConditions returns a fault if the conditions have more combinations than a
// rule of a route may have matches, and that it does not compute the combinations.
func TestTooManyMatchesAreReported(t *testing.T) {
	t.Parallel()
	var queries []model.Condition
	for i := range 30 {
		var q model.QueryString
		for v := range 3 {
			q.Pairs = append(q.Pairs, model.QueryPair{Key: fmt.Sprint("p", i), Value: fmt.Sprint(v)})
		}
		queries = append(queries, q)
	}
	paths := model.PathPattern{Values: slices.Repeat([]string{"/a", "/b"}, 17)}
	for _, conditions := range [][]model.Condition{queries, {paths, model.RequestMethod{Values: methods}}} {
		if got := match.FromConditions(conditions); len(got.Faults) == 0 || len(got.List) > 0 {
			t.Errorf("%d matches and no fault", len(got.List))
		}
	}
	if got := match.FromConditions([]model.Condition{paths}); len(got.Faults) > 0 || len(got.List) != 34 {
		t.Errorf("%d matches, %v", len(got.List), got.Faults)
	}
}

// conditionsOf returns the conditions of a listener rule that matches the same requests as m.
func conditionsOf(m match.Match) []model.Condition {
	var out []model.Condition
	if m.Host != "" {
		out = append(out, model.HostHeader{Values: []string{m.Host}})
	}
	switch p := m.Path; {
	case p.Kind == match.Regex:
		out = append(out, model.PathPattern{Regex: []string{p.Value}})
	case p.Kind == match.Exact:
		out = append(out, model.PathPattern{Values: []string{p.Value}})
	case p.Value == "/":
		out = append(out, model.PathPattern{Values: []string{"/*"}})
	default:
		out = append(out, model.PathPattern{Values: []string{p.Value, p.Value + "/*"}})
	}
	for _, h := range m.Headers {
		c := model.HTTPHeader{Name: h.Name, Values: h.Values}
		if h.Regex != "" {
			c.Values, c.Regex = nil, []string{h.Regex}
		}
		out = append(out, c)
	}
	for _, q := range m.Queries {
		out = append(out, model.QueryString{Pairs: []model.QueryPair{{Key: q.Key, Value: q.Value}}})
	}
	if m.Method != "" {
		out = append(out, model.RequestMethod{Values: []string{m.Method}})
	}
	for _, s := range m.Sources {
		out = append(out, model.SourceIP{CIDRs: s})
	}
	return out
}
