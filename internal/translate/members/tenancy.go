package members

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// CompareAge orders members by creation time, the oldest first, and then by name. It decides which member first gets a port,
// a host, or capacity for its rules. It does not decide whose setting has precedence: see MergeSetting.
func CompareAge(a, b *Member) int { return cmp.Or(a.Created.Compare(b.Created), a.Ref.Compare(b.Ref)) }

// hasDecidingClass reports whether the class of a member decides the load-balancer-wide settings in isolated tenancy. The
// class of the member with the oldest claim to the stack decides. If some members are served, the other members are not
// considered.
func (t *Translation) hasDecidingClass(m *Member) bool {
	if t.decidingClass == nil {
		first := slices.MinFunc(t.Members, func(a, b *Member) int {
			x, y := t.Live != nil && t.IsServed(a), t.Live != nil && t.IsServed(b)
			switch {
			case x != y && x, x == y && hasOlderClaim(a, b):
				return -1
			}
			return 1
		})
		t.decidingClass = &first.Set.Class.Origin.Object
		t.Stack.Contested = t.Stack.Contested || slices.ContainsFunc(t.Members, func(m *Member) bool { return m.Set.Class.Origin.Object != *t.decidingClass })
	}
	return m.Set.Class.Origin.Object == *t.decidingClass
}

// hasOlderClaim reports whether the claim of a to the stack is older than that of b.
func hasOlderClaim(a, b *Member) bool {
	return cmp.Or(a.ClaimedAt.Compare(b.ClaimedAt), CompareAge(a, b)) < 0
}

// filterByClass returns the values of a setting that are used in isolated tenancy: the values of the deciding class, or, if
// that class sets none, the values that AWS has. Other values are reported.
func filterByClass[T any](t *Translation, what string, asks []memberValue[T], live LiveValue[T]) []memberValue[T] {
	ofClass := func(a memberValue[T]) bool {
		return a.member.IsFromClass(a.setting.Origin) && t.hasDecidingClass(a.member)
	}
	byClass := slices.ContainsFunc(asks, ofClass)
	var out []memberValue[T]
	for _, a := range asks {
		switch {
		case ofClass(a), !byClass && live.Known && live.Matches(a.setting.Value):
			out = append(out, a)
		default:
			t.Stack.Contested = t.Stack.Contested || !byClass
			t.Found.Add(finding.Finding{
				Object: a.member.Ref, Field: FieldForObject(a.member.Ref, a.setting.Origin), Reason: finding.SettingOfClass, Severity: finding.Warning,
				Message: fmt.Sprintf("%s %s has no effect; in isolated tenancy a single class sets the load-balancer-wide settings", what, quoteValue(a.setting.Value)),
				Fix:     "remove it, or ask the owner of the " + t.ClassKind + " to set it there",
			})
		}
	}
	return out
}
