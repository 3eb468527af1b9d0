package planner

import (
	"fmt"

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

// planALBTarget plans a target group of the frontend NLB whose target is the ALB listener to. made has the steps that create
// the frontend NLB. It returns the steps after which a listener can forward to the target group.
func (d *stepPlanner) planALBTarget(group model.TargetGroup, to resolved.Listener, members []finding.Ref, made []plan.StepID) []plan.StepID {
	ready := append(d.targets.PlanTargetGroup(group, nil, nil), made...)
	if id := d.registerALB(group, to, members, ready); id != "" {
		ready = append(ready, id)
	}
	return ready
}

// registerALB plans to register the ALB as the only target of a target group, and to deregister other targets before. It
// returns the step; empty if the ALB is registered already, or if the targets are not known.
func (d *stepPlanner) registerALB(group model.TargetGroup, to resolved.Listener, members []finding.Ref, after []plan.StepID) plan.StepID {
	if arn := d.groups.LiveTargetGroupARNs[group.ID]; arn != "" {
		targets, known := d.albs.ALBTargets(arn)
		if !known {
			return ""
		}
		for _, t := range targets {
			if d.lb.Live != nil && t.ID == d.lb.Live.ARN && t.Port == group.Port {
				return ""
			}
		}
		for _, t := range targets {
			after = append(after, d.albs.Deregister(arn, t, nil))
		}
	}
	if d.lb.Live == nil {
		after = append(after, plan.NewStepID("create", plan.LoadBalancerAddress))
	}
	if to.Live == nil {
		after = append(after, plan.NewStepID("create", to.Address()))
	}
	a := plan.Address{Kind: plan.ALBTarget, ID: group.ID}
	return d.Add(plan.Step{
		ID: plan.NewStepID("register", a), Address: a, Verb: plan.Create,
		Do:      plan.RegisterALB{Group: plan.TargetGroupAddress(group.ID), LoadBalancer: plan.LoadBalancerAddress, Port: group.Port},
		Changes: []plan.Change{{Path: "target", To: fmt.Sprintf("%s:%d", model.LoadBalancerID, group.Port)}},
		Why:     "the network load balancer forwards to the application load balancer", After: after, RequestedBy: members,
	})
}

// deleteDeregisteredListeners plans to delete those listenersAwaitingDeregistration that no target group has as a target
// after the steps of this plan.
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
