package overlap

import (
	"math"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/model/glob"
)

// Shape has the hosts and paths of a rule in a form that is fast to compare. A nil list matches every host or path. A
// regular expression is treated as if it matched everything, unless it matches only one hostname pattern (see
// model.PlainHost).
type Shape struct{ hosts, paths []textPattern }

// ShapeOf returns the shape of a rule with these conditions. Conditions other than hosts and paths are ignored.
func ShapeOf(cs []model.Condition) *Shape {
	var s Shape
	var anyHost, anyPath bool
	for _, c := range cs {
		switch c := c.(type) {
		case model.HostHeader:
			s.hosts = append(s.hosts, hostPatterns(c.Values)...)
			for _, expr := range c.Regex {
				host, plain := model.PlainHost(expr)
				anyHost = anyHost || !plain
				s.hosts = append(s.hosts, hostPatterns([]string{host})...)
			}
		case model.PathPattern:
			anyPath = anyPath || len(c.Regex) > 0
			for _, v := range c.Values {
				s.paths = append(s.paths, patternOf(v))
			}
		}
	}
	if anyHost {
		s.hosts = nil
	}
	if anyPath {
		s.paths = nil
	}
	return &s
}

// Overlaps reports whether a request may match both rules, by their hosts and paths. If it cannot be determined, the result
// is true.
func (s *Shape) Overlaps(o *Shape) bool {
	return anyOverlap(s.hosts, o.hosts) && anyOverlap(s.paths, o.paths)
}

// ShapeOfHosts returns the shape of a rule for hosts and all paths.
func ShapeOfHosts(hosts []string) *Shape { return &Shape{hosts: hostPatterns(hosts)} }

// Covers reports whether the rule with shape s matches every request that the rule with shape o matches, by their hosts and
// paths. If that cannot be determined, it returns false. The result is not valid for regular expressions, because a shape
// treats them as if they matched everything.
func (s *Shape) Covers(o *Shape) bool {
	return patternsCover(s.hosts, o.hosts) && patternsCover(s.paths, o.paths)
}

func patternsCover(all, some []textPattern) bool {
	if len(all) == 0 {
		return true
	}
	return len(some) > 0 && !slices.ContainsFunc(some, func(p textPattern) bool {
		return !slices.ContainsFunc(all, func(a textPattern) bool {
			// A pattern whose only wildcard is at its end matches every text that begins with the rest of the pattern.
			prefix := a.hasWildcard && a.head+"*" == a.text && len(p.head) >= len(a.head) && p.head[:len(a.head)] == a.head
			return a.text == p.text || prefix
		})
	})
}

func anyOverlap(a, b []textPattern) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	for i := range a {
		for j := range b {
			if a[i].overlaps(&b[j]) {
				return true
			}
		}
	}
	return false
}

func hostPatterns(hosts []string) []textPattern {
	out := make([]textPattern, len(hosts))
	for i, h := range hosts {
		out[i] = patternOf(strings.ToLower(h))
	}
	return out
}

// HostsOverlap reports whether one hostname may match both host patterns.
func HostsOverlap(a, b string) bool {
	x, y := patternOf(strings.ToLower(a)), patternOf(strings.ToLower(b))
	return x.overlaps(&y)
}

// textPattern is a host or path pattern in which * matches any text and ? matches any character.
type textPattern struct {
	text        string
	hasWildcard bool
	// head and tail are the text before the first and after the last wildcard. Without a wildcard both are the whole
	// text.
	head, tail string
}

func patternOf(text string) textPattern {
	p := textPattern{text: text, head: text, tail: text}
	if i := strings.IndexAny(text, "*?"); i >= 0 {
		p.hasWildcard, p.head, p.tail = true, text[:i], text[strings.LastIndexAny(text, "*?")+1:]
	}
	return p
}

