package draft

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Finalizers plans the finalizers of the members that are not leaving. A resource is created only when at least one member
// that needs it has the finalizer. Without the finalizer, all of these members could be deleted while the resource remains
// in AWS.
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
			Why: "so that its AWS resources are deleted before it", RequestedBy: []finding.Ref{m.Ref},
		})
	}
}

// ClaimStepsOf returns the steps that add the missing finalizers of the given members. Resources for the members may be
// created after these steps.
func (f *Finalizers) ClaimStepsOf(members ...finding.Ref) []plan.StepID {
	var out []plan.StepID
	for _, m := range members {
		if id, ok := f.claimSteps[m]; ok {
			out = append(out, id)
		}
	}
	return out
}

// AnyFinalizerSteps returns the steps after which at least one member that is not leaving has the finalizer. The result is
// empty if a member already has the finalizer.
func (f *Finalizers) AnyFinalizerSteps() []plan.StepID {
	var refs []finding.Ref
	for _, m := range f.members {
		if m.Claimed && !m.Deleting {
			return nil
		}
		refs = append(refs, m.Ref)
	}
	return f.ClaimStepsOf(refs...)
}

// AnyFinalizerStepsOf returns the steps after which at least one of the given members has the finalizer. The result is empty
// if one of these members already has the finalizer.
func (f *Finalizers) AnyFinalizerStepsOf(members []finding.Ref) []plan.StepID {
	claims := f.ClaimStepsOf(members...)
	if len(claims) < len(members) {
		return nil
	}
	return claims
}
