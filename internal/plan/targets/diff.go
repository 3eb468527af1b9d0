package targets

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Pair is an endpoint and the target that is registered for it. Both must not be changed.
type Pair struct {
	Endpoint *Endpoint
	Target   *observed.Target
}

// Diff is the difference between the registered targets and the desired endpoints. All lists are ascending by identity.
type Diff struct {
	Matched []Pair
	// Nodes has the matched targets instead of Matched, if the endpoints are nodes and were compared in order.
	Nodes      []*observed.Target
	Register   []Endpoint
	Deregister []*observed.Target
	// OverCapacity has the endpoints that are not registered because the target group is full.
	OverCapacity []Endpoint
}

// Empty reports whether the registered targets are exactly the desired endpoints.
func (d Diff) Empty() bool {
	return len(d.Register) == 0 && len(d.Deregister) == 0 && len(d.OverCapacity) == 0
}

// MatchedTargets returns the registered targets that are desired endpoints.
func (d Diff) MatchedTargets() []*observed.Target {
	if len(d.Matched) == 0 {
		return d.Nodes
	}
	out := slices.Clip(d.Nodes)
	for _, m := range d.Matched {
		out = append(out, m.Target)
	}
	return out
}

// Compare returns the difference between the registered targets and the desired endpoints. A draining target is treated as
// deregistered; if it is desired, it is registered again. limit is the maximum number of targets, including draining ones; 0
// means no limit.
func Compare(want []Endpoint, have []*observed.Target, limit int) Diff {
	index := make(map[string]int, len(want)) // of the last endpoint with a key
	for i, e := range want {
		index[e.key()] = i
	}
	var d Diff
	matched := make([]*observed.Target, len(want))
	for _, t := range have {
		if IsDraining(t) {
			continue
		}
		if n, ok := index[targetKey(t)]; !ok {
			d.Deregister = append(d.Deregister, t)
		} else if matched[n] == nil {
			matched[n] = t
		}
	}
	d.Matched = make([]Pair, 0, len(index))
	for i, e := range want {
		switch t := matched[i]; {
		case t != nil:
			d.Matched = append(d.Matched, Pair{&want[i], t})
		case index[e.key()] == i:
			d.Register = append(d.Register, e)
		}
	}
	slices.SortStableFunc(d.Matched, func(a, b Pair) int { return cmp.Compare(a.Endpoint.Identity(), b.Endpoint.Identity()) })
	d.sortAndLimit(have, limit)
	return d
}

// sortAndLimit sorts Register and Deregister, and moves the endpoints above the limit to OverCapacity.
func (d *Diff) sortAndLimit(have []*observed.Target, limit int) {
	d.Register = sortedBy(d.Register, Endpoint.key)
	if room := max(0, limit-len(have)); limit > 0 && len(d.Register) > room {
		d.Register, d.OverCapacity = d.Register[:room], d.Register[room:]
	}
	d.Deregister = sortedBy(d.Deregister, targetKey)
}

// IsDraining reports whether a target was deregistered and still finishes its requests.
func IsDraining(t *observed.Target) bool {
	return t.State == "draining" || t.State == "unhealthy.draining"
}