// overlaps reports whether one text may match both patterns. The result is exact unless both patterns have wildcards.
func (p *textPattern) overlaps(o *textPattern) bool {
	switch {
	case !p.hasWildcard && !o.hasWildcard:
		return p.text == o.text
	case !p.hasWildcard:
		return glob.Match(o.text, p.text, glob.NoEscapes)
	case !o.hasWildcard:
		return glob.Match(p.text, o.text, glob.NoEscapes)
	}
	return (strings.HasPrefix(p.head, o.head) || strings.HasPrefix(o.head, p.head)) &&
		(strings.HasSuffix(p.tail, o.tail) || strings.HasSuffix(o.tail, p.tail))
}

// Index finds the rules that overlap with a shape without comparing each rule. Rules are identified by numbers.
type Index struct {
	shapeOf      func(n int32) *Shape
	allRules     []int32
	hosts, paths patternIndex
	// remainingChecks is the number of comparisons that the index may still make. When it is 0, every candidate counts as
	// overlapping. This limits the time for rules that need many comparisons; no overlap is missed.
	remainingChecks int
}

// NewIndex returns an index of rules, whose numbers have to be ascending.
func NewIndex(numbers []int32, shape func(int32) *Shape) *Index {
	x := &Index{shapeOf: shape, allRules: numbers, remainingChecks: 1_000_000 + 200*len(numbers)}
	x.hosts.reversed = true
	for _, n := range numbers {
		s := shape(n)
		x.hosts.add(n, s.hosts)
		x.paths.add(n, s.paths)
	}
	x.hosts.sort()
	x.paths.sort()
	return x
}

// Span is a range of rule numbers, from included and to excluded.
type Span struct{ from, to int32 }

// AllRules is the span of all rules.
var AllRules = Span{0, math.MaxInt32}

// SpanBefore returns the span of the rules whose number is below i.
func SpanBefore(i int) Span { return Span{0, int32(i)} }

// SpanAfter returns the span of the rules whose number is above i.
func SpanAfter(i int) Span { return Span{int32(i) + 1, math.MaxInt32} }

// EachOverlap calls visit for the rules of a span that overlap with a shape, until visit returns false. A rule may be
// visited more than once.
func (x *Index) EachOverlap(s *Shape, in Span, visit func(n int32) bool) {
	if len(x.allRules) == 0 {
		return
	}
	byHost, hosts := x.hosts.candidates(s.hosts, x.allRules)
	byPath, paths := x.paths.candidates(s.paths, x.allRules)
	if paths < hosts {
		byHost = byPath
	}
	for _, c := range byHost {
		list := c.rules
		if c.sorted {
			from, _ := slices.BinarySearch(list, in.from)
			list = list[from:]
		}
		for _, n := range list {
			if n >= in.to && c.sorted {
				break
			}
			if x.remainingChecks--; n < in.from || n >= in.to {
				continue
			}
			if (x.remainingChecks < 0 || s.Overlaps(x.shapeOf(n))) && !visit(n) {
				return
			}
		}
	}
}

// FindOverlap returns the number of a rule of a span that overlaps with a shape; false if no rule overlaps.
func (x *Index) FindOverlap(s *Shape, in Span) (found int32, ok bool) {
	return x.FindOverlapWhere(s, in, func(int32) bool { return true })
}

// FindOverlapWhere returns the number of a rule of a span that overlaps with a shape and for which fits returns true.
func (x *Index) FindOverlapWhere(s *Shape, in Span, fits func(n int32) bool) (found int32, ok bool) {
	x.EachOverlap(s, in, func(n int32) bool {
		if fits(n) {
			found, ok = n, true
		}
		return !ok
	})
	return found, ok
}

// FindOverlaps returns, ascending, at most limit rules of a span that overlap with a shape and for which fits returns true.
// all is true if the result has all such rules.
func (x *Index) FindOverlaps(s *Shape, in Span, limit int, fits func(n int32) bool) (out []int32, all bool) {
	all = true
	x.EachOverlap(s, in, func(n int32) bool {
		if !fits(n) || slices.Contains(out, n) {
			return true
		}
		if len(out) == limit {
			all = false
			return false
		}
		out = append(out, n)
		return true
	})
	slices.Sort(out)
	return out, all
}

