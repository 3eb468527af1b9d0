package owners

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// TargetGroups holds which live target groups serve the desired ones, and whose they are.
type TargetGroups struct {
	*draft.Draft
	DesiredGroups map[string]*model.TargetGroup // by id
	IDOf          map[string]string             // of live target groups, by ARN
	// GroupARN maps ids of desired target groups to the live ones that stay.
	GroupARN map[string]string
	// LiveGroups are the live target groups by ARN.
	LiveGroups map[string]observed.TargetGroup
	owners     map[string][]finding.Ref // of live target groups, by ARN
}

func NewTargetGroups(d *draft.Draft) *TargetGroups {
	tg := &TargetGroups{
		Draft: d, DesiredGroups: map[string]*model.TargetGroup{}, IDOf: map[string]string{},
		GroupARN: map[string]string{}, LiveGroups: map[string]observed.TargetGroup{},
	}
	for i := range d.Want.TargetGroups {
		tg.DesiredGroups[d.Want.TargetGroups[i].ID] = &d.Want.TargetGroups[i]
	}
	for _, g := range d.Have.TargetGroups {
		tg.IDOf[g.ARN] = g.ResourceID
	}
	return tg
}

// ARN resolves a forward action's group.
func (tg *TargetGroups) ARN(r model.GroupRef) string {
	switch {
	case r.ARN != "":
		return r.ARN
	case r.Name != "":
		return tg.Have.Facts.TargetGroups[r.Name]
	}
	return tg.GroupARN[r.ID]
}

// Resolved puts the ARNs of groups that are given by name into actions; what carries out a step has
// nothing else to find them by.
func (tg *TargetGroups) Resolved(actions []model.Action) []model.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		f.Groups = slices.Clone(f.Groups)
		for j, g := range f.Groups {
			if arn := tg.ARN(g.Group); g.Group.Name != "" && arn != "" {
				f.Groups[j].Group = model.GroupRef{ARN: arn}
			}
		}
		out[i] = f
	}
	return out
}

// GroupOwners returns the members of the stack that a live target group was made for, nil if that is not
// known.
func (tg *TargetGroups) GroupOwners(arn string) []finding.Ref {
	if tg.owners == nil {
		tg.owners = map[string][]finding.Ref{}
		members := map[string]finding.Ref{}
		for _, m := range append(slices.Clone(tg.Want.Members), tg.Want.Leaving...) {
			members[m.Ref.Namespace+"/"+m.Ref.Name] = m.Ref
		}
		for _, g := range tg.Have.TargetGroups {
			tg.owners[g.ARN] = ownersByID(g.ResourceID, members)
		}
		for _, w := range tg.Want.TargetGroups {
			if live := tg.GroupARN[w.ID]; live != "" {
				tg.owners[live] = append(tg.owners[live], w.Members...)
			}
		}
	}
	return tg.owners[arn]
}

// ownersByID returns the members whose names a target group's id may begin with.
func ownersByID(id string, members map[string]finding.Ref) (out []finding.Ref) {
	for i := range len(id) {
		if m, ok := members[id[:i]]; ok && id[i] == '-' {
			out = append(out, m)
		}
	}
	return out
}

// OwnersOf returns the members whose target groups live actions forward to, nil if that is not known.
func (tg *TargetGroups) OwnersOf(actions []model.Action) []finding.Ref {
	f := equal.ForwardOf(actions)
	if f == nil {
		return nil
	}
	var out []finding.Ref
	for _, g := range f.Groups {
		of := tg.GroupOwners(g.Group.ARN)
		if len(of) == 0 {
			return nil
		}
		out = append(out, of...)
	}
	slices.SortFunc(out, finding.Ref.Compare)
	return slices.Compact(out)
}

// OwnersByID returns the members to which live actions may belong whose target groups nothing uses any more, by the ids
// of these: members of the stack or of others that are given, or else namespaces. Nil if that is not known.
func (tg *TargetGroups) OwnersByID(actions []model.Action, others ...finding.Ref) (out []finding.Ref) {
	refs := map[finding.Ref]bool{}
	for _, m := range slices.Concat(tg.Want.Members, tg.Want.Leaving) {
		refs[m.Ref] = true
	}
	for _, ref := range others {
		refs[ref] = true
	}
	for _, id := range tg.OwnerIDs(actions) {
		_, route, _ := strings.Cut(id, ":")
		for ref := range refs {
			namespace := finding.Ref{Namespace: ref.Namespace}
			switch {
			case naming.IsTargetGroupOf(id, ref) && ref.Kind != "Gateway":
				out = append(out, ref)
			case tg.Want.ID.Kind.OfGateway() && strings.HasPrefix(route, ref.Namespace+"-"),
				!tg.Want.ID.Kind.OfGateway() && strings.HasPrefix(id, ref.Namespace+"/"):
				out = append(out, namespace)
			}
		}
	}
	slices.SortFunc(out, finding.Ref.Compare)
	return slices.Compact(out)
}

// OwnerIDs returns the resource ids of the target groups to which actions forward, as ownersOf has them.
func (tg *TargetGroups) OwnerIDs(actions []model.Action) []string {
	var out []string
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				out = append(out, tg.IDOf[g.Group.ARN])
			}
		}
	}
	return out
}

// MayBeOf reports whether a live rule can be one of a member: it forwards to no target group that another
// object's rules use.
func (tg *TargetGroups) MayBeOf(ref finding.Ref, r observed.Rule) bool {
	return !slices.ContainsFunc(tg.OwnerIDs(r.Actions), func(id string) bool {
		return strings.Contains(id, "/") && !naming.IsTargetGroupOf(id, ref)
	})
}

// OwnedElsewhere reports whether a target group was made for an object of another namespace: of this
// stack, or of another one, which may not have attached it yet.
func (tg *TargetGroups) OwnedElsewhere(arn, namespace string) bool {
	if owner, known := tg.Have.Facts.TargetGroupOwners[arn]; known && owner != namespace {
		return true
	}
	return slices.ContainsFunc(tg.Have.TargetGroups, func(h observed.TargetGroup) bool {
		owner, _, known := strings.Cut(h.ResourceID, "/")
		return h.ARN == arn && known && owner != namespace
	})
}

// BlameOwners returns the objects on which faults of a live target group that is being deleted are reported.
func (tg *TargetGroups) BlameOwners(arn string) []finding.Ref {
	if of := tg.GroupOwners(arn); len(of) > 0 {
		return of
	}
	return tg.Members()
}
