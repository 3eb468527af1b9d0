package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/seeds"
)

// plainOverlap compares two rules as they are written, one value with the other.
func plainOverlap(a, b []model.Condition) bool {
	regexHosts, regexPaths := false, false
	for _, c := range slices.Concat(a, b) {
		switch c := c.(type) {
		case model.HostHeader:
			regexHosts = regexHosts || len(c.Regex) > 0
		case model.PathPattern:
			regexPaths = regexPaths || len(c.Regex) > 0
		}
	}
	ra, rb := model.Rule{Conditions: a}, model.Rule{Conditions: b}
	return plainMeet(ra.Hosts(), rb.Hosts(), regexHosts, true) && plainMeet(ra.Paths(), rb.Paths(), regexPaths, false)
}

func plainMeet(a, b []string, regex, fold bool) bool {
	if len(a) == 0 || len(b) == 0 || regex {
		return true
	}
	for _, x := range a {
		for _, y := range b {
			if fold {
				x, y = strings.ToLower(x), strings.ToLower(y)
			}
			if plainGlobs(x, y) {
				return true
			}
		}
	}
	return false
}

func plainGlobs(x, y string) bool {
	wildX, wildY := strings.ContainsAny(x, "*?"), strings.ContainsAny(y, "*?")
	ends := func(p string) (head, tail string) {
		return p[:strings.IndexAny(p, "*?")], p[strings.LastIndexAny(p, "*?")+1:]
	}
	switch {
	case !wildX && !wildY:
		return x == y
	case !wildX:
		return Glob(y, x)
	case !wildY:
		return Glob(x, y)
	}
	headX, tailX := ends(x)
	headY, tailY := ends(y)
	return (strings.HasPrefix(headX, headY) || strings.HasPrefix(headY, headX)) && (strings.HasSuffix(tailX, tailY) || strings.HasSuffix(tailY, tailX))
}

// randomConditions have few different parts, so that they often meet.
func randomConditions(r *rand.Rand) []model.Condition {
	text := func(letters string) string {
		var b strings.Builder
		for range r.IntN(5) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	values := func(one func() string) []string {
		var out []string
		for range 1 + r.IntN(3) {
			out = append(out, one())
		}
		return out
	}
	var out []model.Condition
	if r.IntN(4) > 0 {
		h := model.HostHeader{Values: values(func() string { return text("aB.*?") + ".com" })}
		if r.IntN(12) == 0 {
			h = model.HostHeader{Regex: []string{"a+"}}
		}
		out = append(out, h)
	}
	if r.IntN(6) > 0 {
		p := model.PathPattern{Values: values(func() string { return "/" + text("ab/*?") })}
		if r.IntN(12) == 0 {
			p = model.PathPattern{Regex: []string{"a+"}}
		}
		out = append(out, p)
	}
	if r.IntN(6) == 0 {
		out = append(out, model.RequestMethod{Values: []string{"GET"}})
	}
	return out
}

func TestTheIndexFindsTheRulesThatOverlap(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 2000, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		rules := make([][]model.Condition, r.IntN(40))
		shapes := make([]*ruleShape, len(rules))
		var numbers []int32
		for i := range rules {
			rules[i] = randomConditions(r)
			shapes[i] = shapeOf(rules[i])
			if r.IntN(4) > 0 {
				numbers = append(numbers, int32(i))
			}
		}
		x := indexRules(numbers, func(n int32) *ruleShape { return shapes[n] })
		for range 10 {
			q := randomConditions(r)
			in := everyRule
			if r.IntN(2) == 0 {
				in.from = int32(r.IntN(len(rules) + 1))
				in.to = in.from + int32(r.IntN(len(rules)+1))
			}
			var want []int32
			for _, n := range numbers {
				if n >= in.from && n < in.to && plainOverlap(q, rules[n]) {
					want = append(want, n)
				}
			}
			got, all := x.some(shapeOf(q), in, len(rules), func(int32) bool { return true })
			if !slices.Equal(want, got) || !all {
				t.Fatalf("seed %d: %v overlaps with %v, want %v of %v", seed, q, got, want, rules)
			}
			if n, found := x.find(shapeOf(q), in); found != (len(want) > 0) || found && !slices.Contains(want, n) {
				t.Fatalf("seed %d: %v overlaps with %d, want one of %v", seed, q, n, want)
			}
			few, all := x.some(shapeOf(q), in, 3, func(int32) bool { return true })
			if len(few) != min(len(want), 3) || all != (len(want) <= 3) || slices.ContainsFunc(few, func(n int32) bool { return !slices.Contains(want, n) }) {
				t.Fatalf("seed %d: %v overlaps with %v (all: %t), want some of %v", seed, q, few, all, want)
			}
		}
	})
}

func TestAnIndexThatIsUsedUpFindsMoreAndNeverLess(t *testing.T) {
	shapes := []*ruleShape{shapeOf(pathOf("/a*")), shapeOf(pathOf("/b*"))}
	x := indexRules([]int32{0, 1}, func(n int32) *ruleShape { return shapes[n] })
	x.checks = 0
	if n, found := x.find(shapes[1], everyRule); !found {
		t.Errorf("found %d %t", n, found)
	}
}