// patternIndex finds the rules whose patterns may overlap with a pattern. Its key is the text with which a pattern begins
// or, if reversed is set, the reversed text with which it ends.
type patternIndex struct {
	reversed        bool
	matchAllRules   []int32 // rules without a pattern, which match every text
	exact, wildcard patternLists
	lengths         []int // lengths of the keys of wildcard, ascending
}

// patternLists has the rules by the keys of their patterns.
type patternLists struct {
	byKey map[string][]int32
	keys  []string // ascending
	// flatRules has the concatenated lists, in the order of keys; the list of keys[i] begins at listStarts[i].
	flatRules  []int32
	listStarts []int
}

func (x *patternIndex) add(n int32, ps []textPattern) {
	if len(ps) == 0 {
		x.matchAllRules = append(x.matchAllRules, n)
	}
	for i := range ps {
		if ps[i].hasWildcard {
			x.wildcard.add(n, x.indexKey(&ps[i]))
		} else {
			x.exact.add(n, x.indexKey(&ps[i]))
		}
	}
}

func (l *patternLists) add(n int32, key string) {
	if l.byKey == nil {
		l.byKey = map[string][]int32{}
	}
	l.byKey[key] = append(l.byKey[key], n)
}

// indexKey returns the text with which every match of a pattern begins or, reversed, ends.
func (x *patternIndex) indexKey(p *textPattern) string {
	if !x.reversed {
		return p.head
	}
	key := []byte(p.tail)
	slices.Reverse(key)
	return string(key)
}

func (x *patternIndex) sort() {
	x.exact.sort()
	x.wildcard.sort()
	for _, k := range x.wildcard.keys {
		x.lengths = append(x.lengths, len(k))
	}
	slices.Sort(x.lengths)
	x.lengths = slices.Compact(x.lengths)
}

func (l *patternLists) sort() {
	for k := range l.byKey {
		l.keys = append(l.keys, k)
	}
	slices.Sort(l.keys)
	for _, k := range l.keys {
		l.listStarts = append(l.listStarts, len(l.flatRules))
		l.flatRules = append(l.flatRules, l.byKey[k]...)
	}
	l.listStarts = append(l.listStarts, len(l.flatRules))
}

// rulesWithPrefix returns the rules whose keys begin with a text.
func (l *patternLists) rulesWithPrefix(text string) candidateList {
	if len(l.keys) == 0 {
		return candidateList{}
	}
	begin, _ := slices.BinarySearch(l.keys, text)
	end := len(l.keys)
	if text != "" {
		end, _ = slices.BinarySearchFunc(l.keys, text, func(key, text string) int {
			if strings.HasPrefix(key, text) {
				return -1
			}
			return strings.Compare(key, text)
		})
	}
	return candidateList{rules: l.flatRules[l.listStarts[begin]:l.listStarts[end]], sorted: end-begin < 2}
}

// candidateList has rules that may overlap with a shape. If sorted is set, they are ascending.
type candidateList struct {
	rules  []int32
	sorted bool
}

// candidates returns lists that contain all rules with a pattern that may overlap with a pattern in ps, and the total length
// of the lists. all has the numbers of all rules, which are the result if ps is empty.
func (x *patternIndex) candidates(ps []textPattern, all []int32) (lists []candidateList, count int) {
	if len(ps) == 0 {
		return []candidateList{{all, true}}, len(all)
	}
	note := func(c candidateList) {
		if len(c.rules) > 0 {
			lists, count = append(lists, c), count+len(c.rules)
		}
	}
	note(candidateList{x.matchAllRules, true})
	for i := range ps {
		key := x.indexKey(&ps[i])
		for _, n := range x.lengths {
			if n > len(key) || n == len(key) && ps[i].hasWildcard {
				break
			}
			note(candidateList{x.wildcard.byKey[key[:n]], true})
		}
		if ps[i].hasWildcard {
			note(x.exact.rulesWithPrefix(key))
			note(x.wildcard.rulesWithPrefix(key))
		} else {
			note(candidateList{x.exact.byKey[key], true})
		}
	}
	return lists, count
}
