package plan

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// finalizers are those of the members that stay: which carry one, and the steps that add the others.
type finalizers struct {
	stay    []model.Member
	claimOf map[finding.Ref]StepID
}

func newFinalizers(stay []model.Member) *finalizers {
	return &finalizers{stay: stay, claimOf: map[finding.Ref]StepID{}}
}

// claim makes the members carry the finalizer before anything is made for them.
func (f *finalizers) claim(to *steps) {
	for _, m := range f.stay {
		if m.Claimed || m.Deleting {
			continue
		}
		a := Address{Kind: Finalizer, ID: m.Ref.String()}
		f.claimOf[m.Ref] = to.add(Step{
			ID: stepID("claim", a), Address: a, Verb: Create,
			Do:  ClaimFinalizer{Ref: m.Ref, Finalizer: m.Finalizer},
			Why: "so that what is made for it is removed with it", Blames: []finding.Ref{m.Ref},
		})
	}
}

func (f *finalizers) claims() []StepID {
	var out []StepID
	for _, m := range f.stay {
		if id, ok := f.claimOf[m.Ref]; ok {
			out = append(out, id)
		}
	}
	return out
}

// claimsOf are the steps after which something may be made for members.
func (f *finalizers) claimsOf(members ...finding.Ref) []StepID {
	var out []StepID
	for _, m := range members {
		if id, ok := f.claimOf[m]; ok {
			out = append(out, id)
		}
	}
	return out
}

// holders are the steps after which a member that stays carries the finalizer: none if one does so.
func (f *finalizers) holders() []StepID {
	for _, m := range f.stay {
		if m.Claimed && !m.Deleting {
			return nil
		}
	}
	return f.claims()
}

// holdersOf are the steps after which one of several members carries the finalizer: none if one does.
func (f *finalizers) holdersOf(members []finding.Ref) []StepID {
	claims := f.claimsOf(members...)
	if len(claims) < len(members) {
		return nil
	}
	return claims
}
