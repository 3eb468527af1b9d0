package match

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Matches are the requests of a listener rule as an HTTPRoute can say them.
type Matches struct {
	List []Match
	// Not are, for each of List, the requests that fit it and not the rule: a route has no prefix that leaves out the path
	// itself.
	Not [][]Match
	// Faults are what a route cannot express. With any of them the others are of no use.
	Faults []string
}

// methods are the methods that a route can name.
var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

var hostname = regexp.MustCompile(`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// Of reads the conditions of a rule.
func Of(conditions []model.Condition) Matches {
	b := builder{hosts: []string{""}, paths: []widePath{{path: All.Path}}, methods: []string{""}, queries: [][]Query{nil}}
	for _, c := range conditions {
		switch c := c.(type) {
		case model.HostHeader:
			b.readHosts(c)
		case model.PathPattern:
			b.readPaths(c)
		case model.RequestMethod:
			b.readMethods(c)
		case model.HTTPHeader:
			b.readHeader(c)
		case model.QueryString:
			b.readQueries(c)
		case model.SourceIP:
			b.sources = append(b.sources, c.CIDRs)
		}
	}
	return b.product()
}

// widePath is a path of a route, with the path that it admits and the pattern does not.
type widePath struct {
	path  Path
	wider string
}

type builder struct {
	hosts   []string
	paths   []widePath
	methods []string
	headers []Header
	queries [][]Query
	sources [][]string
	faults  []string
}

func (b *builder) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// mostMatches is how many a rule becomes, which all are of one rule of a route.
// https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule
const mostMatches = 64

// count reports whether a rule can have so many matches.
func (b *builder) count(n int) bool {
	if n > mostMatches {
		b.fault("the conditions become %d matches, and a rule of a route has at most %d", n, mostMatches)
	}
	return n <= mostMatches
}

func (b *builder) product() Matches {
	b.count(len(b.hosts) * len(b.paths) * len(b.methods) * len(b.queries))
	out := Matches{Faults: b.faults}
	if len(out.Faults) > 0 {
		return out
	}
	slices.SortFunc(b.headers, func(x, y Header) int { return strings.Compare(x.Name, y.Name) })
	for _, host := range b.hosts {
		for _, p := range b.paths {
			for _, method := range b.methods {
				for _, q := range b.queries {
					m := Match{Host: host, Path: p.path, Method: method, Headers: b.headers, Queries: q, Sources: b.sources}
					out.List = append(out.List, m)
					var not []Match
					if p.wider != "" {
						m.Path = Path{Exact, p.wider}
						not = []Match{m}
					}
					out.Not = append(out.Not, not)
				}
			}
		}
	}
	for i, not := range out.Not {
		out.Not[i] = slices.DeleteFunc(not, func(w Match) bool {
			return slices.ContainsFunc(out.List, func(m Match) bool { return !m.equal(out.List[i]) && m.Covers(w) })
		})
	}
	return out
}

func (b *builder) readHosts(c model.HostHeader) {
	b.hosts = nil
	for _, expr := range c.Regex {
		b.fault("host expression %q has no counterpart in a hostname of a route", expr)
	}
	for _, h := range c.Values {
		h = strings.ToLower(h)
		switch {
		case h == "*":
			h = ""
		case !hostname.MatchString(h):
			b.fault("host pattern %q is no hostname that a route can have: only a first label of * stands for others", h)
		}
		if !slices.Contains(b.hosts, h) {
			b.hosts = append(b.hosts, h)
		}
	}
}

func (b *builder) readPaths(c model.PathPattern) {
	b.paths = nil
	for _, expr := range c.Regex {
		b.paths = append(b.paths, widePath{path: Path{Regex, expr}})
	}
	for i := 0; i < len(c.Values); i++ {
		v := c.Values[i]
		if i+1 < len(c.Values) && c.Values[i+1] == v+"/*" && plainPath(v) {
			b.paths = append(b.paths, widePath{path: Path{Prefix, v}})
			i++
			continue
		}
		b.paths = append(b.paths, pathOf(v))
	}
}

// pathOf returns one pattern of AWS.
func pathOf(v string) widePath {
	prefix, below := strings.CutSuffix(v, "/*")
	switch {
	case v == "*" || v == "/*":
		return widePath{path: All.Path}
	case plainPath(v):
		return widePath{path: Path{Exact, v}}
	case below && plainPath(prefix):
		return widePath{path: Path{Prefix, prefix}, wider: prefix}
	}
	return widePath{path: Path{Regex, expression(v)}}
}

// expression returns a pattern of AWS as a regular expression.
func expression(pattern string) string {
	var out strings.Builder
	out.WriteByte('^')
	for _, r := range pattern {
		switch r {
		case '*':
			out.WriteString(".*")
		case '?':
			out.WriteByte('.')
		default:
			out.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	out.WriteByte('$')
	return out.String()
}

// refusedInPaths are texts that no path of a route may have.
// https://gateway-api.sigs.k8s.io/reference/spec/#httppathmatch
var refusedInPaths = []string{"//", "/./", "/../", "%2f", "%2F", "#"}

var pathCharacters = regexp.MustCompile(`^(?:[-A-Za-z0-9/._~!$&'()+,;=:@]|[%][0-9a-fA-F]{2})+$`)

// plainPath reports whether a route can have the text as a path, and AWS takes it as it stands.
func plainPath(v string) bool {
	refused := slices.ContainsFunc(refusedInPaths, func(s string) bool { return strings.Contains(v, s) })
	return strings.HasPrefix(v, "/") && len(v) <= 1024 && !refused && pathCharacters.MatchString(v) &&
		!strings.HasSuffix(v, "/.") && !strings.HasSuffix(v, "/..")
}

func (b *builder) readMethods(c model.RequestMethod) {
	b.methods = nil
	for _, m := range c.Values {
		if !slices.Contains(methods, m) {
			b.fault("method %q is not one that a route can name", m)
		}
		b.methods = append(b.methods, m)
	}
}

func (b *builder) readHeader(c model.HTTPHeader) {
	h := Header{Name: c.Name, Values: c.Values}
	if len(c.Regex) > 0 {
		h.Values, h.Regex = nil, c.Regex[0]
		if len(c.Regex) > 1 {
			h.Regex = "(?:" + strings.Join(c.Regex, ")|(?:") + ")"
		}
	}
	if slices.ContainsFunc(b.headers, func(o Header) bool { return strings.EqualFold(o.Name, h.Name) }) {
		b.fault("header %q has two conditions, and a route names a header once", c.Name)
	}
	b.headers = append(b.headers, h)
}

func (b *builder) readQueries(c model.QueryString) {
	if !b.count(len(b.queries) * len(c.Pairs)) {
		return // conditions of one rule multiply
	}
	var out [][]Query
	for _, have := range b.queries {
		for _, p := range c.Pairs {
			if p.Key == "" {
				b.fault("value %q of any parameter has no counterpart in a route, which names the parameter", p.Value)
				continue
			}
			q, rel := intersectQueries(have, []Query{{p.Key, p.Value}})
			if rel != Overlap {
				b.fault("parameter %q has two conditions, and a route names a parameter once", p.Key)
			}
			out = append(out, q)
		}
	}
	b.queries = out
}
