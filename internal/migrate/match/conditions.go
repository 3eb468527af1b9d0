package match

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Matches are the matches of an HTTPRoute that together match the requests of a listener rule.
type Matches struct {
	List []Match
	// Excluded has, for each match of List, matches of the requests that match it but not the listener rule. They exist
	// because a path prefix of a route always includes the path itself.
	Excluded [][]Match
	// Faults are messages about conditions that a route cannot express. If there are any, List is empty.
	Faults []string
}

// routeMethods are the methods that a match of an HTTPRoute can name.
var routeMethods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

// hostnamePattern matches the hostnames that an HTTPRoute can have.
var hostnamePattern = regexp.MustCompile(`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// IsPreciseHostname reports whether a filter of an HTTPRoute can set a hostname.
func IsPreciseHostname(host string) bool {
	return hostnamePattern.MatchString(host) && host[0] != '*' && len(host) <= 253
}

// namePattern matches the names of headers and query parameters that a match of an HTTPRoute can have.
var namePattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$")

// FromConditions converts the conditions of a listener rule to matches of an HTTPRoute.
func FromConditions(conditions []model.Condition) Matches {
	b := conditionReader{hosts: []string{""}, paths: []patternPath{{path: AnyRequest.Path}}, methods: []string{""}, queries: [][]Query{nil}}
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
	return b.combine()
}

// patternPath is the path of a route for a path pattern of AWS. If path also matches one path that the pattern does not
// match, excluded is that path; otherwise excluded is empty.
type patternPath struct {
	path     Path
	excluded string
}

// conditionReader collects the conditions of a listener rule as values for matches.
type conditionReader struct {
	hosts   []string
	paths   []patternPath
	methods []string
	headers []Header
	queries [][]Query
	sources [][]string
	faults  []string
}

// addFault records a condition that a route cannot express.
func (b *conditionReader) addFault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// maxMatches is the maximum number of matches in a rule of an HTTPRoute.
// https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule
const maxMatches = 64

// checkCount reports whether n matches fit into one rule. If they do not, it adds a fault.
func (b *conditionReader) checkCount(n int) bool {
	if n > maxMatches {
		b.addFault("the conditions need %d matches, but a rule of a route has at most %d", n, maxMatches)
	}
	return n <= maxMatches
}

// combine returns a match for each combination of host, path, method and parameters. All matches have the same headers and
// client ranges.
func (b *conditionReader) combine() Matches {
	b.checkCount(len(b.hosts) * len(b.paths) * len(b.methods) * len(b.queries))
	out := Matches{Faults: b.faults}
	if len(out.Faults) > 0 {
		return out
	}
	slices.SortFunc(b.headers, func(x, y Header) int { return strings.Compare(x.key(), y.key()) })
	for _, host := range b.hosts {
		for _, p := range b.paths {
			for _, method := range b.methods {
				for _, q := range b.queries {
					m := Match{Host: host, Path: p.path, Method: method, Headers: b.headers, Queries: q, Sources: b.sources}
					out.List = append(out.List, m)
					var excluded []Match
					if p.excluded != "" {
						m.Path = Path{Exact, p.excluded}
						excluded = []Match{m}
					}
					out.Excluded = append(out.Excluded, excluded)
				}
			}
		}
	}
	for i, excluded := range out.Excluded {
		out.Excluded[i] = slices.DeleteFunc(excluded, func(w Match) bool {
			return slices.ContainsFunc(out.List, func(m Match) bool { return !m.equal(out.List[i]) && m.Covers(w) })
		})
	}
	return out
}

// readHosts sets the hosts from a condition, and adds faults about hosts that a route cannot have.
func (b *conditionReader) readHosts(c model.HostHeader) {
	b.hosts = nil
	for _, expr := range c.Regex {
		b.addFault("host regular expression %q cannot be a hostname of a route", expr)
	}
	for _, h := range c.Values {
		h = strings.ToLower(h)
		switch {
		case h == "*":
			h = ""
		case !hostnamePattern.MatchString(h):
			b.addFault("host pattern %q is not valid as a hostname of a route: a wildcard may only be the whole first label", h)
		}
		if !slices.Contains(b.hosts, h) {
			b.hosts = append(b.hosts, h)
		}
	}
}

// readPaths sets the paths from a condition. If a path is followed by the pattern for all paths below it, such as /a by
// /a/*, both become one prefix.
func (b *conditionReader) readPaths(c model.PathPattern) {
	b.paths = nil
	for _, expr := range c.Regex {
		b.paths = append(b.paths, patternPath{path: Path{Regex, expr}})
	}
	for i := 0; i < len(c.Values); i++ {
		v := c.Values[i]
		if i+1 < len(c.Values) && c.Values[i+1] == v+"/*" && isPlainPath(v) {
			b.paths = append(b.paths, patternPath{path: Path{Prefix, v}})
			i++
			continue
		}
		b.paths = append(b.paths, pathFromPattern(v))
	}
}

// pathFromPattern returns the path of a route for one pattern of AWS.
func pathFromPattern(v string) patternPath {
	prefix, isPrefix := strings.CutSuffix(v, "/*")
	switch {
	case v == "*" || v == "/*":
		return patternPath{path: AnyRequest.Path}
	case isPlainPath(v):
		return patternPath{path: Path{Exact, v}}
	case isPrefix && isPlainPath(prefix):
		return patternPath{path: Path{Prefix, prefix}, excluded: prefix}
	}
	return patternPath{path: Path{Regex, regexFromPattern(v)}}
}

// regexFromPattern returns a regular expression that matches the same paths as a path pattern of AWS.
func regexFromPattern(pattern string) string {
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

// forbiddenInPaths are texts that no path of a route may contain.
// https://gateway-api.sigs.k8s.io/reference/spec/#httppathmatch
var forbiddenInPaths = []string{"//", "/./", "/../", "%2f", "%2F", "#"}

// pathCharacters matches paths that have only characters that a route allows.
var pathCharacters = regexp.MustCompile(`^(?:[-A-Za-z0-9/._~!$&'()+,;=:@]|[%][0-9a-fA-F]{2})+$`)

// isPlainPath reports whether v is valid as a path of a route and has no wildcards of AWS.
func isPlainPath(v string) bool {
	refused := slices.ContainsFunc(forbiddenInPaths, func(s string) bool { return strings.Contains(v, s) })
	return strings.HasPrefix(v, "/") && len(v) <= 1024 && !refused && pathCharacters.MatchString(v) &&
		!strings.HasSuffix(v, "/.") && !strings.HasSuffix(v, "/..")
}

// readMethods sets the methods from a condition, and adds faults about methods that a route cannot name.
func (b *conditionReader) readMethods(c model.RequestMethod) {
	b.methods = nil
	for _, m := range c.Values {
		if !slices.Contains(routeMethods, m) {
			b.addFault("method %q is not supported in a route", m)
		}
		b.methods = append(b.methods, m)
	}
}

// readHeader adds a condition on a header. It adds a fault if a route cannot have the header, or if there is already a
// condition on the same header.
func (b *conditionReader) readHeader(c model.HTTPHeader) {
	h := Header{Name: c.Name, Values: c.Values}
	if len(c.Regex) > 0 {
		h.Values, h.Regex = nil, c.Regex[0]
		if len(c.Regex) > 1 {
			h.Regex = "(?:" + strings.Join(c.Regex, ")|(?:") + ")"
		}
	}
	if value, _ := h.Value(); !namePattern.MatchString(c.Name) || value == "" {
		b.addFault("header %q with the value %q is not valid in a route", c.Name, value)
	}
	if slices.ContainsFunc(b.headers, func(o Header) bool { return o.key() == h.key() }) {
		b.addFault("header %q has two conditions, but a route can match a header only once", c.Name)
	}
	b.headers = append(b.headers, h)
}

// readQueries adds a condition on query parameters. A request meets it if at least one of its pairs matches. Each such
// condition multiplies the number of matches.
func (b *conditionReader) readQueries(c model.QueryString) {
	if !b.checkCount(len(b.queries) * len(c.Pairs)) {
		return // without this limit, many conditions could need too much memory
	}
	var out [][]Query
	for _, have := range b.queries {
		for _, p := range c.Pairs {
			if p.Key == "" {
				b.addFault("a condition on value %q without a query parameter cannot be expressed in a route, which must name the parameter", p.Value)
				continue
			}
			if !namePattern.MatchString(p.Key) {
				b.addFault("the name of query parameter %q is not valid in a route", p.Key)
			}
			q, relation := intersectQueries(have, []Query{{p.Key, p.Value}})
			if relation != Overlap {
				b.addFault("query parameter %q has two conditions, but a route can match a parameter only once", p.Key)
			}
			out = append(out, q)
		}
	}
	b.queries = out
}
