package model

import (
	"slices"
	"strconv"
)

// Shadowing is what an earlier redirect with regular expressions for its hosts covers.
type Shadowing int

// The kinds of shadowing.
const (
	// RegexHostsCoverThemselves is exact: only rules with the same expressions are covered.
	RegexHostsCoverThemselves Shadowing = iota
	// RegexHostsCoverAll takes such a redirect for one of every host, as older controllers did.
	RegexHostsCoverAll
)

// Optimize returns the listener's rules without those that can do nothing: redirects of requests
// to themselves, which would never end, and rules whose requests an earlier redirect takes already
// (redirects of everything to HTTPS are the usual case). Held rules are kept and cover
// nothing: their conditions may be known in part only, and AWS may lack them. The listener is not changed.
func Optimize(l Listener, s Shadowing) []Rule {
	if len(l.Rules) == 0 {
		return nil
	}
	kept := make([]Rule, 0, len(l.Rules))
	earlier := redirects{shadowing: s}
	for _, r := range l.Rules {
		if r.Held != 0 {
			kept = append(kept, r)
			continue
		}
		target, isRedirect := redirectOf(r)
		if isRedirect && redirectsToItself(l, r, target) {
			continue
		}
		if earlier.isShadowed(r) {
			continue
		}
		kept = append(kept, r)
		if isRedirect {
			earlier.add(r)
		}
	}
	return kept
}

// Uncover brings back the rules that were left out because of a redirect which is held now, and so does
// not answer their requests.
func (l *Listener) Uncover() {
	if l.Covered == nil {
		return
	}
	now := map[RuleKey]Rule{}
	for _, r := range l.Rules {
		now[r.Key(l.Port)] = r
	}
	all := slices.Clone(l.Covered)
	for i, r := range all {
		if x, ok := now[r.Key(l.Port)]; ok {
			all[i] = x
		}
	}
	l.Rules = all
	l.Rules = Optimize(*l, l.Covering)
}

func redirectOf(r Rule) (Redirect, bool) {
	for _, a := range r.Actions {
		if to, ok := a.(Redirect); ok {
			return to, true
		}
	}
	return Redirect{}, false
}

// redirectsToItself reports whether a redirect leads back to the rule. A rule with several hosts or
// paths counts as a whole as soon as one of them is the target.
func redirectsToItself(l Listener, r Rule, to Redirect) bool {
	var hosts, paths []string
	for _, c := range r.Conditions {
		switch c := c.(type) {
		case HostHeader:
			hosts = append(hosts, c.Values...)
		case PathPattern:
			if len(c.Regex) > 0 {
				return false
			}
			paths = append(paths, c.Values...)
		}
	}
	keeps := func(value string, same ...string) bool { return value == "" || slices.Contains(same, value) }
	return keeps(to.Host, append(hosts, "#{host}")...) &&
		keeps(to.Path, append(paths, "/#{path}")...) &&
		keeps(to.Port, "#{port}", strconv.FormatInt(int64(l.Port), 10)) &&
		keeps(to.Protocol, "#{protocol}", l.Protocol()) &&
		!to.DropQuery && keeps(to.Query, "#{query}")
}

// shadows reports whether every request of rule r meets the earlier redirect e first. Values are
// compared as they are written; a wildcard that covers another value is not looked for, except the
// path that covers all.
func shadows(e, r Rule, s Shadowing) bool {
	if !hasOnlyHostsAndPaths(e) || !covers(coveredHosts(e, s), hostValues(r)) {
		return false
	}
	paths := pathValues(e)
	return slices.Contains(paths.plain, allPaths) || covers(paths, pathValues(r))
}

// allPaths is the path that covers all.
const allPaths = "/*"

// hasOnlyHostsAndPaths reports whether a rule has no conditions but hosts and paths.
func hasOnlyHostsAndPaths(r Rule) bool {
	for _, c := range r.Conditions {
		switch c.(type) {
		case HostHeader, PathPattern:
		default:
			return false
		}
	}
	return true
}

// coveredHosts returns the hosts that an earlier redirect covers.
func coveredHosts(e Rule, s Shadowing) values {
	hosts := hostValues(e)
	if s == RegexHostsCoverAll {
		hosts.regex = nil
	}
	return hosts
}

// values of the conditions on one field. Plain and regex values are different things: the same
// text means something else as the other.
type values struct{ plain, regex []string }

func (v values) empty() bool { return len(v.plain)+len(v.regex) == 0 }

func hostValues(r Rule) (out values) {
	for _, c := range r.Conditions {
		if h, ok := c.(HostHeader); ok {
			out.plain, out.regex = append(out.plain, h.Values...), append(out.regex, h.Regex...)
		}
	}
	return out
}

func pathValues(r Rule) (out values) {
	for _, c := range r.Conditions {
		if p, ok := c.(PathPattern); ok {
			out.plain, out.regex = append(out.plain, p.Values...), append(out.regex, p.Regex...)
		}
	}
	return out
}

// covers reports whether what the values of r admit, those of e admit. No value at all admits
// everything.
func covers(e, r values) bool {
	if e.empty() {
		return true
	}
	return !r.empty() && contains(e.plain, r.plain) && contains(e.regex, r.regex)
}

func contains(all, some []string) bool {
	for _, s := range some {
		if !slices.Contains(all, s) {
			return false
		}
	}
	return true
}
