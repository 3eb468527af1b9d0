package gateway

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// ruleInput is the input from which one listener rule is built: one match of one rule of a route, for one hostname.
type ruleInput struct {
	host       string
	route      finding.Ref
	routeIndex int // index in attach.Result.Routes
	created    time.Time
	rule       *routeRule
	match      *match
	// isolation is set, instead of the fields for a route, for a rule of listener isolation.
	isolation *isolationOrigin
}

// isolationOrigin is the origin of a rule of listener isolation: the field with the hostname of the listener. Requests for
// that hostname must not reach routes of less specific listeners.
type isolationOrigin struct{ at finding.Origin }

// compare orders the inputs by the precedence that the Gateway API defines: more specific rules first, then rules of older
// routes. AWS uses the first rule that matches.
func (u *ruleInput) compare(o *ruleInput) int {
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
		cmp.Compare(b.matchLength(), a.matchLength()),
		cmp.Compare(len(b.procedure), len(a.procedure)),
		compareTrueFirst(a.method != "", b.method != ""),
		cmp.Compare(len(b.headers), len(a.headers)),
		cmp.Compare(len(b.queries), len(a.queries)),
		u.created.Compare(o.created),
		cmp.Compare(u.route.Namespace+"/"+u.route.Name, o.route.Namespace+"/"+o.route.Name),
		// Routes of two kinds can have the same name. HTTPRoutes come first.
		cmp.Compare(o.route.Kind, u.route.Kind),
		cmp.Compare(u.rule.index, o.rule.index),
		cmp.Compare(a.index, b.index),
		cmp.Compare(u.host, o.host),
	)
}

// matchLength returns the length of the path or of the gRPC service. Longer matches have precedence.
func (m *match) matchLength() int { return max(len(m.value), len(m.service)) }

// compareHosts orders hostnames: exact hostnames first, then wildcards, then no hostname. Hostnames of the same kind are
// ordered by the number of labels, then by length, the highest first.
func compareHosts(a, b string) int {
	return cmp.Or(cmp.Compare(hostRank(a), hostRank(b)), cmp.Compare(strings.Count(b, "."), strings.Count(a, ".")), cmp.Compare(len(b), len(a)))
}

func hostRank(host string) int {
	switch {
	case host == "":
		return math.MaxInt
	case strings.HasPrefix(host, "*."):
		return 1
	}
	return 0
}

func compareTrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
