package planner

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ownBindings leaves out bindings that carry the stack's labels and are not of the stack. Anybody may
// write labels on a binding of another namespace. Nothing is decided by such a binding, and nothing
// waits for its deletion, which a finalizer of its author could put off forever.
func ownBindings(want model.Stack, have observed.Stack) []observed.Binding {
	return slices.DeleteFunc(slices.Clone(have.Bindings), func(h observed.Binding) bool {
		for _, g := range have.TargetGroups {
			if g.ARN == h.ARN {
				// An id of a Gateway's, whose stack or another one's this is: that of an Ingress or a Service has other parts.
				if of := naming.BackendNamespaces(g.ResourceID); of != nil {
					return !slices.Contains(of, h.Namespace)
				}
				namespace, _, known := strings.Cut(g.ResourceID, "/")
				return known && namespace != h.Namespace
			}
		}
		return !hasNamespace(want, h.Namespace)
	})
}

// hasNamespace reports whether an object of the stack, present or former, is in a namespace.
func hasNamespace(want model.Stack, namespace string) bool {
	in := func(m model.Member) bool { return m.Ref.Namespace == namespace }
	return slices.ContainsFunc(want.Members, in) || slices.ContainsFunc(want.Leaving, in) ||
		slices.ContainsFunc(want.Held.Members, func(r model.HeldMember) bool { return r.Member.Namespace == namespace })
}
