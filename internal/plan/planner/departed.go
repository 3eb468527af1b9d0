package planner

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// departedWhy is the reason of steps that take away what serves members that left.
const departedWhy = "its object does not belong to this load balancer any more"

// removeDeparted takes what serves members that left off a load balancer that stays as it is otherwise. Their finalizers
// go, so that later nothing would show whose it was.
func (d *differ) removeDeparted() (steps []plan.StepID) {
	for _, lb := range d.Have.LoadBalancers {
		for _, l := range lb.Listeners {
			for _, r := range l.Rules {
				if m := d.departedOwner(r.Actions); m != nil {
					a := plan.RuleAddress(r.ARN)
					steps = append(steps, d.Add(plan.Step{
						ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteRule{ARN: r.ARN}, Impact: plan.DeleteImpact,
						Changes: []plan.Change{{Path: "actions", From: plan.ActionsText(r.Actions)}}, Why: departedWhy, Blames: []finding.Ref{*m},
					}))
				}
			}
			if m := d.departedOwner(l.Default); m != nil {
				steps = append(steps, d.Add(departedDefault(lb, l, *m)))
			}
		}
	}
	return steps
}

// departedDefault returns the step that takes away the default action of a listener of a member that left. A listener
// of an NLB has nothing else.
func departedDefault(lb observed.LoadBalancer, l observed.Listener, of finding.Ref) plan.Step {
	a := plan.Address{Kind: plan.Listener, ID: l.ARN}
	s := plan.Step{Address: a, Why: departedWhy, Blames: []finding.Ref{of}}
	if lb.Type == model.Network.String() {
		s.ID, s.Verb, s.Do, s.Impact = plan.NewStepID("delete", a), plan.Delete, plan.DeleteListener{ARN: l.ARN}, plan.DeleteImpact
		s.Changes = []plan.Change{{Path: "port", From: fmt.Sprint(l.Port)}}
		return s
	}
	none := []model.Action{plan.NotFoundResponse}
	s.ID, s.Verb, s.Impact = plan.NewStepID("modify", a), plan.Update, plan.BriefImpact
	s.Changes = []plan.Change{{Path: "default", From: plan.ActionsText(l.Default), To: plan.ActionsText(none)}}
	s.Do = plan.ModifyListener{Listener: a, Settings: plan.ListenerSettings{
		Port: l.Port, Protocol: l.Protocol, Policy: l.Policy, ALPN: l.ALPN, Certificate: l.Certificate, MutualAuth: l.MutualAuth, Default: none,
	}}
	return s
}

// departedOwner returns the member that left to whose target groups alone actions forward; nil if there is none, or if
// these may be of a member that is there.
func (d *differ) departedOwner(actions []model.Action) *finding.Ref {
	ids := d.groups.TargetGroupIDs(actions)
	if d.Want.ID.Kind.OfGateway() || slices.ContainsFunc(d.Want.Members, func(m model.Member) bool { return plan.GroupsOwnedBy(ids, m.Ref) }) {
		return nil
	}
	for i := range d.Want.Leaving {
		if plan.GroupsOwnedBy(ids, d.Want.Leaving[i].Ref) {
			return &d.Want.Leaving[i].Ref
		}
	}
	return nil
}
