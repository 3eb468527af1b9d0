package assemble

import (
	"slices"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Optimizer removes rules of one listener that cannot matter, before priorities are given.
type Optimizer struct {
	Port     int32
	Protocol string // HTTP or HTTPS
	// RegexHostsCover lets a redirect whose only hosts are regular expressions cover every host,
	// as older controllers had it.
	RegexHostsCover bool
}

// Optimize returns the rules that are left, in order: redirects to where the request already is
// are gone, and so is everything that an earlier redirect covers.
func (o Optimizer) Optimize(rules []model.Rule) []model.Rule {
	var out []model.Rule
	for _, r := range rules {
		redirect := redirectOf(r)
		if redirect != nil && o.toItself(r, *redirect) {
			continue
		}
		if slices.ContainsFunc(out, func(e model.Rule) bool { return redirectOf(e) != nil && o.covers(e, r) }) {
			continue
		}
		out = append(out, r)
	}
	return out
}

func redirectOf(r model.Rule) *model.Redirect {
	for _, a := range r.Actions {
		if d, ok := a.(model.Redirect); ok {
			return &d
		}
	}
	return nil
}

// toItself says whether the redirect would lead to an address that the rule matches again.
func (o Optimizer) toItself(r model.Rule, d model.Redirect) bool {
	hosts, paths := placesOf(r)
	if len(paths.regex) > 0 {
		return false
	}
	is := func(v, variable string, same ...string) bool {
		return v == "" || v == variable || slices.Contains(same, v)
	}
	return is(d.Host, "#{host}", hosts.plain...) && is(d.Path, "/#{path}", paths.plain...) &&
		is(d.Port, "#{port}", strconv.Itoa(int(o.Port))) && is(d.Protocol, "#{protocol}", o.Protocol) &&
		is(d.Query, "#{query}")
}

// covers says whether every request of r is answered by e, which comes first. Values are compared
// as text.
func (o Optimizer) covers(e, r model.Rule) bool {
	for _, c := range e.Conditions {
		switch c.(type) {
		case model.HostHeader, model.PathPattern:
		default:
			return false
		}
	}
	eHosts, ePaths := placesOf(e)
	rHosts, rPaths := placesOf(r)
	hosts := len(eHosts.plain) == 0 || len(rHosts.plain) > 0 && subset(rHosts.plain, eHosts.plain)
	if len(eHosts.regex) > 0 && !o.RegexHostsCover {
		hosts = len(rHosts.regex) > 0 && subset(rHosts.regex, eHosts.regex)
	}
	ep, rp := ePaths.either(), rPaths.either()
	paths := len(ep) == 0 || slices.Contains(ep, "/*") || len(rp) > 0 && subset(rp, ep)
	return hosts && paths
}

type values struct{ plain, regex []string }

func (v values) either() []string {
	if len(v.regex) > 0 {
		return v.regex
	}
	return v.plain
}

func placesOf(r model.Rule) (hosts, paths values) {
	for _, c := range r.Conditions {
		switch c := c.(type) {
		case model.HostHeader:
			hosts.plain, hosts.regex = append(hosts.plain, c.Values...), append(hosts.regex, c.Regex...)
		case model.PathPattern:
			paths.plain, paths.regex = append(paths.plain, c.Values...), append(paths.regex, c.Regex...)
		}
	}
	return hosts, paths
}

func subset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
