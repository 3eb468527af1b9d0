package model

import "strings"

// covering finds, for a host and a path, the first rule that answers all requests for them. It only uses rules whose
// conditions are only hosts and paths, with no wildcards except * at the beginning of a host or the end of a path, so that
// the result is certain.
type covering struct {
	rules []Rule
	hosts map[string]*earlierPaths // by host pattern
	ends  map[string]*earlierPaths // of hosts "*end", by end
}

// earlierPaths are the indexes of the first rules by path pattern.
type earlierPaths struct {
	whole  map[string]int // by pattern
	begins map[string]int // for patterns "prefix*", by prefix
}

// Covered is the index of a rule that gets no requests, because earlier rules answer them all. By is the index of one of
// these, if possible one of another member.
type Covered struct{ Rule, By int }

// Unreachable finds the rules of a listener that get no requests because of earlier rules. rules are in order of
// precedence. Held rules cover nothing. Rules that are covered by redirects of their own member are not returned: that is
// how an Ingress redirects HTTP and serves the same rules over HTTPS.
func Unreachable(rules []Rule) []Covered {
	var out []Covered
	c := covering{rules: rules, hosts: map[string]*earlierPaths{}, ends: map[string]*earlierPaths{}}
	for i, r := range rules {
		if by, ok := c.find(r); ok && r.Held == 0 {
			out = append(out, Covered{i, by})
		}
		c.add(i)
	}
	return out
}

// find returns the index of a rule that answers requests of a rule, if earlier rules answer all of its requests: the first
// one of another member, otherwise the first one of its own member.
func (c *covering) find(r Rule) (by int, found bool) {
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

// add adds a rule to the earlier ones.
func (c *covering) add(i int) {
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
			seen = &earlierPaths{whole: map[string]int{}, begins: map[string]int{}}
			c.hosts[h] = seen
			if end, ok := strings.CutPrefix(h, "*"); ok && !strings.ContainsAny(end, "*?") {
				c.ends[end] = seen
			}
		}
		for _, p := range paths {
			seen.add(p, i)
		}
	}
}

func (s *earlierPaths) add(path string, i int) {
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

// firstCovering returns the first rule that answers all requests for a host pattern and a path pattern. An empty pattern
// means a regular expression and is never covered.
func (c *covering) firstCovering(host, path string) (best int, found bool) {
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
		look(c.ends[host[i:]])
	}
	return best, found
}

func (s *earlierPaths) firstCovering(path string) (best int, found bool) {
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

// patternsOf returns the host and path patterns of a rule; patterns for all if it has none. A regular expression is returned
// as an empty pattern.
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
