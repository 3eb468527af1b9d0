package planner

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// stackBindings returns the bindings that belong to the stack. A tenant can put the labels of the stack on a binding in
// another namespace. Such a binding is ignored, and no step waits for its deletion, which a finalizer could delay forever.
func stackBindings(want model.Stack, have observed.Stack) []observed.Binding {
	return slices.DeleteFunc(slices.Clone(have.Bindings), func(h observed.Binding) bool {
		for _, g := range have.TargetGroups {
			if g.ARN == h.ARN {
				return !mayBeBoundIn(want, g.ResourceID, h.Namespace)
			}
		}
		return !hasNamespace(want, h.Namespace)
	})
}

// mayBeBoundIn reports whether the target group with an id may have its binding in a namespace. The id shows the namespace
// unless the id was shortened. For a shortened id of a desired target group, the desired state shows the namespace.
func mayBeBoundIn(want model.Stack, id, namespace string) bool {
	if naming.MayBeShortened(id) {
		for _, w := range want.TargetGroups {
			if w.ID == id && w.Binding != nil {
				return w.Binding.Namespace == namespace
			}
		}
	}
	return naming.TargetGroupMayServeNamespace(id, namespace)
}

// hasNamespace reports whether the stack has a member in a namespace, including members that leave the stack and held
// members.
func hasNamespace(want model.Stack, namespace string) bool {
	in := func(m model.Member) bool { return m.Ref.Namespace == namespace }
	return slices.ContainsFunc(want.Members, in) || slices.ContainsFunc(want.Leaving, in) ||
		slices.ContainsFunc(want.Held.Members, func(r model.HeldMember) bool { return r.Member.Namespace == namespace })
}
