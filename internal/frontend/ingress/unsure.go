package ingress

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// What one member of a group writes wrong must not change what is live for all, so a setting that
// it may decide is not guessed while it cannot be read.

// guarded merges a setting as agree does. It is unsure where a member cannot be read that may be
// the first to say something.
func guarded[T any](t *translation, what string, get func(*member) settings.Opt[T], same func(a, b T) bool) (won settings.Opt[T], unsure bool) {
	won = agree(t, t.members, what, get, same)
	for _, m := range t.members {
		o := get(m)
		if m.unclassed || o.Fault != nil {
			return won, true
		}
		if o.Set {
			break
		}
	}
	return won, false
}

// guardedPort does so for a setting that the members on a port must agree on. Members whose ports
// are not known may listen there too.
func guardedPort[T any](t *translation, p *port, key string, get func(*member) settings.Opt[T], same func(a, b T) bool) (won settings.Opt[T], unsure bool) {
	won = perPort(t, p, key, get, same)
	for _, m := range t.members {
		o, on := get(m), slices.Contains(p.members, m)
		if m.unclassed || m.lost && o.Present() || on && o.Fault != nil {
			return won, true
		}
		if on && o.Set {
			break
		}
	}
	return won, false
}

// firstUnclassed says that the parameters of the first member's class, which decide alone, are not
// known. On a port, those whose ports are not known may be the first.
func (t *translation) firstUnclassed(p *port) bool {
	for _, m := range t.members {
		if m.unclassed || p == nil || slices.Contains(p.members, m) {
			return m.unclassed
		}
	}
	return false
}
