package overlap

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// simpleOverlap is a reference implementation of Shape.Overlaps, which compares the conditions of two rules value by value.
func simpleOverlap(a, b []model.Condition) bool {
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
	return simplePatternsOverlap(ra.Hosts(), rb.Hosts(), regexHosts, true) && simplePatternsOverlap(ra.Paths(), rb.Paths(), regexPaths, false)
}

func simplePatternsOverlap(a, b []string, regex, fold bool) bool {
	if len(a) == 0 || len(b) == 0 || regex {
		return true
	}
	for _, x := range a {
		for _, y := range b {
			if fold {
				x, y = strings.ToLower(x), strings.ToLower(y)
			}
			if simpleGlobsOverlap(x, y) {
				return true
			}
		}
	}
	return false
}

func simpleGlobsOverlap(x, y string) bool {
	wildX, wildY := strings.ContainsAny(x, "*?"), strings.ContainsAny(y, "*?")
	ends := func(p string) (head, tail string) {
		return p[:strings.IndexAny(p, "*?")], p[strings.LastIndexAny(p, "*?")+1:]
	}
	switch {
	case !wildX && !wildY:
		return x == y
	case !wildX:
		return simpleGlobMatches(y, x)
	case !wildY:
		return simpleGlobMatches(x, y)
	}
	headX, tailX := ends(x)
	headY, tailY := ends(y)
	return (strings.HasPrefix(headX, headY) || strings.HasPrefix(headY, headX)) && (strings.HasSuffix(tailX, tailY) || strings.HasSuffix(tailY, tailX))
}

func simpleGlobMatches(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return simpleGlobMatches(pattern[1:], text) || text != "" && simpleGlobMatches(pattern, text[1:])
	}
	return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && simpleGlobMatches(pattern[1:], text[1:])
}

// randomConditions returns random conditions with few different hosts and paths, so that they often overlap.
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

func TestIndexFindsAllOverlappingRules(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 2000, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		rules := make([][]model.Condition, r.IntN(40))
		shapes := make([]*Shape, len(rules))
		var numbers []int32
		for i := range rules {
			rules[i] = randomConditions(r)
			shapes[i] = ShapeOf(rules[i])
			if r.IntN(4) > 0 {
				numbers = append(numbers, int32(i))
			}
		}
		x := NewIndex(numbers, func(n int32) *Shape { return shapes[n] })
		for range 10 {
			q := randomConditions(r)
			in := AllRules
			if r.IntN(2) == 0 {
				in.from = int32(r.IntN(len(rules) + 1))
				in.to = in.from + int32(r.IntN(len(rules)+1))
			}
			var want []int32
			for _, n := range numbers {
				if n >= in.from && n < in.to && simpleOverlap(q, rules[n]) {
					want = append(want, n)
				}
			}
			got, all := x.FindOverlaps(ShapeOf(q), in, len(rules), func(int32) bool { return true })
			if !slices.Equal(want, got) || !all {
				t.Fatalf("seed %d: %v overlaps with %v, want %v of %v", seed, q, got, want, rules)
			}
			if n, found := x.FindOverlap(ShapeOf(q), in); found != (len(want) > 0) || found && !slices.Contains(want, n) {
				t.Fatalf("seed %d: %v overlaps with %d, want one of %v", seed, q, n, want)
			}
			few, all := x.FindOverlaps(ShapeOf(q), in, 3, func(int32) bool { return true })
			if len(few) != min(len(want), 3) || all != (len(want) <= 3) || slices.ContainsFunc(few, func(n int32) bool { return !slices.Contains(want, n) }) {
				t.Fatalf("seed %d: %v overlaps with %v (all: %t), want some of %v", seed, q, few, all, want)
			}
		}
	})
}

func TestIndexFindsOverlapsWithoutRemainingChecks(t *testing.T) {
	shapes := []*Shape{ShapeOf(pathConditions("/a*")), ShapeOf(pathConditions("/b*"))}
	x := NewIndex([]int32{0, 1}, func(n int32) *Shape { return shapes[n] })
	x.remainingChecks = 0
	if n, found := x.FindOverlap(shapes[1], AllRules); !found {
		t.Errorf("found %d %t", n, found)
	}
}

func pathConditions(path string) []model.Condition {
	return []model.Condition{model.PathPattern{Values: []string{path}}}
}
