package members

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// FindMissingClass looks for a former member whose class cannot be read and that is served.
func (t *Translation) FindMissingClass() {
	for _, m := range t.Previous {
		t.Stack.Contested = true // what is theirs depends on what is live
		if t.missingClass == nil && m.ClassMissing && t.Serves(m) && !t.previousClassDecides(m) {
			t.missingClass = m
			t.Stack.Held.Tags = true
		}
	}
}

// previousClassDecides reports whether the class that decides in isolated tenancy is known without a member
// that is missing: one that names the stack, and did before the member was made.
func (t *Translation) previousClassDecides(missing *Member) bool {
	return t.Isolated && slices.ContainsFunc(t.Members, func(m *Member) bool {
		return m.NamedByClass && claimsBefore(m, missing)
	})
}

// previousWithoutClass returns a previous member whose class cannot be read and that is served on a port; nil if there
// is none.
func (t *Translation) previousWithoutClass(number int32) *Member {
	l := t.LiveLoadBalancer().OnPort(number)
	if l == nil {
		return nil
	}
	for _, m := range t.Previous {
		if m.ClassMissing && (t.Owns(m.Ref, l.Default) || slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return t.Owns(m.Ref, r.Actions) })) {
			return m
		}
	}
	return nil
}
