package plan

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// frontendNLB is what the plan knows of the frontend NLB.
type frontendNLB struct {
	loadBalancerPlan
	// postponed are ALB listeners to be deleted once nothing leads to them any more.
	postponed []observed.Listener
}

// frontendStays reports whether nothing about the frontend NLB may change.
func (d *draft) frontendStays() bool {
	return d.want.FrontendNLB != nil && d.want.Held.Frontend
}

// showsFrontend reports whether its name is to be shown.
func (b *builder) showsFrontend() bool {
	return b.want.FrontendNLB != nil && (b.frontend.live != nil || len(b.frontend.predecessors) > 0 || !b.frontendStays() && !b.want.Held.Creation)
}

// resolveFrontendListeners settles which ports of the ALB its listeners lead to. One whose port is not
// served yet is not made.
func (b *builder) resolveFrontendListeners() {
	for _, w := range b.frontend.desired.Listeners {
		l := b.listenerResolver().resolve(&b.frontend.loadBalancerPlan, w)
		_, _, l.make = b.leads(w)
		b.frontend.listeners = append(b.frontend.listeners, l)
	}
}

// planFrontend makes the frontend NLB fit, once the ALB has its listeners.
func (b *builder) planFrontend(after []StepID) {
	lb := &b.frontend.loadBalancerPlan
	if lb.desired == nil || b.frontendStays() || !b.switched {
		lb.until = Wait{For: "the load balancer behind it"}
		return
	}
	var made []StepID
	before := len(b.plan.Steps)
	if lb.live == nil {
		made = b.createLoadBalancer(lb, after)
	} else {
		b.changeLoadBalancer(lb, after)
	}
	groups := map[string][]StepID{}
	for _, l := range lb.listeners {
		if to, group, ok := b.leads(l.desired); ok {
			groups[group.ID] = b.planALBTarget(group, to, l.desired.Members, made)
		}
	}
	b.planListeners(lb, made, groups)
	b.planSwitch(lb, b.plan.Steps[before:])
}

// planALBTarget makes a target group with a port of the ALB as its target.
func (b *builder) planALBTarget(group model.TargetGroup, to listenerPlan, members []finding.Ref, made []StepID) []StepID {
	ready := append(b.planTargetGroup(group, nil, nil), made...)
	if id := b.registerALB(group, to, members, ready); id != "" {
		ready = append(ready, id)
	}
	return ready
}

// leads finds the listener of the ALB and the target group of a port; false if there is nothing to
// lead to yet.
func (b *builder) leads(l model.Listener) (to listenerPlan, group model.TargetGroup, ok bool) {
	g := b.desiredGroups[l.Target()]
	if g == nil {
		return listenerPlan{}, model.TargetGroup{}, false
	}
	at := slices.IndexFunc(b.listeners, func(p listenerPlan) bool { return p.desired.Port == g.Port && (p.make || p.live != nil) })
	if at < 0 {
		return listenerPlan{}, model.TargetGroup{}, false
	}
	return b.listeners[at], *g, true
}

// registerALB makes the ALB the target of a group, in place of what else is in it.
func (b *builder) registerALB(group model.TargetGroup, to listenerPlan, members []finding.Ref, after []StepID) StepID {
	if arn := b.groupARN[group.ID]; arn != "" {
		targets, known := b.albTargets(arn)
		if !known {
			return ""
		}
		for _, t := range targets {
			if b.live != nil && t.ID == b.live.ARN && t.Port == group.Port {
				return ""
			}
		}
		for _, t := range targets {
			after = append(after, b.detach(arn, t, nil))
		}
	}
	if b.live == nil {
		after = append(after, stepID("create", loadBalancerAddress))
	}
	if to.live == nil {
		after = append(after, stepID("create", to.address()))
	}
	a := Address{Kind: ALBTarget, ID: group.ID}
	return b.add(Step{
		ID: stepID("register", a), Address: a, Verb: Create,
		Do:      RegisterALB{Group: GroupAddress(group.ID), LoadBalancer: loadBalancerAddress, Port: group.Port},
		Changes: []Change{{Path: "target", To: fmt.Sprintf("%s:%d", model.LoadBalancerID, group.Port)}},
		Why:     "the network load balancer leads to the application load balancer", After: after, Blames: members,
	})
}

// deletePostponed deletes ALB listeners that the network load balancer has led to so far. One that
// it still leads to stays.
func (b *builder) deletePostponed() {
	for _, l := range b.frontend.postponed {
		var after []StepID
		free := true
		for _, g := range b.have.TargetGroups {
			free = free && b.unavailable(model.AskALBTargets{ARN: g.ARN}) == nil
			for _, t := range b.have.Facts.ALBTargets[g.ARN] {
				if t.ID != b.live.ARN || t.Port != l.Port {
					continue
				}
				id, ok := b.detached[targetKey(g.ARN, t)]
				free = free && ok
				after = append(after, id)
			}
		}
		if free {
			b.deleteListener(l, after)
		}
	}
}
