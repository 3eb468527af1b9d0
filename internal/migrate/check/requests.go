package check

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/migrate/match"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// maxRequests is the maximum number of requests that are tried for a port. maxEvaluations is the maximum number of rules
// that are evaluated for these requests. If one of these limits is exceeded, ForEachRequest returns false.
const (
	maxRequests    = 200_000
	maxEvaluations = 40_000_000
)

// valueSet is a set of values of one part of a request, in the order in which they were added.
type valueSet struct{ list []string }

// add adds values that the set does not have.
func (v *valueSet) add(values ...string) {
	for _, s := range values {
		if !slices.Contains(v.list, s) {
			v.list = append(v.list, s)
		}
	}
}

// requestSpace has values for each part of a request. The combinations of these values are requests that distinguish some
// rules: each condition of the rules matches some of the requests and does not match others.
type requestSpace struct {
	paths, methods, queries, clients valueSet
	ruleQueries                      valueSet // for each rule, a query with all parameters of its conditions
	headers                          map[string]*valueSet
	headerNames                      []string // the keys of headers, in the order in which they were added
}

// hostsOf returns hosts that the rules distinguish: the hosts that they name, a host below each wildcard, and a host that
// no rule names.
func hostsOf(rules []model.Rule) []string {
	var v valueSet
	for _, r := range rules {
		for _, c := range r.Conditions {
			h, ok := c.(model.HostHeader)
			if !ok {
				continue
			}
			for _, host := range h.Values {
				host = strings.ToLower(host)
				v.add(strings.NewReplacer("*", "x", "?", "x").Replace(host))
				if rest, isWildcard := strings.CutPrefix(host, "*."); isWildcard {
					v.add("y.x."+rest, rest)
				}
			}
			for _, expr := range h.Regex {
				if plain, ok := model.PlainHost(expr); ok {
					v.add(strings.ReplaceAll(plain, "*", "x"))
				} else {
					v.add(match.Example(expr))
				}
			}
		}
	}
	v.add("other.invalid")
	return v.list
}

// requestSpaceOf returns values whose combinations are requests that distinguish all conditions of some rules.
func requestSpaceOf(rules []model.Rule) *requestSpace {
	s := &requestSpace{headers: map[string]*valueSet{}}
	s.paths.add("/", "/other-path")
	s.queries.add("")
	for _, r := range rules {
		var query []string
		for _, c := range r.Conditions {
			s.addCondition(c)
			if q, ok := c.(model.QueryString); ok && len(q.Pairs) > 0 {
				query = append(query, exampleQuery(q.Pairs[0]))
			}
		}
		s.ruleQueries.add(strings.Join(query, "&"))
		for _, t := range r.Transforms {
			for _, x := range t.Rewrites {
				for _, p := range match.RewriteSamples(x.Regex) {
					s.addPath(p)
				}
			}
		}
	}
	s.methods.add("GET")
	if len(s.methods.list) > 1 || slices.ContainsFunc(rules, hasMethod) {
		s.methods.add("OTHER")
	}
	if len(s.clients.list) == 0 {
		s.clients.add("192.0.2.1")
	}
	return s
}

func hasMethod(r model.Rule) bool {
	return slices.ContainsFunc(r.Conditions, func(c model.Condition) bool { _, ok := c.(model.RequestMethod); return ok })
}

