package draft

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Finalizers are the finalizers of the members that stay: those they carry, and the steps that add the others.
type Finalizers struct {
	stay    []model.Member
	claimOf map[finding.Ref]plan.StepID
}

// NewFinalizers returns the finalizers of members that stay.
func NewFinalizers(stay []model.Member) *Finalizers {
	f := &Finalizers{stay: stay, claimOf: map[finding.Ref]plan.StepID{}}
	for _, m := range stay {
		if !m.Claimed && !m.Deleting {
			f.claimOf[m.Ref] = plan.NewStepID("claim", finalizerOf(m))
		}
	}
	return f
}

func finalizerOf(m model.Member) plan.Address {
	return plan.Address{Kind: plan.Finalizer, ID: m.Ref.String()}
}

// Claim makes the members carry the finalizer before anything is made for them.
func (f *Finalizers) Claim(to *Steps) {
	for _, m := range f.stay {
		if m.Claimed || m.Deleting {
			continue
		}
		to.Add(plan.Step{
			ID: f.claimOf[m.Ref], Address: finalizerOf(m), Verb: plan.Create,
			Do:  plan.ClaimFinalizer{Ref: m.Ref, Finalizer: m.Finalizer},
			Why: "so that what is made for it is removed with it", Blames: []finding.Ref{m.Ref},
		})
	}
}

func (f *Finalizers) claims() []plan.StepID {
	var out []plan.StepID
	for _, m := range f.stay {
		if id, ok := f.claimOf[m.Ref]; ok {
			out = append(out, id)
		}
	}
	return out
}

// ClaimsOf returns the steps after which something may be made for members.
func (f *Finalizers) ClaimsOf(members ...finding.Ref) []plan.StepID {
	var out []plan.StepID
	for _, m := range members {
		if id, ok := f.claimOf[m]; ok {
			out = append(out, id)
		}
	}
	return out
}

// Holders returns the steps after which a member that stays carries the finalizer: none if one does so.
func (f *Finalizers) Holders() []plan.StepID {
	for _, m := range f.stay {
		if m.Claimed && !m.Deleting {
			return nil
		}
	}
	return f.claims()
}

// HoldersOf returns the steps after which one of several members carries the finalizer: none if one does.
func (f *Finalizers) HoldersOf(members []finding.Ref) []plan.StepID {
	claims := f.ClaimsOf(members...)
	if len(claims) < len(members) {
		return nil
	}
	return claims
}
