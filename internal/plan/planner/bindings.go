package planner

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ownBindings leaves out bindings that carry the labels of the stack and do not belong to it. A tenant can put the
// labels on a binding of its own namespace. Such a binding decides nothing, and no step waits for its deletion, which
// a finalizer could delay forever.
func ownBindings(want model.Stack, have observed.Stack) []observed.Binding {
	return slices.DeleteFunc(slices.Clone(have.Bindings), func(h observed.Binding) bool {
		for _, g := range have.TargetGroups {
			if g.ARN == h.ARN {
				of := naming.ServiceNamespaces(g.ResourceID)
				return of != nil && !slices.Contains(of, h.Namespace)
			}
		}
		return !hasNamespace(want, h.Namespace)
	})
}

// hasNamespace reports whether a member of the stack, present, leaving or retained, is in a namespace.
func hasNamespace(want model.Stack, namespace string) bool {
	in := func(m model.Member) bool { return m.Ref.Namespace == namespace }
	return slices.ContainsFunc(want.Members, in) || slices.ContainsFunc(want.Leaving, in) ||
		slices.ContainsFunc(want.Held.Members, func(r model.HeldMember) bool { return r.Member.Namespace == namespace })
}
