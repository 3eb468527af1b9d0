package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// An object that is retained as model.HeldMember contributes nothing to the desired state. Its observed rules are retained
// unless an accepted member has a rule with the same conditions.

// AreActionsOwnedBy reports whether observed actions belong to the object ref: they forward only to target groups of the
// stack whose resource ids name this object. The resource ids are read from tags, because only the controller writes these
// tags. Finalizers, labels and status are not used, because users can change them.
func AreActionsOwnedBy(have observed.Stack, ref finding.Ref, actions []model.Action) bool {
	return AreTargetGroupsOwnedBy(targetGroupIDs(have, actions), ref)
}

// OwnerNamespaces returns the namespaces that may own all target groups to which the actions forward; empty if the target
// groups belong to different namespaces. It returns several namespaces only if the resource id of a target group does not
// show where the namespace of the Service ends.
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

// targetGroupIDs returns the resource ids of the target groups to which the actions forward, and "" for each target group
// that does not belong to the stack.
func targetGroupIDs(have observed.Stack, actions []model.Action) []string {
	var out []string
	for _, g := range model.ForwardedTargetGroups(actions) {
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

// AreTargetGroupsOwnedBy reports whether all of the given resource ids of target groups name the object ref. It reports
// false for an empty list.
func AreTargetGroupsOwnedBy(ids []string, ref finding.Ref) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !naming.IsTargetGroupOf(id, ref) })
}
