package plan

import (
	"slices"
	"strings"

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
	return AreOf(OwnersOf(have, actions), ref)
}

// OwnerNamespace is the namespace to target groups of whose objects alone actions forward, "" if there is
// none.
func OwnerNamespace(have observed.Stack, actions []model.Action) string {
	owner := ""
	for i, id := range OwnersOf(have, actions) {
		namespace, _, ok := strings.Cut(id, "/")
		if !ok || i > 0 && namespace != owner {
			return ""
		}
		owner = namespace
	}
	return owner
}

// OwnersOf are the resource ids of the target groups to which actions forward. One that is not of the
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

// AreOf reports whether target groups, by their resource ids, are all an object's.
func AreOf(ids []string, ref finding.Ref) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !naming.IsTargetGroupOf(id, ref) })
}