// addCondition adds values that match a condition, and similar values that do not match it.
func (s *requestSpace) addCondition(c model.Condition) {
	switch c := c.(type) {
	case model.PathPattern:
		for _, p := range c.Values {
			for _, text := range []string{"x", "", "x/y"} {
				s.addPath(strings.NewReplacer("*", text, "?", "x").Replace(p))
			}
			plain := strings.TrimSuffix(strings.TrimSuffix(p, "*"), "/")
			s.addPath(plain)
			s.addPath(plain + "/")
			s.addPath(plain + "-x")
			s.addPath(strings.ToUpper(plain))
		}
		for _, expr := range c.Regex {
			p := match.Example(expr)
			s.addPath(p)
			s.addPath(p + "/x")
			s.addPath(p + "x")
		}
	case model.RequestMethod:
		s.methods.add(c.Values...)
	case model.HTTPHeader:
		name := strings.ToLower(c.Name)
		if s.headers[name] == nil {
			s.headers[name] = &valueSet{}
			s.headers[name].add("", "other-value")
			s.headerNames = append(s.headerNames, name)
		}
		for _, v := range c.Values {
			s.headers[name].add(strings.NewReplacer("*", "x", "?", "x").Replace(v), strings.ReplaceAll(v, "*", ""))
		}
		for _, expr := range c.Regex {
			s.headers[name].add(match.Example(expr), match.Example(expr)+"x")
		}
	case model.QueryString:
		for _, p := range c.Pairs {
			query := exampleQuery(p)
			key, _, _ := strings.Cut(query, "=")
			s.queries.add(query, key+"=other-value")
		}
	case model.SourceIP:
		s.clients.add("192.0.2.1", "2001:db8:ffff::1")
		for _, cidr := range c.CIDRs {
			if p, err := netip.ParsePrefix(cidr); err == nil {
				s.clients.add(p.Addr().String())
			}
		}
	}
}

// exampleQuery returns a query that matches one pair of a condition on query parameters.
func exampleQuery(p model.QueryPair) string {
	plain := strings.NewReplacer(`\*`, "*", `\?`, "?", "*", "x", "?", "x")
	return plain.Replace(cmp.Or(p.Key, "any")) + "=" + plain.Replace(p.Value)
}

// addPath adds a path, preceded by a slash if it does not begin with one.
func (s *requestSpace) addPath(p string) {
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	s.paths.add(p)
}

// maxCombinations is the maximum number of combinations of headers that are tried, and of combinations of parameters.
const maxCombinations = 256

// combinedQueries returns the single queries, for each rule the query with all of its parameters, and pairs of single
// queries. complete is false if these are more than maxCombinations.
func (s *requestSpace) combinedQueries() (out []string, complete bool) {
	var v valueSet
	v.add(s.queries.list...)
	v.add(s.ruleQueries.list...)
	for i, a := range s.queries.list {
		for _, b := range s.queries.list[i+1:] {
			if len(v.list) >= maxCombinations {
				return v.list, false
			}
			if a != "" && b != "" {
				v.add(a + "&" + b)
			}
		}
	}
	return v.list, true
}

// combinedHeaders returns combinations of header values, including the one without headers. complete is false if these are
// more than maxCombinations.
func (s *requestSpace) combinedHeaders() (out [][]model.HeaderField, complete bool) {
	out, complete = [][]model.HeaderField{nil}, true
	for _, name := range s.headerNames {
		var next [][]model.HeaderField
		for _, have := range out {
			for _, v := range s.headers[name].list {
				if v == "" {
					next = append(next, have)
				} else {
					next = append(next, append(slices.Clone(have), model.HeaderField{Name: name, Value: v}))
				}
			}
		}
		if out = next; len(out) > maxCombinations {
			out, complete = out[:maxCombinations], false
		}
	}
	return out, complete
}

// forEachRequest calls visit with the requests for a host, but with at most remaining of them. It decreases remaining by the
// number of requests. complete is false if it left out requests.
func (s *requestSpace) forEachRequest(host string, remaining *int, visit func(model.Request)) (complete bool) {
	headers, headersComplete := s.combinedHeaders()
	queries, queriesComplete := s.combinedQueries()
	for _, path := range s.paths.list {
		for _, method := range s.methods.list {
			for _, query := range queries {
				for _, client := range s.clients.list {
					for _, h := range headers {
						if *remaining--; *remaining < 0 {
							return false
						}
						visit(model.Request{Host: host, Path: path, Method: method, Query: query, Client: client, Header: h})
					}
				}
			}
		}
	}
	return headersComplete && queriesComplete
}
