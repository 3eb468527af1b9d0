package planner

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
)

// planFrontend plans the frontend NLB. Its steps come after the steps for the listeners of the ALB. Nothing is planned if
// the frontend NLB is held, or before the status shows the current ALB.
func (d *stepPlanner) planFrontend(after []plan.StepID) {
	lb := &d.frontend
	if lb.Desired == nil || d.IsFrontendHeld() || !d.lb.StatusSwitched {
		lb.SwitchWait = plan.Wait{For: "the ALB behind the frontend NLB"}
		if d.IsFrontendHeld() {
			lb.SwitchWait.For = "the frontend NLB, which is held"
		}
		return
	}
	var made []plan.StepID
	before := len(d.Plan.Steps)
	if lb.Live == nil {
		made = d.loadBalancers.Create(lb, after)
	} else {
		d.loadBalancers.Change(lb, after)
	}
	groups := map[string][]plan.StepID{}
	for _, l := range lb.Listeners {
		if to, group, ok := d.frontendTarget(l.Desired); ok {
			groups[group.ID] = d.planALBTarget(group, to, l.Desired.Members, made)
		}
	}
	d.listeners.Plan(lb, made, d.securityGroups.PortSteps, groups)
	d.replacements.SwitchStatus(lb, d.Plan.Steps[before:])
}

// planALBTarget plans a target group of the frontend NLB. Its target is the ALB listener in the parameter to. made has the
// steps that create the frontend NLB. It returns the steps after which a listener can forward to the target group.
func (d *stepPlanner) planALBTarget(group model.TargetGroup, to *resolved.Listener, members []finding.Ref, made []plan.StepID) []plan.StepID {
	ready := append(d.targets.PlanTargetGroup(group, nil, nil), made...)
	first, alb := slices.Clip(ready), ""
	if d.lb.Live == nil {
		first = append(first, plan.NewStepID("create", plan.LoadBalancerAddress))
	} else {
		alb = d.lb.Live.ARN
	}
	if to.Live == nil {
		first = append(first, plan.NewStepID("create", to.Address()))
	}
	return append(ready, d.albs.Register(group, d.groups.LiveTargetGroupARNs[group.ID], alb, first, members)...)
}

// deleteDeregisteredListeners plans to delete each listener in listenersAwaitingDeregistration that is no target of a target
// group any more after the steps of this plan.
func (d *stepPlanner) deleteDeregisteredListeners() {
	for _, l := range d.listenersAwaitingDeregistration {
		var after []plan.StepID
		free := true
		for _, g := range d.Have.TargetGroups {
			free = free && d.ReadFault(model.AskALBTargets{ARN: g.ARN}) == nil
			for _, t := range d.Have.Facts.ALBTargets[g.ARN] {
				if t.ID != d.lb.Live.ARN || t.Port != l.Port {
					continue
				}
				id, ok := d.albs.DeregistrationSteps[targetgroups.TargetKey(g.ARN, t)]
				free = free && ok
				after = append(after, id)
			}
		}
		if free {
			d.listeners.Delete(l, after)
		}
	}
}
