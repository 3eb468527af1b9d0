package targets

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Pair is an endpoint and the target that is registered for it.
type Pair struct {
	Endpoint Endpoint
	Target   observed.Target
}

// Diff is what has to happen to a target group. All lists are in ascending order of identity.
type Diff struct {
	Matched    []Pair
	Register   []Endpoint
	Deregister []observed.Target
	// Over are the endpoints that are not registered because the target group is full.
	Over []Endpoint
}

// Empty reports whether every endpoint is registered and nothing else is.
func (d Diff) Empty() bool { return len(d.Register) == 0 && len(d.Deregister) == 0 && len(d.Over) == 0 }

// Compare returns how to get from the registered targets to the desired endpoints. A target that
// is draining counts as deregistered; if it is desired it is registered again. No more than
// limit targets are registered in all, draining ones included; 0 means no limit.
func Compare(want []Endpoint, have []observed.Target, limit int) Diff {
	endpoints := map[string]Endpoint{}
	for _, e := range want {
		endpoints[e.key()] = e
	}
	var d Diff
	matched := map[string]bool{}
	for _, t := range have {
		if Draining(t) {
			continue
		}
		key := targetKey(t)
		if e, ok := endpoints[key]; ok && !matched[key] {
			matched[key] = true
			d.Matched = append(d.Matched, Pair{e, t})
		} else if !ok {
			d.Deregister = append(d.Deregister, t)
		}
	}
	maps.DeleteFunc(endpoints, func(key string, _ Endpoint) bool { return matched[key] })
	for _, key := range slices.Sorted(maps.Keys(endpoints)) {
		d.Register = append(d.Register, endpoints[key])
	}
	if room := max(0, limit-len(have)); limit > 0 && len(d.Register) > room {
		d.Register, d.Over = d.Register[:room], d.Register[room:]
	}
	d.Matched = sortedBy(d.Matched, func(p Pair) string { return p.Endpoint.Identity() })
	d.Deregister = sortedBy(d.Deregister, targetKey)
	return d
}

// Draining reports whether a target was deregistered and only finishes its requests.
func Draining(t observed.Target) bool {
	return t.State == "draining" || t.State == "unhealthy.draining"
}
