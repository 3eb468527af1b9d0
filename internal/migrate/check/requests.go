package check

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/migrate/match"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// mostRequests is how many requests are tried for a port, and mostLooks at how many rules is looked for them. What is beyond
// is reported.
const (
	mostRequests = 200_000
	mostLooks    = 40_000_000
)

// values are what the conditions of rules on one part of a request distinguish.
type values struct{ list []string }

func (v *values) add(of ...string) {
	for _, s := range of {
		if !slices.Contains(v.list, s) {
			v.list = append(v.list, s)
		}
	}
}

// space is a set of requests in which each condition of some rules holds for some and not for others.
type space struct {
	paths, methods, queries, clients values
	together                         values // queries with all parameters of a rule
	headers                          map[string]*values
	names                            []string // of headers, in order
}

// hostsOf returns hosts that the rules distinguish: each one that they name, one below each wildcard, and one that none
// names.
func hostsOf(rules []model.Rule) []string {
	var v values
	for _, r := range rules {
		for _, c := range r.Conditions {
			h, ok := c.(model.HostHeader)
			if !ok {
				continue
			}
			for _, host := range h.Values {
				host = strings.ToLower(host)
				v.add(strings.NewReplacer("*", "x", "?", "x").Replace(host))
				if rest, wild := strings.CutPrefix(host, "*."); wild {
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

// spaceOf returns the space of some rules.
func spaceOf(rules []model.Rule) *space {
	s := &space{headers: map[string]*values{}}
	s.paths.add("/", "/other-path")
	s.queries.add("")
	for _, r := range rules {
		var query []string
		for _, c := range r.Conditions {
			s.add(c)
			if q, ok := c.(model.QueryString); ok && len(q.Pairs) > 0 {
				query = append(query, plainQuery(q.Pairs[0]))
			}
		}
		s.together.add(strings.Join(query, "&"))
		for _, t := range r.Transforms {
			for _, x := range t.Rewrites {
				for _, p := range match.Rewritable(x.Regex) {
					s.path(p)
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

func (s *space) add(c model.Condition) {
	switch c := c.(type) {
	case model.PathPattern:
		for _, p := range c.Values {
			for _, some := range []string{"x", "", "x/y"} {
				s.path(strings.NewReplacer("*", some, "?", "x").Replace(p))
			}
			plain := strings.TrimSuffix(strings.TrimSuffix(p, "*"), "/")
			s.path(plain)
			s.path(plain + "/")
			s.path(plain + "-x")
			s.path(strings.ToUpper(plain))
		}
		for _, expr := range c.Regex {
			p := match.Example(expr)
			s.path(p)
			s.path(p + "/x")
			s.path(p + "x")
		}
	case model.RequestMethod:
		s.methods.add(c.Values...)
	case model.HTTPHeader:
		name := strings.ToLower(c.Name)
		if s.headers[name] == nil {
			s.headers[name] = &values{}
			s.headers[name].add("", "other-value")
			s.names = append(s.names, name)
		}
		for _, v := range c.Values {
			s.headers[name].add(strings.NewReplacer("*", "x", "?", "x").Replace(v), strings.ReplaceAll(v, "*", ""))
		}
		for _, expr := range c.Regex {
			s.headers[name].add(match.Example(expr), match.Example(expr)+"x")
		}
	case model.QueryString:
		for _, p := range c.Pairs {
			query := plainQuery(p)
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

// plainQuery returns a query with the parameter of a condition.
func plainQuery(p model.QueryPair) string {
	plain := strings.NewReplacer(`\*`, "*", `\?`, "?", "*", "x", "?", "x")
	return plain.Replace(cmp.Or(p.Key, "any")) + "=" + plain.Replace(p.Value)
}

func (s *space) path(p string) {
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	s.paths.add(p)
}

// mostCombined is how many combinations of headers are tried, and how many of parameters.
const mostCombined = 256

// combinedQueries returns the queries, those that the parameters of one rule make together, and pairs of queries. They
// are not all where these are too many.
func (s *space) combinedQueries() (out []string, all bool) {
	var v values
	v.add(s.queries.list...)
	v.add(s.together.list...)
	for i, a := range s.queries.list {
		for _, b := range s.queries.list[i+1:] {
			if len(v.list) >= mostCombined {
				return v.list, false
			}
			if a != "" && b != "" {
				v.add(a + "&" + b)
			}
		}
	}
	return v.list, true
}

// combinedHeaders returns the headers that requests have: none, and values for each and all. They are not all where
// these are too many.
func (s *space) combinedHeaders() (out [][]model.HeaderField, all bool) {
	out, all = [][]model.HeaderField{nil}, true
	for _, name := range s.names {
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
		if out = next; len(out) > mostCombined {
			out, all = out[:mostCombined], false
		}
	}
	return out, all
}

// eachRequest calls visit with the requests for a host, and reports whether these were all.
func (s *space) eachRequest(host string, left *int, visit func(model.Request)) (all bool) {
	headers, allHeaders := s.combinedHeaders()
	queries, allQueries := s.combinedQueries()
	for _, path := range s.paths.list {
		for _, method := range s.methods.list {
			for _, query := range queries {
				for _, client := range s.clients.list {
					for _, h := range headers {
						if *left--; *left < 0 {
							return false
						}
						visit(model.Request{Host: host, Path: path, Method: method, Query: query, Client: client, Header: h})
					}
				}
			}
		}
	}
	return allHeaders && allQueries
}
