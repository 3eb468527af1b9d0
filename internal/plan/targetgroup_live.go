package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// targetGroups says which live target groups serve the desired ones, and whose they are.
type targetGroups struct {
	*draft
	desiredGroups map[string]*model.TargetGroup // by id
	idOf          map[string]string             // of live target groups, by ARN
	// groupARN maps ids of desired target groups to the live ones that stay.
	groupARN map[string]string
	// liveGroups are those by ARN.
	liveGroups map[string]observed.TargetGroup
	owners     map[string][]finding.Ref // of live target groups, by ARN
}

func newTargetGroups(d *draft) *targetGroups {
	tg := &targetGroups{
		draft: d, desiredGroups: map[string]*model.TargetGroup{}, idOf: map[string]string{},
		groupARN: map[string]string{}, liveGroups: map[string]observed.TargetGroup{},
	}
	for i := range d.want.TargetGroups {
		tg.desiredGroups[d.want.TargetGroups[i].ID] = &d.want.TargetGroups[i]
	}
	for _, g := range d.have.TargetGroups {
		tg.idOf[g.ARN] = g.ResourceID
	}
	return tg
}

// arn resolves a forward action's group.
func (tg *targetGroups) arn(r model.GroupRef) string {
	switch {
	case r.ARN != "":
		return r.ARN
	case r.Name != "":
		return tg.have.Facts.TargetGroups[r.Name]
	}
	return tg.groupARN[r.ID]
}

// resolved puts the ARNs of groups that are given by name into actions; what carries out a step has
// nothing else to find them by.
func (tg *targetGroups) resolved(actions []model.Action) []model.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		f.Groups = slices.Clone(f.Groups)
		for j, g := range f.Groups {
			if arn := tg.arn(g.Group); g.Group.Name != "" && arn != "" {
				f.Groups[j].Group = model.GroupRef{ARN: arn}
			}
		}
		out[i] = f
	}
	return out
}

// groupOwners are the members of the stack that a live target group was made for, nil if that is not
// known.
func (tg *targetGroups) groupOwners(arn string) []finding.Ref {
	if tg.owners == nil {
		tg.owners = map[string][]finding.Ref{}
		members := map[string]finding.Ref{}
		for _, m := range append(slices.Clone(tg.want.Members), tg.want.Leaving...) {
			members[m.Ref.Namespace+"/"+m.Ref.Name] = m.Ref
		}
		for _, g := range tg.have.TargetGroups {
			tg.owners[g.ARN] = ownersByID(g.ResourceID, members)
		}
		for _, w := range tg.want.TargetGroups {
			if live := tg.groupARN[w.ID]; live != "" {
				tg.owners[live] = append(tg.owners[live], w.Members...)
			}
		}
	}
	return tg.owners[arn]
}

// ownersByID are the members whose names a target group's id may begin with.
func ownersByID(id string, members map[string]finding.Ref) (out []finding.Ref) {
	for i := range len(id) {
		if m, ok := members[id[:i]]; ok && id[i] == '-' {
			out = append(out, m)
		}
	}
	return out
}

// ownersOf are the members whose target groups live actions forward to, nil if that is not known.
func (tg *targetGroups) ownersOf(actions []model.Action) []finding.Ref {
	f := forwardOf(actions)
	if f == nil {
		return nil
	}
	var out []finding.Ref
	for _, g := range f.Groups {
		of := tg.groupOwners(g.Group.ARN)
		if len(of) == 0 {
			return nil
		}
		out = append(out, of...)
	}
	slices.SortFunc(out, finding.Ref.Compare)
	return slices.Compact(out)
}

// ownerIDs are the resource ids of the target groups to which actions forward, as ownersOf has them.
func (tg *targetGroups) ownerIDs(actions []model.Action) []string {
	var out []string
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				out = append(out, tg.idOf[g.Group.ARN])
			}
		}
	}
	return out
}

// mayBeOf reports whether a live rule can be one of a member: it forwards to no target group that another
// object's rules use.
func (tg *targetGroups) mayBeOf(ref finding.Ref, r observed.Rule) bool {
	return !slices.ContainsFunc(tg.ownerIDs(r.Actions), func(id string) bool {
		return strings.Contains(id, "/") && !naming.IsTargetGroupOf(id, ref)
	})
}

// ownedElsewhere reports whether a target group was made for an object of another namespace: of this
// stack, or of another one, which may not have attached it yet.
func (tg *targetGroups) ownedElsewhere(arn, namespace string) bool {
	if owner, known := tg.have.Facts.TargetGroupOwners[arn]; known && owner != namespace {
		return true
	}
	return slices.ContainsFunc(tg.have.TargetGroups, func(h observed.TargetGroup) bool {
		owner, _, known := strings.Cut(h.ResourceID, "/")
		return h.ARN == arn && known && owner != namespace
	})
}

// blameOwners is whom the troubles of a live target group that goes are reported to.
func (tg *targetGroups) blameOwners(arn string) []finding.Ref {
	if of := tg.groupOwners(arn); len(of) > 0 {
		return of
	}
	return tg.members()
}
