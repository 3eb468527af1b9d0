package targets

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// MatchedPair is an endpoint and the target that is registered for it. Callers must change neither of them.
type MatchedPair struct {
	Endpoint *Endpoint
	Target   *observed.Target
}

// Diff is the difference between the registered targets and the desired endpoints. All lists are ascending by identity.
type Diff struct {
	MatchedPairs []MatchedPair
	// MatchedNodeTargets has the matched targets instead of MatchedPairs, if the endpoints are nodes and were compared by
	// compareInOrder.
	MatchedNodeTargets []*observed.Target
	ToRegister         []Endpoint
	ToDeregister       []*observed.Target
	// OverCapacity has the endpoints that are not registered because the maximum number of targets is reached.
	OverCapacity []Endpoint
}

// Empty reports whether the registered targets are exactly the desired endpoints.
func (d Diff) Empty() bool {
	return len(d.ToRegister) == 0 && len(d.ToDeregister) == 0 && len(d.OverCapacity) == 0
}

// MatchedTargets returns the registered targets that are desired endpoints.
func (d Diff) MatchedTargets() []*observed.Target {
	if len(d.MatchedPairs) == 0 {
		return d.MatchedNodeTargets
	}
	out := slices.Clip(d.MatchedNodeTargets)
	for _, m := range d.MatchedPairs {
		out = append(out, m.Target)
	}
	return out
}

// Compare returns the difference between the registered targets and the desired endpoints. A draining target is treated as
// deregistered; if it is desired, it is registered again. limit is the maximum number of targets, including draining ones; 0
// means no limit.
func Compare(want []Endpoint, have []*observed.Target, limit int) Diff {
	index := make(map[string]int, len(want)) // indexes in want by canonical key; of several endpoints with a key, the last
	for i, e := range want {
		index[e.canonicalKey()] = i
	}
	var d Diff
	matched := make([]*observed.Target, len(want))
	for _, t := range have {
		if IsDraining(t) {
			continue
		}
		if n, ok := index[canonicalTargetKey(t)]; !ok {
			d.ToDeregister = append(d.ToDeregister, t)
		} else if matched[n] == nil {
			matched[n] = t
		}
	}
	d.MatchedPairs = make([]MatchedPair, 0, len(index))
	for i, e := range want {
		switch t := matched[i]; {
		case t != nil:
			d.MatchedPairs = append(d.MatchedPairs, MatchedPair{&want[i], t})
		case index[e.canonicalKey()] == i:
			d.ToRegister = append(d.ToRegister, e)
		}
	}
	slices.SortStableFunc(d.MatchedPairs, func(a, b MatchedPair) int { return cmp.Compare(a.Endpoint.Identity(), b.Endpoint.Identity()) })
	d.sortAndLimit(have, limit)
	return d
}

// sortAndLimit sorts ToRegister and ToDeregister, and moves the endpoints above the limit to OverCapacity.
func (d *Diff) sortAndLimit(have []*observed.Target, limit int) {
	d.ToRegister = sortedBy(d.ToRegister, Endpoint.canonicalKey)
	if room := max(0, limit-len(have)); limit > 0 && len(d.ToRegister) > room {
		d.ToRegister, d.OverCapacity = d.ToRegister[:room], d.ToRegister[room:]
	}
	d.ToDeregister = sortedBy(d.ToDeregister, canonicalTargetKey)
}

// IsDraining reports whether a target was deregistered and still finishes its requests.
func IsDraining(t *observed.Target) bool {
	return t.State == "draining" || t.State == "unhealthy.draining"
}
