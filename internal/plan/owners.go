package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// A retained object contributes nothing to the desired state. Live rules of its own stay, as long as
// no accepted member wants a rule with the same conditions.

// OwnedBy reports whether actions are an object's own: they forward, and only to target groups of the
// stack that carry the object's tag. Tags are written by the controller alone, which finalizers,
// labels and status are not.
func OwnedBy(have observed.Stack, ref finding.Ref, actions []model.Action) bool {
	return AllOwnedBy(OwnersOf(have, actions), ref)
}

// OwnerNamespaces returns the namespaces of which one has the objects to whose target groups alone actions forward,
// none if these are of several. It is one, but for target groups that a Gateway gives back: their ids do not show where
// the namespace of a Service ends.
func OwnerNamespaces(have observed.Stack, actions []model.Action) []string {
	var out []string
	for i, id := range OwnersOf(have, actions) {
		of := naming.ServiceNamespaces(id)
		if i == 0 {
			out = of
			continue
		}
		out = slices.DeleteFunc(slices.Clone(out), func(ns string) bool { return !slices.Contains(of, ns) })
	}
	return out
}

// OwnersOf returns the resource ids of the target groups to which actions forward. One that is not of the
// stack has an empty id.
func OwnersOf(have observed.Stack, actions []model.Action) []string {
	var out []string
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for _, g := range f.Groups {
			id := ""
			for _, t := range have.TargetGroups {
				if t.ARN == g.Group.ARN {
					id = t.ResourceID
				}
			}
			out = append(out, id)
		}
	}
	return out
}

// AllOwnedBy reports whether target groups, by their resource ids, are all an object's.
func AllOwnedBy(ids []string, ref finding.Ref) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !naming.IsTargetGroupOf(id, ref) })
}
