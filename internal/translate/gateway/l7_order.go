package gateway

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// unit is what becomes one rule of a listener: one match of one rule of a route, for one hostname.
type unit struct {
	host    string
	route   finding.Ref
	number  int // of the route
	created time.Time
	rule    *routeRule
	match   *match
	// isolation is set in place of a route where requests for the hostname belong to listeners that no rule before it
	// serves.
	isolation *isolation
}

// isolation is a listener whose requests must not reach routes of less specific listeners.
type isolation struct{ at finding.Origin }

// compare orders units as the Gateway API has it: the more specific one first, then the older route. AWS takes the first
// rule that matches.
func (u *unit) compare(o *unit) int {
	if by := compareHosts(u.host, o.host); by != 0 {
		return by
	}
	if (u.isolation == nil) != (o.isolation == nil) {
		if u.isolation != nil {
			return 1
		}
		return -1
	}
	if u.isolation != nil {
		return cmp.Compare(u.host, o.host)
	}
	a, b := u.match, o.match
	return cmp.Or(
		cmp.Compare(b.path, a.path),
		cmp.Compare(b.length(), a.length()),
		cmp.Compare(len(b.procedure), len(a.procedure)),
		presentFirst(a.method != "", b.method != ""),
		cmp.Compare(len(b.headers), len(a.headers)),
		cmp.Compare(len(b.queries), len(a.queries)),
		u.created.Compare(o.created),
		cmp.Compare(u.route.Namespace+"/"+u.route.Name, o.route.Namespace+"/"+o.route.Name),
		// Two kinds of routes can share a name. HTTPRoutes come first.
		cmp.Compare(o.route.Kind, u.route.Kind),
		cmp.Compare(u.rule.index, o.rule.index),
		cmp.Compare(a.index, b.index),
		cmp.Compare(u.host, o.host),
	)
}

// length returns what of a path counts first.
func (m *match) length() int { return max(len(m.value), len(m.service)) }

// compareHosts orders hostnames: exact ones, wildcards, none; and among these those with more labels, and then the
// longer ones.
func compareHosts(a, b string) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(strings.Count(b, "."), strings.Count(a, ".")), cmp.Compare(len(b), len(a)))
}

func rank(host string) int {
	switch {
	case host == "":
		return math.MaxInt
	case strings.HasPrefix(host, "*."):
		return 1
	}
	return 0
}

// presentFirst orders what has something before what lacks it.
func presentFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
