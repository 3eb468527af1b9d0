package members

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Where members of several namespaces share a load balancer by invitation, those of its owner decide the load-balancer-wide
// settings, also by leaving them open: what they do not set stays as it is live, and is the default for a load balancer that
// is new. What a guest asks for counts where the owner is silent and it is live already.

// IsGuest reports whether a member does not decide the load-balancer-wide settings.
func (t *Translation) IsGuest(m *Member) bool { return t.Owner != nil && m.Ref.Namespace != *t.Owner }

// guestsAmong reports whether members of several namespaces share something, and some of them are guests.
func (t *Translation) guestsAmong(members []*Member) bool {
	return slices.ContainsFunc(members, t.IsGuest) &&
		slices.ContainsFunc(members, func(m *Member) bool { return m.Ref.Namespace != members[0].Ref.Namespace })
}

// withoutGuests leaves out what guests ask for and have not got, and reports that to them. What cannot be read of a guest
// counts only where the owner is silent.
func withoutGuests[T any](t *Translation, what string, asks []asked[T], unavailable *asked[T], same func(a, b T) bool, current func() Incumbent[T]) ([]asked[T], *asked[T]) {
	var hosts, guests []asked[T]
	for _, a := range asks {
		if t.IsGuest(a.m) {
			guests = append(guests, a)
		} else {
			hosts = append(hosts, a)
		}
	}
	if unavailable != nil && t.IsGuest(unavailable.m) && len(hosts) > 0 {
		unavailable = nil
	}
	if len(guests) == 0 {
		return asks, unavailable
	}
	t.Stack.Contested = true
	var live Incumbent[T]
	if t.Live != nil && len(hosts) == 0 {
		live = current()
	}
	out := hosts
	for _, a := range guests {
		switch {
		case slices.ContainsFunc(hosts, func(h asked[T]) bool { return same(h.o.Value, a.o.Value) }):
		case live.Unavailable || live.Known && live.Is(a.o.Value):
			out = append(out, a)
		default:
			t.Found.Add(finding.Finding{
				Object: a.m.Ref, Field: FieldOn(a.m.Ref, a.o.Origin), Reason: finding.AnnotationConflict, Severity: finding.Error,
				Message: fmt.Sprintf("%s %s has no effect, because Services of several namespaces share the load balancer, and its owner decides; what is live stays", what, quoted(a.o.Value)),
				Fix:     "remove it, or ask the owner of the load balancer to set it",
			})
		}
	}
	return out, unavailable
}