func pathOf(path string) []model.Condition {
	return []model.Condition{model.PathPattern{Values: []string{path}}}
}

// plainPairs pairs each desired rule with each live one.
func plainPairs(ro *ruleRollout, desired []ruleChange, live []observed.Rule) []string {
	out := make([]string, len(desired))
	taken := make([]bool, len(live))
	pass := func(fits func(w *ruleChange, o *observed.Rule) bool) {
		for i := range desired {
			for j := range live {
				if out[i] == "" && !taken[j] && fits(&desired[i], &live[j]) {
					out[i], taken[j] = live[j].ARN, true
				}
			}
		}
	}
	alike := func(w *ruleChange, o *observed.Rule) bool {
		return w.plan.kept == nil && sameConditions(w.plan.wish.Conditions, o.Conditions)
	}
	equal := func(w *ruleChange, o *observed.Rule) bool { return alike(w, o) && ro.isEqual(w, o) }
	here := func(w *ruleChange, o *observed.Rule) bool { return w.priority == o.Priority }
	pass(func(w *ruleChange, o *observed.Rule) bool { return w.plan.kept != nil && w.plan.kept.ARN == o.ARN })
	pass(func(w *ruleChange, o *observed.Rule) bool { return here(w, o) && equal(w, o) })
	pass(equal)
	pass(func(w *ruleChange, o *observed.Rule) bool { return here(w, o) && alike(w, o) })
	pass(alike)
	return out
}

func TestRulesArePairedAsIfEachWasComparedWithEach(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 5000, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 6))
		b := newBuilder(model.Stack{}, observed.Stack{}, Options{})
		ro := &ruleRollout{traffic: b.traffic, keys: b.keys}
		action := func() []model.Action {
			switch r.IntN(4) {
			case 0:
				return []model.Action{model.Redirect{Host: fmt.Sprint(r.IntN(2)), Status: "HTTP_301"}}
			case 1:
				return []model.Action{unavailable}
			}
			f := model.Forward{}
			for range 1 + r.IntN(2) {
				w := int32(r.IntN(3))
				f.Groups = append(f.Groups, model.WeightedGroup{Group: model.GroupRef{ARN: fmt.Sprint("arn", r.IntN(2))}, Weight: &w})
			}
			if r.IntN(3) == 0 {
				on := true
				f.Stickiness = &model.GroupStickiness{Enabled: &on}
			}
			return []model.Action{f}
		}
		conditions := func() []model.Condition { return pathOf([]string{"/a", "/b", "/c"}[r.IntN(3)]) }
		var live []observed.Rule
		for i := range r.IntN(8) {
			live = append(live, observed.Rule{ARN: fmt.Sprint("rule", i), Priority: int32(i + 1 + r.IntN(2)*20), Conditions: conditions(), Actions: action()})
		}
		var desired []ruleChange
		for i := range r.IntN(8) {
			p := &rulePlan{wish: model.Rule{Conditions: conditions(), Actions: action()}}
			if len(live) > 0 && r.IntN(8) == 0 {
				p.wish.Held = model.HeldInvalid
				p.keep(&live[r.IntN(len(live))])
			}
			desired = append(desired, ruleChange{plan: p, priority: int32(i + 1)})
		}
		want := plainPairs(ro, desired, live)
		ro.pair(desired, live)
		got := make([]string, len(desired))
		for i, w := range desired {
			if w.live != nil {
				got[i] = w.live.ARN
			}
		}
		if !slices.Equal(want, got) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	})
}

func TestConditionsAreTheSameWhateverTheirOrder(t *testing.T) {
	host := func(vs ...string) model.Condition { return model.HostHeader{Values: vs} }
	path := func(vs ...string) model.Condition { return model.PathPattern{Values: vs} }
	for name, c := range map[string]struct {
		a, b []model.Condition
		same bool
	}{
		"order of conditions":       {[]model.Condition{host("a"), path("/")}, []model.Condition{path("/"), host("a")}, true},
		"order and case of hosts":   {[]model.Condition{host("A", "b")}, []model.Condition{host("b", "a", "a")}, true},
		"case of paths":             {[]model.Condition{path("/A")}, []model.Condition{path("/a")}, false},
		"plain and regular":         {[]model.Condition{model.PathPattern{Values: []string{"a"}}}, []model.Condition{model.PathPattern{Regex: []string{"a"}}}, false},
		"one value and two":         {[]model.Condition{path("a 1:b")}, []model.Condition{path("a", "b")}, false},
		"pairs that look alike":     {[]model.Condition{model.QueryString{Pairs: []model.QueryPair{{Key: "a", Value: "1:b"}}}}, []model.Condition{model.QueryString{Pairs: []model.QueryPair{{Key: "a1:", Value: "b"}}}}, false},
		"name and value of headers": {[]model.Condition{model.HTTPHeader{Name: "a", Values: []string{"b"}}}, []model.Condition{model.HTTPHeader{Name: "ab"}}, false},
	} {
		if sameConditions(c.a, c.b) != c.same {
			t.Errorf("%s: same is %t", name, !c.same)
		}
	}
}
