package draft

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Finalizers plans the finalizers of the members that are not leaving. A resource is created only when at least one of the
// members that need it has the finalizer, so that the resource is deleted with the members.
type Finalizers struct {
	members    []model.Member
	claimSteps map[finding.Ref]plan.StepID
}

// NewFinalizers returns the Finalizers of the members that are not leaving.
func NewFinalizers(stay []model.Member) *Finalizers {
	f := &Finalizers{members: stay, claimSteps: map[finding.Ref]plan.StepID{}}
	for _, m := range stay {
		if !m.Claimed && !m.Deleting {
			f.claimSteps[m.Ref] = plan.NewStepID("claim", finalizerAddress(m))
		}
	}
	return f
}

// finalizerAddress returns the address of the finalizer of a member.
func finalizerAddress(m model.Member) plan.Address {
	return plan.Address{Kind: plan.Finalizer, ID: m.Ref.String()}
}

// PlanFinalizers plans to add the missing finalizers to the members.
func (f *Finalizers) PlanFinalizers(to *Steps) {
	for _, m := range f.members {
		if m.Claimed || m.Deleting {
			continue
		}
		to.Add(plan.Step{
			ID: f.claimSteps[m.Ref], Address: finalizerAddress(m), Verb: plan.Create,
			Do:  plan.ClaimFinalizer{Ref: m.Ref, Finalizer: m.Finalizer},
			Why: "so that what is made for it is removed with it", Blames: []finding.Ref{m.Ref},
		})
	}
}

// ClaimStepsOf returns the steps that add the finalizers of members, after which resources may be created for them.
func (f *Finalizers) ClaimStepsOf(members ...finding.Ref) []plan.StepID {
	var out []plan.StepID
	for _, m := range members {
		if id, ok := f.claimSteps[m]; ok {
			out = append(out, id)
		}
	}
	return out
}

// HolderSteps returns the steps after which at least one member that is not leaving has the finalizer: none if a member
// already has it.
func (f *Finalizers) HolderSteps() []plan.StepID {
	var refs []finding.Ref
	for _, m := range f.members {
		if m.Claimed && !m.Deleting {
			return nil
		}
		refs = append(refs, m.Ref)
	}
	return f.ClaimStepsOf(refs...)
}

// HolderStepsOf returns the steps after which at least one of these members has the finalizer: none if a member already has
// it.
func (f *Finalizers) HolderStepsOf(members []finding.Ref) []plan.StepID {
	claims := f.ClaimStepsOf(members...)
	if len(claims) < len(members) {
		return nil
	}
	return claims
}
