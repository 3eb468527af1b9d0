package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// A retained object (model.HeldMember) contributes nothing to the desired state. Its live rules are retained, unless an
// accepted member has a rule with the same conditions.

// AreActionsOwnedBy reports whether the live actions belong to an object: they forward, and only to target groups of the
// stack whose resource id names that object. The resource id is a tag, which only the controller writes, unlike
// finalizers, labels and status.
func AreActionsOwnedBy(have observed.Stack, ref finding.Ref, actions []model.Action) bool {
	return AreTargetGroupsOwnedBy(targetGroupIDs(have, actions), ref)
}

// OwnerNamespaces returns the namespaces whose objects may own all target groups to which the actions forward; none if the
// target groups belong to several namespaces. The result usually has one namespace. It has several only for target groups
// that a Gateway gives back, because their resource ids do not show where the namespace of the Service ends.
func OwnerNamespaces(have observed.Stack, actions []model.Action) []string {
	var out []string
	for i, id := range targetGroupIDs(have, actions) {
		of := naming.ServiceNamespaces(id)
		if i == 0 {
			out = of
			continue
		}
		out = slices.DeleteFunc(slices.Clone(out), func(ns string) bool { return !slices.Contains(of, ns) })
	}
	return out
}

// targetGroupIDs returns the resource ids of the target groups to which the actions forward, and "" for each one that
// is not part of the stack.
func targetGroupIDs(have observed.Stack, actions []model.Action) []string {
	var out []string
	for _, g := range model.ForwardedGroups(actions) {
		id := ""
		for _, t := range have.TargetGroups {
			if t.ARN == g.Group.ARN {
				id = t.ResourceID
			}
		}
		out = append(out, id)
	}
	return out
}

// AreTargetGroupsOwnedBy reports whether there are target groups and all of them, by their resource ids, belong to an object.
func AreTargetGroupsOwnedBy(ids []string, ref finding.Ref) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !naming.IsTargetGroupOf(id, ref) })
}
