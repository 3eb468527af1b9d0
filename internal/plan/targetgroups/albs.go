package targetgroups

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
)

// ALBTargetPlanner plans to register and deregister ALBs as targets of target groups of type alb.
type ALBTargetPlanner struct {
	*draft.Draft
	DeregistrationSteps map[string]plan.StepID // steps that deregister a target, by TargetKey
}

// NewALBTargetPlanner returns the ALBTargetPlanner of a stack.
func NewALBTargetPlanner(d *draft.Draft) *ALBTargetPlanner {
	return &ALBTargetPlanner{Draft: d, DeregistrationSteps: map[string]plan.StepID{}}
}

// ALBTargets returns the targets of a target group of type alb; false if they are not known, in which case the plan has a
// question for them or reports that they are unavailable.
func (at *ALBTargetPlanner) ALBTargets(group string) ([]observed.Target, bool) {
	targets, asked := at.Have.Facts.ALBTargets[group]
	if asked {
		return targets, true
	}
	q := model.AskALBTargets{ARN: group}
	if f := at.ReadFault(q); f != nil {
		var of []finding.Origin
		if at.Want.FrontendNLB != nil {
			of = []finding.Origin{at.Want.FrontendNLB.Of}
		}
		at.ReportUnavailable(*f, "the target groups of the frontend NLB stay unchanged", finding.BlocksNothing, of...)
		return nil, false
	}
	at.Ask(q)
	return nil, false
}

// TargetKey identifies a target of a target group.
func TargetKey(group string, t observed.Target) string {
	return fmt.Sprintf("%s %s:%d", group, t.ID, t.Port)
}

// Deregister plans to deregister a load balancer from a target group, unless this is planned already, and returns the step.
func (at *ALBTargetPlanner) Deregister(group string, t observed.Target, after []plan.StepID) plan.StepID {
	key := TargetKey(group, t)
	if id, done := at.DeregistrationSteps[key]; done {
		return id
	}
	a := plan.Address{Kind: plan.ALBTarget, ID: group}
	id := at.Add(plan.Step{
		ID: plan.NewStepID("deregister", a, fmt.Sprint(t.Port)), Address: a, Verb: plan.Delete,
		Do:      plan.DeregisterALB{Group: plan.Address{Kind: plan.TargetGroup, ID: group}, ARN: t.ID, Port: t.Port},
		Changes: []plan.Change{{Path: "target", From: fmt.Sprintf("%s:%d", t.ID, t.Port)}},
		Why:     "no member forwards to this ALB through the target group any more", After: after, RequestedBy: at.Members(),
	})
	at.DeregistrationSteps[key] = id
	return id
}

// Register plans to register the ALB of the stack, or the ALB of another stack that group names, as the only target of a
// target group. It first deregisters all other targets. It returns the steps; none if the ALB is registered already, or if
// the targets are not known. arn is the ARN of the target group; empty if this plan creates it. alb is the ARN of the ALB;
// empty if this plan creates it.
func (at *ALBTargetPlanner) Register(group model.TargetGroup, arn, alb string, after []plan.StepID, members []finding.Ref) []plan.StepID {
	if arn != "" {
		targets, known := at.ALBTargets(arn)
		if !known || slices.ContainsFunc(targets, func(t observed.Target) bool { return t.ID == alb && t.Port == group.Port }) {
			return nil
		}
		after = slices.Clip(after)
		for _, t := range targets {
			after = append(after, at.Deregister(arn, t, nil))
		}
	}
	a := plan.Address{Kind: plan.ALBTarget, ID: group.ID}
	do := plan.RegisterALB{Group: plan.TargetGroupAddress(group.ID), LoadBalancer: plan.LoadBalancerAddress, Port: group.Port}
	to, why := model.LoadBalancerID, "the network load balancer forwards to the application load balancer"
	if group.LoadBalancer != "" {
		do.LoadBalancer, do.ARN = plan.Address{}, group.LoadBalancer
		to, why = group.LoadBalancer, "the network load balancer forwards to the load balancer of another Gateway"
	}
	return []plan.StepID{at.Add(plan.Step{
		ID: plan.NewStepID("register", a), Address: a, Verb: plan.Create, Do: do,
		Changes: []plan.Change{{Path: "target", To: fmt.Sprintf("%s:%d", to, group.Port)}}, Why: why, After: after, RequestedBy: members,
	})}
}

// DeregisterFromAllTargetGroups plans to deregister a load balancer that is to be deleted from all target groups, and returns
// the steps. AWS refuses to delete a load balancer that is a target.
func (at *ALBTargetPlanner) DeregisterFromAllTargetGroups(lb string, after []plan.StepID) []plan.StepID {
	var out []plan.StepID
	for _, g := range at.Have.TargetGroups {
		if g.Type != model.ALBTargets {
			continue
		}
		targets, _ := at.ALBTargets(g.ARN)
		for _, t := range targets {
			if t.ID == lb {
				out = append(out, at.Deregister(g.ARN, t, after))
			}
		}
	}
	return out
}

// canRetainALBTargetGroup reports whether an existing target group of type alb can be kept for the desired target group: the
// existing target group or its target has the desired port, or its targets are not known.
func (at *ALBTargetPlanner) canRetainALBTargetGroup(w model.TargetGroup, h observed.TargetGroup) bool {
	if w.Type != model.ALBTargets || w.Port == h.Port {
		return true
	}
	targets, known := at.ALBTargets(h.ARN)
	return !known || slices.ContainsFunc(targets, func(t observed.Target) bool { return t.Port == w.Port })
}

// MayBeTarget reports whether a port of an existing ALB is, or may be, the target of a target group.
func (at *ALBTargetPlanner) MayBeTarget(alb *observed.LoadBalancer, port int32) bool {
	for _, g := range at.Have.TargetGroups {
		if g.Type != model.ALBTargets {
			continue
		}
		targets, _ := at.ALBTargets(g.ARN)
		if at.ReadFault(model.AskALBTargets{ARN: g.ARN}) != nil ||
			slices.ContainsFunc(targets, func(t observed.Target) bool { return t.ID == alb.ARN && t.Port == port }) {
			return true
		}
	}
	return false
}
