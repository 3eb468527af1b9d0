package match

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// PathKind is how a match looks at the path.
type PathKind int

// The kinds, in ascending precedence.
const (
	Regex PathKind = iota
	Prefix
	Exact
)

// Path is the path of a match. A Prefix of "/" is any path.
type Path struct {
	Kind  PathKind
	Value string
}

// Header is a match on a header by several plain values, of which one must fit, or by one expression.
type Header struct {
	Name   string
	Values []string
	Regex  string
}

// Query is a match on a parameter.
type Query struct{ Key, Value string }

// Match is one match of a rule of an HTTPRoute for one hostname, with the client ranges that a ListenerRuleConfiguration
// adds. The zero Host is any, and so is the zero Method.
type Match struct {
	Host    string
	Path    Path
	Method  string
	Headers []Header // by name, ascending
	Queries []Query  // by key, ascending
	Sources [][]string
}

// All is the match of every request.
var All = Match{Path: Path{Prefix, "/"}}

// everything is any path, behind all others.
var everything = Path{Regex, "^/"}

func (p Path) matchesEverything() bool { return p == All.Path || p == everything }

// Text returns the match in readable form.
func (m Match) Text() string {
	out := cmp.Or(m.Host, "any host") + " " + m.Path.text()
	if m.Method != "" {
		out = m.Method + " " + out
	}
	for _, h := range m.Headers {
		if h.Regex != "" {
			out += fmt.Sprintf(", header %s like %q", h.Name, h.Regex)
		} else {
			out += fmt.Sprintf(", header %s %q", h.Name, strings.Join(h.Values, ", "))
		}
	}
	for _, q := range m.Queries {
		out += fmt.Sprintf(", parameter %s=%s", q.Key, q.Value)
	}
	for _, s := range m.Sources {
		out += ", from " + strings.Join(s, ", ")
	}
	return out
}

func (p Path) text() string {
	switch p.Kind {
	case Exact:
		return "exactly " + p.Value
	case Regex:
		return "like " + p.Value
	}
	return p.Value
}

// Compare orders matches by the precedence of the Gateway API: hostnames, then paths, methods, headers and parameters. 0
// leaves the order to the age and the name of the route, and the place in it.
// https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule
func (m Match) Compare(o Match) int {
	return cmp.Or(
		compareHosts(m.Host, o.Host),
		cmp.Compare(o.Path.Kind, m.Path.Kind),
		cmp.Compare(len(o.Path.Value), len(m.Path.Value)),
		cmp.Compare(len(o.Method), 0)-cmp.Compare(len(m.Method), 0),
		cmp.Compare(len(o.Headers), len(m.Headers)),
		cmp.Compare(len(o.Queries), len(m.Queries)),
	)
}

