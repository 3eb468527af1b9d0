package members

import "slices"

// FindRetainedMember sets retainedMember to the first previous member that is still served and that retains its rights, if
// there is one.
func (t *Translation) FindRetainedMember() {
	for _, m := range t.Previous {
		t.Stack.Contested = true // the observed state shows which resources belong to previous members
		if t.retainedMember == nil && m.RetainsRights && t.IsServed(m) && !t.isDecidingClassKnown(m) {
			t.retainedMember = m
			t.Stack.Held.Tags = true
		}
	}
}

// isDecidingClassKnown reports whether, in isolated tenancy, it is known which class decides, although the class of a
// retained member cannot be read. It is known if the class of a member names the stack, and this member claimed the stack
// before the retained member.
func (t *Translation) isDecidingClassKnown(retained *Member) bool {
	return t.Isolated && slices.ContainsFunc(t.Members, func(m *Member) bool {
		return m.StackNamedByClass && hasOlderClaim(m, retained)
	})
}

// retainedMemberOnPort returns a previous member that is served on a port and that retains its rights; nil if there is none.
func (t *Translation) retainedMemberOnPort(number int32) *Member {
	l := t.LiveLoadBalancer().ListenerOnPort(number)
	for _, m := range t.Previous {
		if m.RetainsRights && t.OwnsListenerPart(m.Ref, l) {
			return m
		}
	}
	return nil
}
