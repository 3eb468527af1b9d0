package model

import (
	"slices"
	"strings"
)

// covering finds for a host and path the first rule that answers all requests for them. Only rules that
// look at nothing but host and path count, and of wildcards only one for a whole rest: a rule that is
// called unreachable is so.
type covering struct {
	rules []Rule
	hosts map[string]*pathsSeen // by host pattern
	ends  map[string]*pathsSeen // of hosts "*end", by end
}

// pathsSeen are the places of the first rules by path pattern.
type pathsSeen struct {
	whole  map[string]int // by pattern
	begins map[string]int // of paths "begin*", by beginning
}

// Covered is a rule that gets no requests, by its place, because rules before it answer them all. By is
// the place of one of these, of another member if there is one.
type Covered struct{ Rule, By int }

// Unreachable finds the rules of a listener, in order of precedence, that get no requests because other rules
// stand before them. Held rules cover nothing. A member that redirects what its own later rules match has asked
// for that: it is how an Ingress redirects all of HTTP, and serves the same rules by HTTPS.
func Unreachable(rules []Rule) []Covered {
	var out []Covered
	c := covering{rules: rules, hosts: map[string]*pathsSeen{}, ends: map[string]*pathsSeen{}}
	for i, r := range rules {
		if by, ok := c.find(r); ok && r.Held == 0 {
			out = append(out, Covered{i, by})
		}
		c.note(i)
	}
	return out
}

// find returns the place of a rule that answers requests of a rule, if all of its requests are answered before
// it: the first one of another member, else the first one of its own.
func (c *covering) find(r Rule) (by int, found bool) {
	hosts, paths := patternsOf(r)
	own, redirected := -1, false
	for _, h := range hosts {
		for _, p := range paths {
			i, ok := c.coverOf(h, p)
			switch {
			case !ok:
				return 0, false
			case c.rules[i].Member != r.Member && !found:
				by, found = i, true
			case c.rules[i].Member == r.Member:
				_, redirects := redirectOf(c.rules[i])
				redirected = redirected || redirects
				if own < 0 && c.rules[i].Origin != r.Origin {
					own = i
				}
			}
		}
	}
	if !found && own >= 0 && !redirected {
		return own, true
	}
	return by, found
}

// note adds a rule to those that come before the next ones.
func (c *covering) note(i int) {
	r := c.rules[i]
	if r.Held != 0 || !slices.ContainsFunc(r.Conditions, isHostOrPath) || slices.ContainsFunc(r.Conditions, func(x Condition) bool { return !isHostOrPath(x) }) {
		return
	}
	hosts, paths := patternsOf(r)
	for _, h := range hosts {
		if h == "" {
			continue
		}
		seen := c.hosts[h]
		if seen == nil {
			seen = &pathsSeen{whole: map[string]int{}, begins: map[string]int{}}
			c.hosts[h] = seen
			if end, ok := strings.CutPrefix(h, "*"); ok && !strings.ContainsAny(end, "*?") {
				c.ends[end] = seen
			}
		}
		for _, p := range paths {
			seen.note(p, i)
		}
	}
}

func (s *pathsSeen) note(path string, i int) {
	if path == "" {
		return
	}
	if _, taken := s.whole[path]; !taken {
		s.whole[path] = i
	}
	if begin, ok := strings.CutSuffix(path, "*"); ok && !strings.ContainsAny(begin, "*?") {
		if _, taken := s.begins[begin]; !taken {
			s.begins[begin] = i
		}
	}
}

// coverOf returns the earliest rule that answers everything for a host and path pattern. An empty
// pattern stands for an expression, of which nothing is known.
func (c *covering) coverOf(host, path string) (best int, found bool) {
	if host == "" || path == "" {
		return 0, false
	}
	look := func(s *pathsSeen) {
		if s == nil {
			return
		}
		if i, ok := s.coverOf(path); ok && (!found || i < best) {
			best, found = i, true
		}
	}
	look(c.hosts[host])
	literal := strings.LastIndexAny(host, "*?") + 1
	for i := literal; i <= len(host); i++ {
		look(c.ends[host[i:]])
	}
	return best, found
}

func (s *pathsSeen) coverOf(path string) (best int, found bool) {
	if i, ok := s.whole[path]; ok {
		best, found = i, true
	}
	literal := strings.IndexAny(path, "*?")
	if literal < 0 {
		literal = len(path)
	}
	for i := range literal + 1 {
		if at, ok := s.begins[path[:i]]; ok && (!found || at < best) {
			best, found = at, true
		}
	}
	return best, found
}

// patternsOf returns the hosts and paths of a rule. One without a host or path has all; an expression is an
// empty pattern, of which nothing is known.
func patternsOf(r Rule) (hosts, paths []string) {
	for _, c := range r.Conditions {
		switch c := c.(type) {
		case HostHeader:
			for _, v := range c.Values {
				hosts = append(hosts, strings.ToLower(v))
			}
			hosts = append(hosts, make([]string, len(c.Regex))...)
		case PathPattern:
			paths = append(append(paths, c.Values...), make([]string, len(c.Regex))...)
		}
	}
	if len(hosts) == 0 {
		hosts = []string{"*"}
	}
	if len(paths) == 0 {
		paths = []string{"/*"}
	}
	return hosts, paths
}

func isHostOrPath(c Condition) bool {
	switch c.(type) {
	case HostHeader, PathPattern:
		return true
	}
	return false
}
