package members

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// ReportMemberFaults reports the faults in Faults of each member. These faults hold all resources of the member.
func (t *Translation) ReportMemberFaults() {
	for _, m := range t.Members {
		for _, f := range m.Faults {
			t.ReportFault(m, f, finding.BlocksMember)
		}
	}
}

// ReportFault reports a setting of a member, or of its class, whose value is not valid. reach is what the fault holds.
func (t *Translation) ReportFault(m *Member, f settings.Fault, reach finding.Reach) {
	x := f.Finding(reach)
	if m.IsFromClass(f.Origin) {
		x.Object, x.Field = m.Ref, FieldForObject(m.Ref, f.Origin)
	}
	t.Found.Add(x)
}

// HoldMember holds all resources of a member if f, the fault of one of its settings, is not nil. If the setting is not used,
// HoldMember only reports the fault, as a warning.
func (t *Translation) HoldMember(m *Member, f *settings.Fault, used bool) {
	switch {
	case f == nil:
	case used:
		m.Blocked = true
		t.ReportFault(m, *f, finding.BlocksMember)
	default:
		x := f.Finding(finding.BlocksNothing)
		x.Severity = finding.Warning
		t.Found.Add(x)
	}
}

// MemberOf returns the member whose object has the origin o. If o is in class parameters, which get no events, it returns
// the first member.
func (t *Translation) MemberOf(o finding.Origin) *Member {
	for _, m := range t.Members {
		if m.Ref == o.Object {
			return m
		}
	}
	return t.Members[0]
}

// FieldForObject returns the field for a finding about object ref that is caused by the value at o. If o is in another
// object, such as class parameters, which get no events, the field also names that object.
func FieldForObject(ref finding.Ref, o finding.Origin) string {
	if o.Object == ref {
		return o.Field
	}
	return o.String()
}
