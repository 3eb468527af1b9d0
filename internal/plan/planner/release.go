package planner

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// releasePlanner plans to remove the finalizers of members that have left the stack, after everything that was created for
// them is deleted.
type releasePlanner struct {
	*owners.TargetGroups
	*draft.Usage
	*draft.Finalizers
	listeners []resolved.Listener
}

// releaseAll plans to remove the finalizers of all members that have left, after the given steps. The removals wait if any
// step of the plan waits.
func (r *releasePlanner) releaseAll(after []plan.StepID) {
	if len(r.Want.Leaving) == 0 {
		return
	}
	var wait plan.Wait
	for _, s := range r.Plan.Steps {
		if s.Waits() {
			wait = s.Wait
			break
		}
	}
	all := []plan.StepID{r.Join(&draft.StepChain{Steps: after})}
	for _, m := range r.Want.Leaving {
		r.releaseMember(m, all, wait)
	}
}

// releaseEach plans to remove the finalizer of each member that has left, after everything that was created for that member
// is deleted, except certificates. The removal does not wait for changes of other members.
func (r *releasePlanner) releaseEach() {
	if len(r.Want.Leaving) == 0 {
		return
	}
	removals, finalizers := r.removalSteps(), r.AnyFinalizerSteps()
	for _, m := range r.Want.Leaving {
		after := slices.Clone(finalizers)
		var wait plan.Wait
		for _, s := range removals[m.Ref] {
			after = append(after, s.ID)
			if s.Waits() && wait.For == "" {
				wait = s.Wait
			}
		}
		r.releaseMember(m, after, wait)
	}
}

func (r *releasePlanner) releaseMember(m model.Member, after []plan.StepID, wait plan.Wait) {
	a := plan.Address{Kind: plan.Finalizer, ID: m.Ref.String()}
	why := "the stack has no AWS resources any more"
	if !r.Want.IsEmpty() {
		why = "it does not belong to this load balancer any more"
	}
	r.Add(plan.Step{
		ID: plan.NewStepID("release", a), Address: a, Verb: plan.Delete,
		Do:  plan.ReleaseFinalizer{Ref: m.Ref, Finalizer: m.Finalizer, ClearStatus: !m.Deleting},
		Why: why, After: after, Wait: wait, RequestedBy: []finding.Ref{m.Ref},
	})
}

// removalSteps returns, for each leaving member, the steps that delete what was created for it. It leaves out routing
// changes that wait, and the steps after them, because other members cause these changes.
func (r *releasePlanner) removalSteps() map[finding.Ref][]plan.Step {
	out := map[finding.Ref][]plan.Step{}
	var unowned []plan.Step
	foreign, joins := map[plan.StepID]bool{}, map[plan.StepID]bool{}
	for _, s := range r.Plan.Steps {
		// Steps after a ClaimFinalizer step belong to a member that joins the stack. A user can remove the finalizer of this
		// member repeatedly, which must not delay leaving members.
		_, claims := s.Do.(plan.ClaimFinalizer)
		joins[s.ID] = claims || slices.ContainsFunc(s.After, func(id plan.StepID) bool { return joins[id] })
		if s.Waits() && plan.ChangesRouting(s.Do) || slices.ContainsFunc(s.After, func(id plan.StepID) bool { return foreign[id] }) {
			foreign[s.ID] = true
			continue
		}
		of, ok := r.deletedResourceOwners(s)
		switch {
		case !ok, of == nil && joins[s.ID]:
		case of == nil:
			unowned = append(unowned, s)
		default:
			for _, m := range of {
				out[m] = append(out[m], s)
			}
		}
	}
	for _, m := range r.Want.Leaving {
		out[m.Ref] = append(out[m.Ref], unowned...)
	}
	return out
}

// deletedResourceOwners returns the members to which the deleted resource of a step belongs; nil if it may belong to any
// member. ok is false if the step deletes nothing that was created for a member. It is also false for certificates and their
// DNS records: other members and other load balancers can delay their deletion, and later runs of the stack find them by
// their tags, without the member.
func (r *releasePlanner) deletedResourceOwners(s plan.Step) (of []finding.Ref, ok bool) {
	switch do := s.Do.(type) {
	case plan.DeleteRule:
		return r.RuleOwners[do.ARN], true
	case plan.DeleteListener:
		return nil, true
	case plan.DeleteTargetGroup:
		return r.TargetGroupOwners(do.ARN), true
	case plan.DeleteBinding:
		for _, h := range r.Have.Bindings {
			if h.Namespace == do.Namespace && h.Name == do.Name {
				return r.TargetGroupOwners(h.ARN), true
			}
		}
		return nil, true
	case plan.ModifyListener:
		// The step may replace the default action of a leaving member.
		for _, l := range r.listeners {
			if l.Live != nil && s.Address == l.Address() {
				if f := equal.ForwardOf(l.Live.Default); f != nil {
					return r.ActionOwners(l.Live.Default), true
				}
			}
		}
	}
	return nil, false
}
