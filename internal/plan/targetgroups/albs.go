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

// Attachments are load balancers as targets of target groups.
type Attachments struct {
	*draft.Draft
	Detached map[string]plan.StepID // targets that a step takes out already
}

func NewAttachments(d *draft.Draft) *Attachments {
	return &Attachments{Draft: d, Detached: map[string]plan.StepID{}}
}

// ALBTargets returns the load balancers in a target group of type alb; false if that is not known.
func (at *Attachments) ALBTargets(group string) ([]observed.Target, bool) {
	targets, asked := at.Have.Facts.ALBTargets[group]
	if asked {
		return targets, true
	}
	q := model.AskALBTargets{ARN: group}
	if f := at.Unavailable(q); f != nil {
		var of []finding.Origin
		if at.Want.FrontendNLB != nil {
			of = []finding.Origin{at.Want.FrontendNLB.Of}
		}
		at.ReportUnavailable(*f, "the target groups of the frontend NLB stay as they are", finding.BlocksNothing, of...)
		return nil, false
	}
	at.Ask(q)
	return nil, false
}

func TargetKey(group string, t observed.Target) string {
	return fmt.Sprintf("%s %s:%d", group, t.ID, t.Port)
}

// Detach takes a load balancer out of a target group, once.
func (at *Attachments) Detach(group string, t observed.Target, after []plan.StepID) plan.StepID {
	key := TargetKey(group, t)
	if id, done := at.Detached[key]; done {
		return id
	}
	a := plan.Address{Kind: plan.ALBTarget, ID: group}
	id := at.Add(plan.Step{
		ID: plan.NewStepID("deregister", a, fmt.Sprint(t.Port)), Address: a, Verb: plan.Delete,
		Do:      plan.DeregisterALB{Group: plan.Address{Kind: plan.TargetGroup, ID: group}, ARN: t.ID, Port: t.Port},
		Changes: []plan.Change{{Path: "target", From: fmt.Sprintf("%s:%d", t.ID, t.Port)}},
		Why:     "nothing leads to it this way any more", After: after, Blames: at.Members(),
	})
	at.Detached[key] = id
	return id
}

// attach makes a port of another stack's load balancer the target of a group with an ARN, empty if it is made by the
// plan, in place of what else is in it. AWS takes one target.
func (at *Attachments) attach(group model.TargetGroup, arn string, after []plan.StepID) plan.StepID {
	if arn != "" {
		targets, known := at.ALBTargets(arn)
		if !known {
			return ""
		}
		to := observed.Target{ID: group.LoadBalancer, Port: group.Port}
		if slices.ContainsFunc(targets, func(t observed.Target) bool { return t.ID == to.ID && t.Port == to.Port }) {
			return ""
		}
		for _, t := range targets {
			after = append(after, at.Detach(arn, t, nil))
		}
	}
	a := plan.Address{Kind: plan.ALBTarget, ID: group.ID}
	return at.Add(plan.Step{
		ID: plan.NewStepID("register", a), Address: a, Verb: plan.Create,
		Do:      plan.RegisterALB{Group: plan.TargetGroupAddress(group.ID), ARN: group.LoadBalancer, Port: group.Port},
		Changes: []plan.Change{{Path: "target", To: fmt.Sprintf("%s:%d", group.LoadBalancer, group.Port)}},
		Why:     "the network load balancer leads to the load balancer of another Gateway", After: after, Blames: group.Members,
	})
}

// DetachEverywhere takes a load balancer that is to be deleted out of all target groups, as AWS
// deletes none that is a target.
func (at *Attachments) DetachEverywhere(lb string, after []plan.StepID) []plan.StepID {
	var out []plan.StepID
	for _, g := range at.Have.TargetGroups {
		if g.Type != model.ALBTargets {
			continue
		}
		targets, _ := at.ALBTargets(g.ARN)
		for _, t := range targets {
			if t.ID == lb {
				out = append(out, at.Detach(g.ARN, t, after))
			}
		}
	}
	return out
}

// sameALBGroup reports whether a live target group can go on to serve: it has the port of the ALB, or
// has the right target all the same.
func (at *Attachments) sameALBGroup(w model.TargetGroup, h observed.TargetGroup) bool {
	if w.Type != model.ALBTargets || w.Port == h.Port {
		return true
	}
	targets, known := at.ALBTargets(h.ARN)
	return !known || slices.ContainsFunc(targets, func(t observed.Target) bool { return t.Port == w.Port })
}

// LeadsTo reports whether a port of a live ALB is the target of a target group, or may be.
func (at *Attachments) LeadsTo(alb *observed.LoadBalancer, port int32) bool {
	for _, g := range at.Have.TargetGroups {
		if g.Type != model.ALBTargets {
			continue
		}
		targets, _ := at.ALBTargets(g.ARN)
		if at.Unavailable(model.AskALBTargets{ARN: g.ARN}) != nil ||
			slices.ContainsFunc(targets, func(t observed.Target) bool { return t.ID == alb.ARN && t.Port == port }) {
			return true
		}
	}
	return false
}
