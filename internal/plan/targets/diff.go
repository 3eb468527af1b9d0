package targets

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Pair is an endpoint and the target that is registered for it. Neither is changed.
type Pair struct {
	Endpoint *Endpoint
	Target   *observed.Target
}

// Diff is what has to happen to a target group. All lists are in ascending order of identity.
type Diff struct {
	Matched []Pair
	// Nodes are the targets of endpoints that are nodes, in place of Matched where these need not be known.
	Nodes      []*observed.Target
	Register   []Endpoint
	Deregister []*observed.Target
	// Over are the endpoints that are not registered because the target group is full.
	Over []Endpoint
}

// Empty reports whether every endpoint is registered and nothing else is.
func (d Diff) Empty() bool { return len(d.Register) == 0 && len(d.Deregister) == 0 && len(d.Over) == 0 }

// Staying returns the targets that are endpoints.
func (d Diff) Staying() []*observed.Target {
	if len(d.Matched) == 0 {
		return d.Nodes
	}
	out := slices.Clip(d.Nodes)
	for _, m := range d.Matched {
		out = append(out, m.Target)
	}
	return out
}

// Compare returns how to get from the registered targets to the desired endpoints. A target that
// is draining counts as deregistered; if it is desired it is registered again. No more than
// limit targets are registered in all, draining ones included; 0 means no limit.
func Compare(want []Endpoint, have []*observed.Target, limit int) Diff {
	at := make(map[string]int, len(want)) // of several with one key, the last counts
	for i, e := range want {
		at[e.key()] = i
	}
	var d Diff
	matched := make([]*observed.Target, len(want))
	for _, t := range have {
		if Draining(t) {
			continue
		}
		if n, ok := at[targetKey(t)]; !ok {
			d.Deregister = append(d.Deregister, t)
		} else if matched[n] == nil {
			matched[n] = t
		}
	}
	d.Matched = make([]Pair, 0, len(at))
	for i, e := range want {
		switch t := matched[i]; {
		case t != nil:
			d.Matched = append(d.Matched, Pair{&want[i], t})
		case at[e.key()] == i:
			d.Register = append(d.Register, e)
		}
	}
	slices.SortStableFunc(d.Matched, func(a, b Pair) int { return cmp.Compare(a.Endpoint.Identity(), b.Endpoint.Identity()) })
	d.order(have, limit)
	return d
}

// order brings what is to be done into its order, and leaves out what there is no room for.
func (d *Diff) order(have []*observed.Target, limit int) {
	d.Register = sortedBy(d.Register, Endpoint.key)
	if room := max(0, limit-len(have)); limit > 0 && len(d.Register) > room {
		d.Register, d.Over = d.Register[:room], d.Register[room:]
	}
	d.Deregister = sortedBy(d.Deregister, targetKey)
}

// Draining reports whether a target was deregistered and only finishes its requests.
func Draining(t *observed.Target) bool {
	return t.State == "draining" || t.State == "unhealthy.draining"
}
