package members

import "slices"

// FindMemberWithoutClass sets memberWithoutClass to the first previous member that is served and whose class cannot be
// read, if there is one.
func (t *Translation) FindMemberWithoutClass() {
	for _, m := range t.Previous {
		t.Stack.Contested = true // the live state shows what belongs to previous members
		if t.memberWithoutClass == nil && m.ClassMissing && t.Serves(m) && !t.previousClassDecides(m) {
			t.memberWithoutClass = m
			t.Stack.Held.Tags = true
		}
	}
}

// previousClassDecides reports whether tenancy is isolated and the deciding class is known although the class of a
// member cannot be read. This is so if another class names the stack since before the member was created.
func (t *Translation) previousClassDecides(missing *Member) bool {
	return t.Isolated && slices.ContainsFunc(t.Members, func(m *Member) bool {
		return m.StackNamedByClass && claimsBefore(m, missing)
	})
}

// previousMemberWithoutClass returns a previous member that is served on a port and whose class cannot be read; nil if
// there is none.
func (t *Translation) previousMemberWithoutClass(number int32) *Member {
	l := t.LiveLoadBalancer().ListenerOnPort(number)
	for _, m := range t.Previous {
		if m.ClassMissing && t.OwnsPart(m.Ref, l) {
			return m
		}
	}
	return nil
}
