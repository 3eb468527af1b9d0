package planner

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
)

// frontendNLB is what the plan knows of the frontend NLB.
type frontendNLB struct {
	resolved.LoadBalancer
	// postponed are ALB listeners to be deleted once nothing leads to them any more.
	postponed []observed.Listener
}

// showsFrontend reports whether its name is to be shown.
func (b *builder) showsFrontend() bool {
	return b.Want.FrontendNLB != nil && (b.frontend.Live != nil || len(b.frontend.Predecessors) > 0 || !b.FrontendStays() && !b.Want.Held.Creation)
}

// resolveFrontendListeners settles which ports of the ALB its listeners lead to. One whose port is not
// served yet is not made.
func (b *builder) resolveFrontendListeners() {
	for _, w := range b.frontend.Desired.Listeners {
		l := b.listenerResolver().Resolve(&b.frontend.LoadBalancer, w)
		_, _, l.Make = b.leads(w)
		b.frontend.Listeners = append(b.frontend.Listeners, l)
	}
}

// planFrontend makes the frontend NLB fit, once the ALB has its listeners.
func (b *builder) planFrontend(after []plan.StepID) {
	lb := &b.frontend.LoadBalancer
	if lb.Desired == nil || b.FrontendStays() || !b.Switched {
		lb.Until = plan.Wait{For: "the load balancer behind it"}
		return
	}
	var made []plan.StepID
	before := len(b.Plan.Steps)
	if lb.Live == nil {
		made = b.createLoadBalancer(lb, after)
	} else {
		b.changeLoadBalancer(lb, after)
	}
	groups := map[string][]plan.StepID{}
	for _, l := range lb.Listeners {
		if to, group, ok := b.leads(l.Desired); ok {
			groups[group.ID] = b.planALBTarget(group, to, l.Desired.Members, made)
		}
	}
	b.planListeners(lb, made, groups)
	b.planSwitch(lb, b.Plan.Steps[before:])
}

// planALBTarget makes a target group with a port of the ALB as its target.
func (b *builder) planALBTarget(group model.TargetGroup, to resolved.Listener, members []finding.Ref, made []plan.StepID) []plan.StepID {
	ready := append(b.PlanTargetGroup(group, nil, nil), made...)
	if id := b.registerALB(group, to, members, ready); id != "" {
		ready = append(ready, id)
	}
	return ready
}

// leads finds the listener of the ALB and the target group of a port; false if there is nothing to
// lead to yet.
func (b *builder) leads(l model.Listener) (to resolved.Listener, group model.TargetGroup, ok bool) {
	g := b.DesiredGroups[l.Target()]
	if g == nil {
		return resolved.Listener{}, model.TargetGroup{}, false
	}
	at := slices.IndexFunc(b.Listeners, func(p resolved.Listener) bool { return p.Desired.Port == g.Port && (p.Make || p.Live != nil) })
	if at < 0 {
		return resolved.Listener{}, model.TargetGroup{}, false
	}
	return b.Listeners[at], *g, true
}

// registerALB makes the ALB the target of a group, in place of what else is in it.
func (b *builder) registerALB(group model.TargetGroup, to resolved.Listener, members []finding.Ref, after []plan.StepID) plan.StepID {
	if arn := b.GroupARN[group.ID]; arn != "" {
		targets, known := b.ALBTargets(arn)
		if !known {
			return ""
		}
		for _, t := range targets {
			if b.Live != nil && t.ID == b.Live.ARN && t.Port == group.Port {
				return ""
			}
		}
		for _, t := range targets {
			after = append(after, b.Detach(arn, t, nil))
		}
	}
	if b.Live == nil {
		after = append(after, plan.NewStepID("create", plan.LoadBalancerAddress))
	}
	if to.Live == nil {
		after = append(after, plan.NewStepID("create", to.Address()))
	}
	a := plan.Address{Kind: plan.ALBTarget, ID: group.ID}
	return b.Add(plan.Step{
		ID: plan.NewStepID("register", a), Address: a, Verb: plan.Create,
		Do:      plan.RegisterALB{Group: plan.GroupAddress(group.ID), LoadBalancer: plan.LoadBalancerAddress, Port: group.Port},
		Changes: []plan.Change{{Path: "target", To: fmt.Sprintf("%s:%d", model.LoadBalancerID, group.Port)}},
		Why:     "the network load balancer leads to the application load balancer", After: after, Blames: members,
	})
}

// deletePostponed deletes ALB listeners that the network load balancer has led to so far. One that
// it still leads to stays.
func (b *builder) deletePostponed() {
	for _, l := range b.frontend.postponed {
		var after []plan.StepID
		free := true
		for _, g := range b.Have.TargetGroups {
			free = free && b.Unavailable(model.AskALBTargets{ARN: g.ARN}) == nil
			for _, t := range b.Have.Facts.ALBTargets[g.ARN] {
				if t.ID != b.Live.ARN || t.Port != l.Port {
					continue
				}
				id, ok := b.Detached[targetgroups.TargetKey(g.ARN, t)]
				free = free && ok
				after = append(after, id)
			}
		}
		if free {
			b.deleteListener(l, after)
		}
	}
}
