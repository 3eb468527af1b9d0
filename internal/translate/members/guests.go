package members

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// A namespace that owns a load balancer can permit members of other namespaces, which are called guests, to share it.
// Members of the owner namespace decide the load-balancer-wide settings. A setting that they do not set keeps its value in
// AWS; a new load balancer has the default. The value of a guest is used only if the owner sets none and AWS already has the
// value.

// IsFromOtherNamespace reports whether a member is in another namespace than the owner of the load balancer. A guest does
// not decide the load-balancer-wide settings.
func (t *Translation) IsFromOtherNamespace(m *Member) bool {
	return t.Owner != nil && m.Ref.Namespace != *t.Owner
}

// hasMembersOfOtherNamespaces reports whether there are guests among the members, and the members belong to several
// namespaces.
func (t *Translation) hasMembersOfOtherNamespaces(members []*Member) bool {
	return slices.ContainsFunc(members, t.IsFromOtherNamespace) &&
		slices.ContainsFunc(members, func(m *Member) bool { return m.Ref.Namespace != members[0].Ref.Namespace })
}

// withoutOtherNamespaces removes values of guests from asks. It keeps the value of a guest only if the owner sets none, and
// AWS has the value or the value in AWS cannot be read. Each removed value that differs from that of the owner is reported
// on the guest that sets it. unavailable is a value that cannot be read. If a guest sets it and the owner sets a value, it
// is ignored.
func withoutOtherNamespaces[T any](t *Translation, what string, asks []memberValue[T], unavailable *memberValue[T], same func(a, b T) bool, current func() LiveValue[T]) ([]memberValue[T], *memberValue[T]) {
	var ofOwner, guests []memberValue[T]
	for _, a := range asks {
		if t.IsFromOtherNamespace(a.member) {
			guests = append(guests, a)
		} else {
			ofOwner = append(ofOwner, a)
		}
	}
	if unavailable != nil && t.IsFromOtherNamespace(unavailable.member) && len(ofOwner) > 0 {
		unavailable = nil
	}
	if len(guests) == 0 {
		return asks, unavailable
	}
	t.Stack.Contested = true
	var live LiveValue[T]
	if t.Live != nil && len(ofOwner) == 0 {
		live = current()
	}
	out := ofOwner
	for _, a := range guests {
		switch {
		case slices.ContainsFunc(ofOwner, func(h memberValue[T]) bool { return same(h.setting.Value, a.setting.Value) }):
		case live.Unavailable || live.Known && live.Matches(a.setting.Value):
			out = append(out, a)
		default:
			t.Found.Add(finding.Finding{
				Object: a.member.Ref, Field: FieldForObject(a.member.Ref, a.setting.Origin), Reason: finding.AnnotationConflict, Severity: finding.Error,
				Message: fmt.Sprintf("%s %s has no effect, because Services of several namespaces share the load balancer, and its owner decides; the value in AWS stays unchanged", what, quoteValue(a.setting.Value)),
				Fix:     "remove it, or ask the owner of the load balancer to set it",
			})
		}
	}
	return out, unavailable
}
