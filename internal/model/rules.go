package model

import (
	"slices"
	"strconv"
)

// Shadowing selects which later rules a redirect covers if its host conditions are regular expressions.
type Shadowing int

// The values of Shadowing.
const (
	// RegexHostsCoverThemselves is exact: a redirect for regular expressions covers only rules with the same regular
	// expressions.
	RegexHostsCoverThemselves Shadowing = iota
	// RegexHostsCoverAll treats a redirect for regular expressions like a redirect for all hosts, as
	// aws-load-balancer-controller does.
	RegexHostsCoverAll
)

// OptimizeRules returns the rules of a listener without useless rules: redirects to their own URL, which would never end,
// and rules for which an earlier redirect answers all requests (usually a redirect of everything to HTTPS). Held rules stay,
// and they cover no other rules, because their conditions may be incomplete or not in AWS. The listener is not changed.
func OptimizeRules(l Listener, s Shadowing) []Rule {
	if len(l.Rules) == 0 {
		return nil
	}
	kept := make([]Rule, 0, len(l.Rules))
	earlier := redirectIndex{shadowing: s}
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
			earlier.addRedirect(r)
		}
	}
	return kept
}

// RestoreShadowedRules computes Rules again from AllRules. Rules that are in Rules keep their current values, such as Held.
// A rule that was left out because of a redirect is restored if the redirect is held now: the redirect may not exist in AWS,
// and then does not answer the requests of the rule.
func (l *Listener) RestoreShadowedRules() {
	if l.AllRules == nil {
		return
	}
	now := map[RuleKey]Rule{}
	for _, r := range l.Rules {
		now[r.Key(l.Port)] = r
	}
	all := slices.Clone(l.AllRules)
	for i, r := range all {
		if x, ok := now[r.Key(l.Port)]; ok {
			all[i] = x
		}
	}
	l.Rules = all
	l.Rules = OptimizeRules(*l, l.Shadowing)
}

func redirectOf(r Rule) (Redirect, bool) {
	for _, a := range r.Actions {
		if to, ok := a.(Redirect); ok {
			return to, true
		}
	}
	return Redirect{}, false
}

// redirectsToItself reports whether the target of a redirect is a URL that the rule r of the redirect matches. The result is
// also true if the target is only one of several hosts or paths of the rule.
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

// shadows reports whether the earlier redirect e answers all requests of rule r. Values are compared as text: except for
// allPaths, shadows does not check whether a wildcard covers another value.
func shadows(e, r Rule, s Shadowing) bool {
	if !hasOnlyHostsAndPaths(e) || !coversValues(coveredHosts(e, s), hostValues(r)) {
		return false
	}
	paths := pathValues(e)
	return slices.Contains(paths.plain, allPaths) || coversValues(paths, pathValues(r))
}

// allPaths is the path pattern that matches all paths.
const allPaths = "/*"

// hasOnlyHostsAndPaths reports whether a rule has no conditions other than hosts and paths.
func hasOnlyHostsAndPaths(r Rule) bool {
	return !slices.ContainsFunc(r.Conditions, func(c Condition) bool { return !isHostOrPath(c) })
}

// coveredHosts returns the host values that the redirect e covers; empty values mean all hosts.
func coveredHosts(e Rule, s Shadowing) values {
	hosts := hostValues(e)
	if s == RegexHostsCoverAll {
		hosts.regex = nil
	}
	return hosts
}

// values are the values of the host conditions or of the path conditions of a rule. Plain values and regular expressions are
// separate, because the same text means something else as a plain value than as a regular expression.
type values struct{ plain, regex []string }

func (v values) isEmpty() bool { return len(v.plain)+len(v.regex) == 0 }

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

// coversValues reports whether e includes all values of r. If e or r is empty, it includes all possible values.
func coversValues(e, r values) bool {
	if e.isEmpty() {
		return true
	}
	return !r.isEmpty() && containsAll(e.plain, r.plain) && containsAll(e.regex, r.regex)
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
