package members

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// MemberFaults reports faults that hold whole members.
func (t *Translation) MemberFaults() {
	for _, m := range t.Members {
		for _, f := range m.Faults {
			t.Fault(m, f, finding.BlocksMember)
		}
	}
}

// Fault reports what is wrong in a member, or in its class.
func (t *Translation) Fault(m *Member, f settings.Fault, reach finding.Reach) {
	x := f.Finding(reach)
	if m.ByClass(f.Origin) {
		x.Object, x.Field = m.Ref, FieldOn(m.Ref, f.Origin)
	}
	t.Found.Add(x)
}

// HoldMember holds everything of a member for a setting that cannot be read, if it is used at all.
func (t *Translation) HoldMember(m *Member, f *settings.Fault, used bool) {
	switch {
	case f == nil:
	case used:
		m.Blocked = true
		t.Fault(m, *f, finding.BlocksMember)
	default:
		x := f.Finding(finding.BlocksNothing)
		x.Severity = finding.Warning
		t.Found.Add(x)
	}
}

// MemberOf returns the member that an origin belongs to. Class parameters get no events, so what is written
// there is reported on the first member.
func (t *Translation) MemberOf(o finding.Origin) *Member {
	for _, m := range t.Members {
		if m.Ref == o.Object {
			return m
		}
	}
	return t.Members[0]
}

// FieldOn names an origin as a field of the object that gets the finding: class parameters get no
// events, so what is wrong in them is reported on the member.
func FieldOn(ref finding.Ref, o finding.Origin) string {
	if o.Object == ref {
		return o.Field
	}
	return o.String()
}
