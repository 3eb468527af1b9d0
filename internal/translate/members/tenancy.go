package members

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// IsOlder orders members by creation time, then by name. It decides who has a port, a host or a place first, not whose
// setting counts: see Agree.
func IsOlder(a, b *Member) bool {
	if !a.Created.Equal(b.Created) {
		return a.Created.Before(b.Created)
	}
	return a.Ref.Compare(b.Ref) < 0
}

// ClassDecides reports whether the class of a member decides the load-balancer-wide settings in isolated
// tenancy: that of a member that is served before others, and of these the one with the oldest claim to the
// stack.
func (t *Translation) ClassDecides(m *Member) bool {
	if t.decider == nil {
		first := slices.MinFunc(t.Members, func(a, b *Member) int {
			x, y := t.Live != nil && t.Serves(a), t.Live != nil && t.Serves(b)
			switch {
			case x != y && x, x == y && claimsBefore(a, b):
				return -1
			}
			return 1
		})
		t.decider = &first.Set.Class.Origin.Object
		t.Stack.Contested = t.Stack.Contested || slices.ContainsFunc(t.Members, func(m *Member) bool { return m.Set.Class.Origin.Object != *t.decider })
	}
	return m.Set.Class.Origin.Object == *t.decider
}

// claimsBefore reports whether the claim of a to the stack is older than that of b.
func claimsBefore(a, b *Member) bool {
	if !a.ClaimedAt.Equal(b.ClaimedAt) {
		return a.ClaimedAt.Before(b.ClaimedAt)
	}
	return IsOlder(a, b)
}

// filterByClass takes from what members say of a setting what counts: in isolated tenancy only what the
// class says, and where it says nothing, what is live.
func filterByClass[T any](t *Translation, what string, asks []asked[T], live Incumbent[T]) []asked[T] {
	ofClass := func(a asked[T]) bool { return a.m.ByClass(a.o.Origin) && t.ClassDecides(a.m) }
	byClass := slices.ContainsFunc(asks, ofClass)
	var out []asked[T]
	for _, a := range asks {
		switch {
		case ofClass(a), !byClass && live.Known && live.Is(a.o.Value):
			out = append(out, a)
		default:
			t.Stack.Contested = t.Stack.Contested || !byClass
			t.Found.Add(finding.Finding{
				Object: a.m.Ref, Field: FieldOn(a.m.Ref, a.o.Origin), Reason: finding.SettingOfClass, Severity: finding.Warning,
				Message: fmt.Sprintf("%s %s has no effect; in isolated tenancy load-balancer-wide settings come from one class alone", what, quoted(a.o.Value)),
				Fix:     "remove it, or ask the owner of that " + t.ClassKind + " to set it there",
			})
		}
	}
	return out
}
