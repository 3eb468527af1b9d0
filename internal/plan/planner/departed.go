package planner

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// departedMemberReason is the reason of steps that remove rules and default actions of members that have left the stack.
const departedMemberReason = "its object does not belong to this load balancer any more"

// removeDepartedRules plans to remove the rules and default actions of members that have left the stack, from load balancers
// that are otherwise held, and returns the steps. Later runs could not determine the owners of these rules, because the
// finalizers of the members are removed after the steps.
func (d *stepPlanner) removeDepartedRules() (steps []plan.StepID) {
	for _, lb := range d.Have.LoadBalancers {
		for _, l := range lb.Listeners {
			for _, r := range l.Rules {
				if m := d.departedOwner(r.Actions); m != nil {
					a := plan.RuleAddress(r.ARN)
					steps = append(steps, d.Add(plan.Step{
						ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteRule{ARN: r.ARN}, Impact: plan.DeleteImpact,
						Changes: []plan.Change{{Path: "actions", From: plan.ActionsText(r.Actions)}}, Why: departedMemberReason, RequestedBy: []finding.Ref{*m},
					}))
				}
			}
			if m := d.departedOwner(l.Default); m != nil {
				steps = append(steps, d.Add(defaultActionRemovalStep(lb, l, *m)))
			}
		}
	}
	return steps
}

// defaultActionRemovalStep returns the step that removes the default action of a member that has left the stack. On a
// network load balancer, the step deletes the listener. On an ALB, it changes the default action to a 404 response.
func defaultActionRemovalStep(lb observed.LoadBalancer, l observed.Listener, of finding.Ref) plan.Step {
	a := plan.Address{Kind: plan.Listener, ID: l.ARN}
	s := plan.Step{Address: a, Why: departedMemberReason, RequestedBy: []finding.Ref{of}}
	if lb.Type == model.Network.String() {
		s.ID, s.Verb, s.Do, s.Impact = plan.NewStepID("delete", a), plan.Delete, plan.DeleteListener{ARN: l.ARN}, plan.DeleteImpact
		s.Changes = []plan.Change{{Path: "port", From: fmt.Sprint(l.Port)}}
		return s
	}
	none := []model.Action{plan.NotFoundResponse}
	s.ID, s.Verb, s.Impact = plan.NewStepID("modify", a), plan.Update, plan.BriefImpact
	s.Changes = []plan.Change{{Path: "default", From: plan.ActionsText(l.Default), To: plan.ActionsText(none)}}
	s.Do = plan.ModifyListener{Listener: a, Settings: plan.LiveListenerSettings(&l, none)}
	return s
}

// departedOwner returns the leaving member to which all target groups of the actions belong; nil if there is no such member.
// It also returns nil for the stack of a Gateway, and if the target groups may belong to a member that stays.
func (d *stepPlanner) departedOwner(actions []model.Action) *finding.Ref {
	ids := d.groups.TargetGroupIDs(actions)
	if d.Want.ID.Kind.IsGateway() || slices.ContainsFunc(d.Want.Members, func(m model.Member) bool { return plan.AreTargetGroupsOwnedBy(ids, m.Ref) }) {
		return nil
	}
	for i := range d.Want.Leaving {
		if plan.AreTargetGroupsOwnedBy(ids, d.Want.Leaving[i].Ref) {
			return &d.Want.Leaving[i].Ref
		}
	}
	return nil
}
