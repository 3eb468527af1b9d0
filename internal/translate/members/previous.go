package members

import "slices"

// FindMemberWithoutClass sets memberWithoutClass to the first previous member that is still served and whose class cannot be
// read, if there is one.
func (t *Translation) FindMemberWithoutClass() {
	for _, m := range t.Previous {
		t.Stack.Contested = true // the observed state shows which resources belong to previous members
		if t.memberWithoutClass == nil && m.ClassMissing && t.Serves(m) && !t.previousClassDecides(m) {
			t.memberWithoutClass = m
			t.Stack.Held.Tags = true
		}
	}
}

// previousClassDecides reports whether, in isolated tenancy, it is known which class decides, although the class of the
// previous member in missing cannot be read. It is known if another class has named the stack since before that member was
// created.
func (t *Translation) previousClassDecides(missing *Member) bool {
	return t.Isolated && slices.ContainsFunc(t.Members, func(m *Member) bool {
		return m.StackNamedByClass && claimsBefore(m, missing)
	})
}

// previousMemberWithoutClass returns a previous member that is served on a port and whose class cannot be read; nil if there
// is none.
func (t *Translation) previousMemberWithoutClass(number int32) *Member {
	l := t.LiveLoadBalancer().ListenerOnPort(number)
	for _, m := range t.Previous {
		if m.ClassMissing && t.OwnsListenerPart(m.Ref, l) {
			return m
		}
	}
	return nil
}
