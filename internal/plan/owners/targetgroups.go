package owners

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
)

// TargetGroups records which existing target group is used for which desired target group, and which members own the
// existing target groups.
type TargetGroups struct {
	*draft.Draft
	DesiredTargetGroups map[string]*model.TargetGroup // by ID in the stack
	LiveTargetGroupIDs  map[string]string             // resource IDs of existing target groups, by ARN
	// LiveTargetGroupARNs has the ARNs of the existing target groups that are kept, by the ID of the desired target group.
	LiveTargetGroupARNs map[string]string
	// LiveTargetGroups has the existing target groups that are kept, by ARN.
	LiveTargetGroups map[string]observed.TargetGroup
	owners           map[string][]finding.Ref // of existing target groups, by ARN
}

// NewTargetGroups returns the TargetGroups of a draft. No existing target group is matched with a desired one yet.
func NewTargetGroups(d *draft.Draft) *TargetGroups {
	tg := &TargetGroups{
		Draft: d, DesiredTargetGroups: map[string]*model.TargetGroup{}, LiveTargetGroupIDs: map[string]string{},
		LiveTargetGroupARNs: map[string]string{}, LiveTargetGroups: map[string]observed.TargetGroup{},
	}
	for i := range d.Want.TargetGroups {
		tg.DesiredTargetGroups[d.Want.TargetGroups[i].ID] = &d.Want.TargetGroups[i]
	}
	for _, g := range d.Have.TargetGroups {
		tg.LiveTargetGroupIDs[g.ARN] = g.ResourceID
	}
	return tg
}

// TargetGroupARN returns the ARN of the target group to which a forward action refers; empty if there is none yet.
func (tg *TargetGroups) TargetGroupARN(r model.TargetGroupRef) string {
	switch {
	case r.ARN != "":
		return r.ARN
	case r.Name != "":
		return tg.Have.Facts.TargetGroups[r.Name]
	}
	return tg.LiveTargetGroupARNs[r.ID]
}

// WithTargetGroupARNs returns the actions with ARNs in place of names of target groups, because the engine, which carries
// out the steps, cannot look up names. A name without a known ARN is not replaced.
func (tg *TargetGroups) WithTargetGroupARNs(actions []model.Action) []model.Action {
	return model.WithReplacedTargetGroups(actions, func(g model.TargetGroupRef) model.TargetGroupRef {
		if arn := tg.TargetGroupARN(g); g.Name != "" && arn != "" {
			return model.TargetGroupRef{ARN: arn}
		}
		return g
	})
}

// TargetGroupOwners returns the members that own an existing target group: those that its resource ID names, and those of
// the desired target group for which it is kept. It returns nil if no owner is known.
func (tg *TargetGroups) TargetGroupOwners(arn string) []finding.Ref {
	if tg.owners == nil {
		tg.owners = map[string][]finding.Ref{}
		members := map[string]finding.Ref{}
		for _, m := range append(slices.Clone(tg.Want.Members), tg.Want.Leaving...) {
			members[m.Ref.Namespace+"/"+m.Ref.Name] = m.Ref
		}
		for _, g := range tg.Have.TargetGroups {
			tg.owners[g.ARN] = membersByID(g.ResourceID, members)
		}
		for _, w := range tg.Want.TargetGroups {
			if live := tg.LiveTargetGroupARNs[w.ID]; live != "" {
				tg.owners[live] = append(tg.owners[live], w.Members...)
			}
		}
	}
	return tg.owners[arn]
}

// membersByID returns the members that the resource ID of a target group names: Ingresses, and Services that share a load
// balancer. The ID does not show where the name of an Ingress ends, so that several members can match. The keys of members
// have the form namespace/name.
func membersByID(id string, members map[string]finding.Ref) (out []finding.Ref) {
	for i := range len(id) {
		if m, ok := members[id[:i]]; ok && naming.IsTargetGroupOf(id, m) {
			out = append(out, m)
		}
	}
	return out
}

// ActionOwners returns the members that own the target groups to which actions of an existing rule forward; nil if the
// owners of a target group are not known.
func (tg *TargetGroups) ActionOwners(actions []model.Action) []finding.Ref {
	var out []finding.Ref
	for _, g := range model.ForwardedTargetGroups(actions) {
		of := tg.TargetGroupOwners(g.Group.ARN)
		if len(of) == 0 {
			return nil
		}
		out = append(out, of...)
	}
	slices.SortFunc(out, finding.Ref.Compare)
	return slices.Compact(out)
}

// ActionOwnersByID returns the owners of the actions of an existing rule by the resource IDs of its target groups, for
// target groups that no desired rule uses any more. An owner is a member of the stack, an object in others, or an object of
// which only the namespace is known. It returns nil if no owner is known.
func (tg *TargetGroups) ActionOwnersByID(actions []model.Action, others ...finding.Ref) (out []finding.Ref) {
	refs := map[finding.Ref]bool{}
	for _, m := range slices.Concat(tg.Want.Members, tg.Want.Leaving) {
		refs[m.Ref] = true
	}
	for _, ref := range others {
		refs[ref] = true
	}
	for _, id := range tg.TargetGroupIDs(actions) {
		_, route, _ := strings.Cut(id, ":")
		for ref := range refs {
			namespace := finding.Ref{Namespace: ref.Namespace}
			switch {
			case naming.IsTargetGroupOf(id, ref) && ref.Kind != "Gateway":
				out = append(out, ref)
			case tg.Want.ID.Kind.IsGateway() && strings.HasPrefix(route, ref.Namespace+"-"),
				!tg.Want.ID.Kind.IsGateway() && strings.HasPrefix(id, ref.Namespace+"/"):
				out = append(out, namespace)
			}
		}
	}
	slices.SortFunc(out, finding.Ref.Compare)
	return slices.Compact(out)
}

// TargetGroupIDs returns the resource IDs of the target groups to which actions forward, and "" for each target group that
// does not belong to the stack.
func (tg *TargetGroups) TargetGroupIDs(actions []model.Action) []string {
	var out []string
	for _, g := range model.ForwardedTargetGroups(actions) {
		out = append(out, tg.LiveTargetGroupIDs[g.Group.ARN])
	}
	return out
}

// MayBelongTo reports whether an existing rule may belong to a member, because it forwards to no target group of another
// object.
func (tg *TargetGroups) MayBelongTo(ref finding.Ref, r observed.Rule) bool {
	return !slices.ContainsFunc(tg.TargetGroupIDs(r.Actions), func(id string) bool {
		return strings.Contains(id, "/") && !naming.IsTargetGroupOf(id, ref)
	})
}

// IsOwnedByOtherNamespace reports whether a target group was created for an object of another namespace, in this stack or in
// another stack, which may not have attached the target group to a load balancer yet.
func (tg *TargetGroups) IsOwnedByOtherNamespace(arn, namespace string) bool {
	if owner, known := tg.Have.Facts.TargetGroupOwners[arn]; known && owner != namespace {
		return true
	}
	return slices.ContainsFunc(tg.Have.TargetGroups, func(h observed.TargetGroup) bool {
		owner, _, known := strings.Cut(h.ResourceID, "/")
		return h.ARN == arn && known && owner != namespace
	})
}

// FindingObjects returns the objects on which findings about an existing target group are reported: its owners, or all members
// if the owners are not known.
func (tg *TargetGroups) FindingObjects(arn string) []finding.Ref {
	if of := tg.TargetGroupOwners(arn); len(of) > 0 {
		return of
	}
	return tg.Members()
}
