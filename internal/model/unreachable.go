package model

import "strings"

// ruleCoverage finds the first rule that answers all requests for a host and a path. It uses only rules that have no
// conditions other than hosts and paths. A pattern covers an equal pattern. Only patterns whose single wildcard is * at the
// beginning of a host or at the end of a path also cover other patterns.
type ruleCoverage struct {
	rules        []Rule
	hosts        map[string]*earlierPaths // by host pattern
	hostSuffixes map[string]*earlierPaths // of host patterns "*SUFFIX", by SUFFIX
}

// earlierPaths has the path patterns of earlier rules, each with the index of the first rule that has it.
type earlierPaths struct {
	exact    map[string]int // by pattern
	prefixes map[string]int // for patterns "prefix*", by prefix
}

// UnreachableRule is the index of a rule that gets no requests, because earlier rules answer all of them. CoveredBy is the
// index of one of these earlier rules, if possible of another member.
type UnreachableRule struct{ Rule, CoveredBy int }

// UnreachableRules returns the rules of a listener that get no requests because of earlier rules. rules are in order of
// precedence. Held rules cover no other rules. A rule that a redirect of its own member covers is not returned, because an
// Ingress that redirects HTTP to HTTPS has the same rules on both listeners.
func UnreachableRules(rules []Rule) []UnreachableRule {
	var out []UnreachableRule
	c := ruleCoverage{rules: rules, hosts: map[string]*earlierPaths{}, hostSuffixes: map[string]*earlierPaths{}}
	for i, r := range rules {
		if by, ok := c.findCoveringRule(r); ok && r.Held == 0 {
			out = append(out, UnreachableRule{i, by})
		}
		c.addRule(i)
	}
	return out
}

// findCoveringRule returns an earlier rule that answers requests of rule r, if earlier rules answer all requests of r. If
// one of these rules belongs to another member, the first rule of another member is returned.
func (c *ruleCoverage) findCoveringRule(r Rule) (by int, found bool) {
	hosts, paths := patternsOf(r)
	own, redirected := -1, false
	for _, h := range hosts {
		for _, p := range paths {
			i, ok := c.firstCovering(h, p)
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

// addRule adds the rule with index i to the rules that can cover later rules.
func (c *ruleCoverage) addRule(i int) {
	r := c.rules[i]
	if r.Held != 0 || len(r.Conditions) == 0 || !hasOnlyHostsAndPaths(r) {
		return
	}
	hosts, paths := patternsOf(r)
	for _, h := range hosts {
		if h == "" {
			continue
		}
		seen := c.hosts[h]
		if seen == nil {
			seen = &earlierPaths{exact: map[string]int{}, prefixes: map[string]int{}}
			c.hosts[h] = seen
			if end, ok := strings.CutPrefix(h, "*"); ok && !strings.ContainsAny(end, "*?") {
				c.hostSuffixes[end] = seen
			}
		}
		for _, p := range paths {
			seen.addPath(p, i)
		}
	}
}

func (s *earlierPaths) addPath(path string, i int) {
	if path == "" {
		return
	}
	if _, taken := s.exact[path]; !taken {
		s.exact[path] = i
	}
	if begin, ok := strings.CutSuffix(path, "*"); ok && !strings.ContainsAny(begin, "*?") {
		if _, taken := s.prefixes[begin]; !taken {
			s.prefixes[begin] = i
		}
	}
}

// firstCovering returns the index of the first rule that answers all requests for a host pattern and a path pattern. An
// empty pattern means a regular expression, which no rule is known to cover.
func (c *ruleCoverage) firstCovering(host, path string) (best int, found bool) {
	if host == "" || path == "" {
		return 0, false
	}
	look := func(s *earlierPaths) {
		if s == nil {
			return
		}
		if i, ok := s.firstCovering(path); ok && (!found || i < best) {
			best, found = i, true
		}
	}
	look(c.hosts[host])
	literal := strings.LastIndexAny(host, "*?") + 1
	for i := literal; i <= len(host); i++ {
		look(c.hostSuffixes[host[i:]])
	}
	return best, found
}

func (s *earlierPaths) firstCovering(path string) (best int, found bool) {
	if i, ok := s.exact[path]; ok {
		best, found = i, true
	}
	literal := strings.IndexAny(path, "*?")
	if literal < 0 {
		literal = len(path)
	}
	for i := range literal + 1 {
		if at, ok := s.prefixes[path[:i]]; ok && (!found || at < best) {
			best, found = at, true
		}
	}
	return best, found
}

// patternsOf returns the host patterns and the path patterns of a rule. If the rule has no host or no path condition, it
// returns a pattern that matches everything. For a regular expression it returns an empty pattern.
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
