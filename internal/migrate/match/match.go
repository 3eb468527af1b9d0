package match

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// PathKind is the type of a path match.
type PathKind int

// The values of PathKind, in ascending order of precedence.
const (
	Regex PathKind = iota
	Prefix
	Exact
)

// Path is the path of a match. The Prefix "/" matches any path.
type Path struct {
	Kind  PathKind
	Value string
}

// Header is a match on a header: the header must equal one of Values, or match the regular expression Regex if it is not
// empty.
type Header struct {
	Name   string
	Values []string
	Regex  string
}

// key returns the name of the header in lower case, because names of headers are not case-sensitive.
func (h Header) key() string { return strings.ToLower(h.Name) }

// Query is a match on the value of a query parameter.
type Query struct{ Key, Value string }

// Match is one match of an HTTPRoute rule for one hostname, and the client ranges of the ListenerRuleConfiguration of the
// rule. An empty Host or Method matches any value. Sources has one list of ranges for each condition, and the client must be
// in a range of each list.
type Match struct {
	Host    string
	Path    Path
	Method  string
	Headers []Header // by name in lower case, ascending
	Queries []Query  // by key, ascending
	Sources [][]string
}

// AnyRequest is the match of every request.
var AnyRequest = Match{Path: Path{Prefix, "/"}}

// anyPathRegex matches any path. It has lower precedence than all other paths.
var anyPathRegex = Path{Regex, "^/"}

// matchesEverything reports whether p is one of the two paths that match any path.
func (p Path) matchesEverything() bool { return p == AnyRequest.Path || p == anyPathRegex }

// Text returns a description of the match for messages.
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

// text returns a description of the path for messages.
func (p Path) text() string {
	switch p.Kind {
	case Exact:
		return "exactly " + p.Value
	case Regex:
		return "like " + p.Value
	}
	return p.Value
}

// Compare orders matches by the precedence of the Gateway API: by hostname, path, method, headers and parameters. It returns
// a negative number if m has precedence over o. If it returns 0, the age and the name of the routes decide, and within a
// route the order of the rules.
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

// compareHosts orders hostnames by precedence: exact names, then wildcards, then the empty hostname. Hostnames of the same
// kind are ordered by the number of labels, then by length, the highest first.
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

// Relation describes whether some requests match both of two matches, or both of two conditions.
type Relation int

// The values of Relation.
const (
	Disjoint Relation = iota // no request matches both
	Overlap                  // some requests match both
	Unknown                  // the relation cannot be determined, or no match describes the requests that match both
)

// Intersect returns the match of the requests that match both m and o. If the relation is Unknown, some requests may match
// both, but the returned match does not describe them. If it is Disjoint, the match has no meaning.
func (m Match) Intersect(o Match) (Match, Relation) {
	out, relation := Match{}, Overlap
	narrow := func(r Relation) {
		if relation != Disjoint && r != Overlap {
			relation = r
		}
	}
	var r Relation
	out.Host, r = intersectHosts(m.Host, o.Host)
	narrow(r)
	out.Path, r = intersectPaths(m.Path, o.Path)
	narrow(r)
	switch {
	case m.Method == "" || m.Method == o.Method:
		out.Method = o.Method
	case o.Method == "":
		out.Method = m.Method
	default:
		narrow(Disjoint)
	}
	out.Headers, r = intersectHeaders(m.Headers, o.Headers)
	narrow(r)
	out.Queries, r = intersectQueries(m.Queries, o.Queries)
	narrow(r)
	out.Sources = slices.Clone(m.Sources)
	for _, s := range o.Sources {
		if !slices.ContainsFunc(out.Sources, func(have []string) bool { return slices.Equal(have, s) }) {
			out.Sources = append(out.Sources, s)
		}
	}
	return out, relation
}

// Covers reports whether it is known that each request that matches o also matches m.
func (m Match) Covers(o Match) bool {
	x, relation := m.Intersect(o)
	return relation == Overlap && x.equal(o)
}

// equal reports whether two matches have the same conditions.
func (m Match) equal(o Match) bool {
	return strings.EqualFold(m.Host, o.Host) && m.Path == o.Path && m.Method == o.Method &&
		slices.EqualFunc(m.Headers, o.Headers, func(a, b Header) bool {
			return a.key() == b.key() && a.Regex == b.Regex && slices.Equal(a.Values, b.Values)
		}) &&
		slices.Equal(m.Queries, o.Queries) && slices.EqualFunc(m.Sources, o.Sources, slices.Equal[[]string])
}

// intersectHosts returns the hostname of the requests that match both a and b. A wildcard matches any number of labels.
func intersectHosts(a, b string) (string, Relation) {
	a, b = strings.ToLower(a), strings.ToLower(b)
	switch {
	case a == "" || a == b:
		return b, Overlap
	case b == "":
		return a, Overlap
	}
	isBelowWildcard := func(wildcard, host string) bool {
		suffix, ok := strings.CutPrefix(wildcard, "*")
		return ok && strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	switch {
	case isBelowWildcard(a, b):
		return b, Overlap
	case isBelowWildcard(b, a):
		return a, Overlap
	}
	return "", Disjoint
}

// intersectPaths returns the path of the requests that match both a and b.
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

// isBelow reports whether a path equals a prefix or is below it.
func isBelow(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// intersectHeaders returns the header matches of the requests that match both lists.
func intersectHeaders(a, b []Header) ([]Header, Relation) {
	return mergeConditions(a, b, Header.key, func(x, y Header) bool { return x.Regex == y.Regex && slices.Equal(x.Values, y.Values) })
}

// intersectQueries returns the query matches of the requests that match both lists.
func intersectQueries(a, b []Query) ([]Query, Relation) {
	return mergeConditions(a, b, func(q Query) string { return q.Key }, func(x, y Query) bool { return x == y })
}

// mergeConditions merges two lists of conditions that are sorted by name. The relation is Unknown if the lists have
// different conditions with the same name: a request may have a header or parameter several times, but a match can name it
// only once.
func mergeConditions[T any](a, b []T, name func(T) string, same func(x, y T) bool) (out []T, relation Relation) {
	relation = Overlap
	out = slices.Clone(a)
	for _, c := range b {
		i, found := slices.BinarySearchFunc(out, name(c), func(x T, other string) int { return strings.Compare(name(x), other) })
		switch {
		case !found:
			out = slices.Insert(out, i, c)
		case !same(out[i], c):
			relation = Unknown
		}
	}
	return out, relation
}

// Value returns the value of the header in an HTTPRoute, and whether it is a regular expression. Several values are separated
// by commas, with a backslash before commas and backslashes in values.
func (h Header) Value() (value string, regex bool) {
	if h.Regex != "" {
		return h.Regex, true
	}
	var out []string
	for _, v := range h.Values {
		out = append(out, strings.NewReplacer(`\`, `\\`, `,`, `\,`).Replace(v))
	}
	return strings.Join(out, ","), false
}
