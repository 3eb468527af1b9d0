package plan

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ALBTarget is the kind of an ALB as the target of a target group.
const ALBTarget ResourceKind = "alb-target"

// RegisterALB makes a port of a load balancer the target of a target group of type alb.
type RegisterALB struct {
	Group        Address
	LoadBalancer Address
	// ARN is that of a load balancer of another stack, which has no address.
	ARN  string
	Port int32
}

// DeregisterALB takes one out, by its ARN.
type DeregisterALB struct {
	Group Address
	ARN   string
	Port  int32
}

func (RegisterALB) action()   {}
func (DeregisterALB) action() {}

// attachments are load balancers as targets of target groups.
type attachments struct {
	*draft
	detached map[string]StepID // targets that a step takes out already
}

func newAttachments(d *draft) *attachments {
	return &attachments{draft: d, detached: map[string]StepID{}}
}

// albTargets are the load balancers in a target group of type alb; false if that is not known.
func (at *attachments) albTargets(group string) ([]observed.Target, bool) {
	targets, asked := at.have.Facts.ALBTargets[group]
	if asked {
		return targets, true
	}
	q := model.AskALBTargets{ARN: group}
	if f := at.unavailable(q); f != nil {
		var of []finding.Origin
		if at.want.FrontendNLB != nil {
			of = []finding.Origin{at.want.FrontendNLB.Of}
		}
		at.reportUnavailable(*f, "the target groups of the frontend NLB stay as they are", finding.BlocksNothing, of...)
		return nil, false
	}
	at.ask(q)
	return nil, false
}

func targetKey(group string, t observed.Target) string {
	return fmt.Sprintf("%s %s:%d", group, t.ID, t.Port)
}

// detach takes a load balancer out of a target group, once.
func (at *attachments) detach(group string, t observed.Target, after []StepID) StepID {
	key := targetKey(group, t)
	if id, done := at.detached[key]; done {
		return id
	}
	a := Address{Kind: ALBTarget, ID: group}
	id := at.add(Step{
		ID: stepID("deregister", a, fmt.Sprint(t.Port)), Address: a, Verb: Delete,
		Do:      DeregisterALB{Group: Address{Kind: TargetGroup, ID: group}, ARN: t.ID, Port: t.Port},
		Changes: []Change{{Path: "target", From: fmt.Sprintf("%s:%d", t.ID, t.Port)}},
		Why:     "nothing leads to it this way any more", After: after, Blames: at.members(),
	})
	at.detached[key] = id
	return id
}

// attach makes a port of another stack's load balancer the target of a group with an ARN, empty if it is made by the
// plan, in place of what else is in it. AWS takes one target.
func (at *attachments) attach(group model.TargetGroup, arn string, after []StepID) StepID {
	if arn != "" {
		targets, known := at.albTargets(arn)
		if !known {
			return ""
		}
		to := observed.Target{ID: group.LoadBalancer, Port: group.Port}
		if slices.ContainsFunc(targets, func(t observed.Target) bool { return t.ID == to.ID && t.Port == to.Port }) {
			return ""
		}
		for _, t := range targets {
			after = append(after, at.detach(arn, t, nil))
		}
	}
	a := Address{Kind: ALBTarget, ID: group.ID}
	return at.add(Step{
		ID: stepID("register", a), Address: a, Verb: Create,
		Do:      RegisterALB{Group: GroupAddress(group.ID), ARN: group.LoadBalancer, Port: group.Port},
		Changes: []Change{{Path: "target", To: fmt.Sprintf("%s:%d", group.LoadBalancer, group.Port)}},
		Why:     "the network load balancer leads to the load balancer of another Gateway", After: after, Blames: group.Members,
	})
}

// detachEverywhere takes a load balancer that is to be deleted out of all target groups, as AWS
// deletes none that is a target.
func (at *attachments) detachEverywhere(lb string, after []StepID) []StepID {
	var out []StepID
	for _, g := range at.have.TargetGroups {
		if g.Type != model.ALBTargets {
			continue
		}
		targets, _ := at.albTargets(g.ARN)
		for _, t := range targets {
			if t.ID == lb {
				out = append(out, at.detach(g.ARN, t, after))
			}
		}
	}
	return out
}

// sameALBGroup reports whether a live target group can go on to serve: it has the port of the ALB, or
// has the right target all the same.
func (at *attachments) sameALBGroup(w model.TargetGroup, h observed.TargetGroup) bool {
	if w.Type != model.ALBTargets || w.Port == h.Port {
		return true
	}
	targets, known := at.albTargets(h.ARN)
	return !known || slices.ContainsFunc(targets, func(t observed.Target) bool { return t.Port == w.Port })
}

// leadsTo reports whether a port of a live ALB is the target of a target group, or may be.
func (at *attachments) leadsTo(alb *observed.LoadBalancer, port int32) bool {
	for _, g := range at.have.TargetGroups {
		if g.Type != model.ALBTargets {
			continue
		}
		targets, _ := at.albTargets(g.ARN)
		if at.unavailable(model.AskALBTargets{ARN: g.ARN}) != nil ||
			slices.ContainsFunc(targets, func(t observed.Target) bool { return t.ID == alb.ARN && t.Port == port }) {
			return true
		}
	}
	return false
}