// compareHosts orders hostnames: exact ones, wildcards, none; then those with more labels, then the longer ones.
func compareHosts(a, b string) int {
	rank := func(h string) int {
		switch {
		case h == "":
			return 2
		case strings.HasPrefix(h, "*."):
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(strings.Count(b, "."), strings.Count(a, ".")), cmp.Compare(len(b), len(a)))
}

// Relation is what is known of the requests of two matches, or of parts of them.
type Relation int

// The relations.
const (
	Disjoint Relation = iota // no request fits both
	Overlap                  // some fit both
	Unknown                  // that cannot be decided, or no match describes them
)

// Intersect returns the match of the requests that fit both. With Unknown there may be some, but no match is known for
// them.
func (m Match) Intersect(o Match) (Match, Relation) {
	out, rel := Match{}, Overlap
	note := func(r Relation) {
		if rel != Disjoint && r != Overlap {
			rel = r
		}
	}
	var r Relation
	out.Host, r = intersectHosts(m.Host, o.Host)
	note(r)
	out.Path, r = intersectPaths(m.Path, o.Path)
	note(r)
	switch {
	case m.Method == "" || m.Method == o.Method:
		out.Method = o.Method
	case o.Method == "":
		out.Method = m.Method
	default:
		note(Disjoint)
	}
	out.Headers, r = intersectHeaders(m.Headers, o.Headers)
	note(r)
	out.Queries, r = intersectQueries(m.Queries, o.Queries)
	note(r)
	out.Sources = slices.Clone(m.Sources)
	for _, s := range o.Sources {
		if !slices.ContainsFunc(out.Sources, func(have []string) bool { return slices.Equal(have, s) }) {
			out.Sources = append(out.Sources, s)
		}
	}
	return out, rel
}

// Covers reports whether each request of o is known to fit m.
func (m Match) Covers(o Match) bool {
	x, rel := m.Intersect(o)
	return rel == Overlap && x.equal(o)
}

func (m Match) equal(o Match) bool {
	return strings.EqualFold(m.Host, o.Host) && m.Path == o.Path && m.Method == o.Method &&
		slices.EqualFunc(m.Headers, o.Headers, func(a, b Header) bool {
			return a.Name == b.Name && a.Regex == b.Regex && slices.Equal(a.Values, b.Values)
		}) &&
		slices.Equal(m.Queries, o.Queries) && slices.EqualFunc(m.Sources, o.Sources, slices.Equal[[]string])
}

// intersectHosts meets two hostnames. A wildcard stands for any number of labels.
func intersectHosts(a, b string) (string, Relation) {
	a, b = strings.ToLower(a), strings.ToLower(b)
	switch {
	case a == "" || a == b:
		return b, Overlap
	case b == "":
		return a, Overlap
	}
	under := func(wild, host string) bool {
		suffix, ok := strings.CutPrefix(wild, "*")
		return ok && strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	switch {
	case under(a, b):
		return b, Overlap
	case under(b, a):
		return a, Overlap
	}
	return "", Disjoint
}

func intersectPaths(a, b Path) (Path, Relation) {
	if a.Kind < b.Kind {
		a, b = b, a // Exact before Prefix before Regex
	}
	switch {
	case a == b, b.matchesEverything():
		return a, Overlap
	case a.matchesEverything():
		return b, Overlap
	case a.Kind == Exact && b.Kind == Regex:
		if re, err := regexp.Compile(b.Value); err == nil && re.MatchString(a.Value) {
			return a, Overlap
		}
		return Path{}, Disjoint
	case b.Kind == Regex:
		return Path{}, Unknown
	case a.Kind == Exact && b.Kind == Exact:
		return Path{}, Disjoint
	case isBelow(a.Value, b.Value):
		return a, Overlap
	case a.Kind == Prefix && isBelow(b.Value, a.Value):
		return b, Overlap
	}
	return Path{}, Disjoint
}

// isBelow reports whether a path is a prefix, or below it.
func isBelow(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

func intersectHeaders(a, b []Header) ([]Header, Relation) {
	return mergeConditions(a, b, func(h Header) string { return h.Name }, func(x, y Header) bool { return x.Regex == y.Regex && slices.Equal(x.Values, y.Values) })
}

func intersectQueries(a, b []Query) ([]Query, Relation) {
	return mergeConditions(a, b, func(q Query) string { return q.Key }, func(x, y Query) bool { return x == y })
}

// mergeConditions returns the conditions of two lists by name. A header or a parameter may come several times, and a
// route names it once, so that two conditions on one cannot be said.
func mergeConditions[T any](a, b []T, name func(T) string, same func(x, y T) bool) (out []T, rel Relation) {
	rel = Overlap
	out = slices.Clone(a)
	for _, c := range b {
		i, found := slices.BinarySearchFunc(out, name(c), func(x T, other string) int { return strings.Compare(name(x), other) })
		switch {
		case !found:
			out = slices.Insert(out, i, c)
		case !same(out[i], c):
			rel = Unknown
		}
	}
	return out, rel
}

// headerValue writes values as an HTTPRoute has them: joined by commas, with a backslash before those in values.
func (h Header) headerValue() string {
	var out []string
	for _, v := range h.Values {
		out = append(out, strings.NewReplacer(`\`, `\\`, `,`, `\,`).Replace(v))
	}
	return strings.Join(out, ",")
}

// Value returns what an HTTPRoute has for the header, and whether it is an expression.
func (h Header) Value() (value string, regex bool) {
	if h.Regex != "" {
		return h.Regex, true
	}
	return h.headerValue(), false
}

// Conditions returns the conditions of a listener rule with the match.
func (m Match) Conditions() []model.Condition {
	var out []model.Condition
	if m.Host != "" {
		out = append(out, model.HostHeader{Values: []string{m.Host}})
	}
	switch p := m.Path; {
	case p.Kind == Regex:
		out = append(out, model.PathPattern{Regex: []string{p.Value}})
	case p.Kind == Exact:
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
