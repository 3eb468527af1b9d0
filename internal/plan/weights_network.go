package plan

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// A network load balancer moves new connections at once. The new target group is attached with weight 0, as for an
// ALB, where AWS takes both in one action: when their protocols and address types are the same. Otherwise AWS does not check the new targets before the listener forwards to them, so that this
// waits for them to be registered.

// toALB reports whether actions forward to load balancers.
func (t *traffic) toALB(actions []model.Action) bool {
	f := forwardOf(actions)
	return f != nil && slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool {
		w := t.desiredGroups[g.Group.ID]
		return w != nil && w.Type == model.ALBTargets
	})
}

// together reports whether AWS takes the live and the desired target groups of a listener in one action. Those of
// others are taken to fit.
func (t *traffic) together(l *listenerPlan) bool {
	type kind struct {
		protocol string
		address  model.AddressType
	}
	kinds := map[kind]bool{}
	if f := forwardOf(l.defaults); f != nil {
		for _, g := range f.Groups {
			if w := t.desiredGroups[g.Group.ID]; w != nil {
				kinds[kind{w.Protocol, w.AddressType}] = true
			}
		}
	}
	eachForward([]observed.Listener{{Default: l.live.Default}}, func(arn string) {
		for _, g := range t.have.TargetGroups {
			if g.ARN == arn {
				kinds[kind{g.Protocol, g.AddressType}] = true
			}
		}
	})
	return len(kinds) <= 1
}

// afterRegistration keeps the live default action while a target group to which traffic moves has no targets and
// the live ones serve.
func (t *traffic) afterRegistration(l *listenerPlan) ([]model.Action, Wait) {
	w := forwardOf(l.defaults)
	if w == nil {
		return l.defaults, Wait{}
	}
	var old []string
	eachForward([]observed.Listener{{Default: l.live.Default}}, func(arn string) { old = append(old, arn) })
	var pending []model.GroupRef
	for _, g := range w.Groups {
		if arn := t.arn(g.Group); !slices.Contains(old, arn) && weight(g.Weight) > 0 && !t.registered(arn) {
			pending = append(pending, g.Group)
		}
	}
	if len(pending) == 0 || t.healthKnown(pending) && !t.serving(old) {
		return l.defaults, Wait{}
	}
	deadline := t.targetsDeadline(pending)
	wait := t.wait(waitKey("register", fmt.Sprint(l.desired.Port), ActionsText(l.defaults)), "targets in "+refTexts(pending), deadline)
	if wait.For == "" {
		t.expired(l.desired.DefaultOf, l.desired.Members, fmt.Sprintf("default action of port %d", l.desired.Port), pending, deadline)
		return l.defaults, Wait{}
	}
	return l.live.Default, wait
}

// registered reports whether a target group has targets that are not about to go.
func (t *traffic) registered(arn string) bool {
	if arn == "" {
		return false
	}
	h, asked := t.have.Facts.Health[arn]
	if !asked && !t.unavailableHealth(arn) {
		t.ask(model.AskHealth{ARN: arn})
	}
	return len(h.Targets) > h.Count("draining")
}

// changeLater changes a listener to another protocol, and with it to other target groups, when these have targets.
func (p *listenerPlanner) changeLater(settings ListenerSettings, changes []Change, wait Wait, after []StepID) StepID {
	a := p.l.address()
	p.waitForTargets(p.l.desired.DefaultOf, p.l.desired.Members, fmt.Sprintf("the protocol of port %d", p.l.desired.Port), wait)
	id := p.add(Step{
		ID: stepID("modify", a), Address: a, Verb: Update, Wait: wait,
		Do:      ModifyListener{Listener: a, Settings: settings.with(p.l.defaults)},
		Changes: append(changes, Change{Path: "default", From: ActionsText(p.l.live.Default), To: ActionsText(p.l.defaults)}),
		Why:     "the listener differs", Impact: BriefImpact, Blames: p.l.desired.Members,
		After: append(slices.Clone(after), groupSteps(p.l.defaults, p.groups)...),
	})
	p.freed(p.l.live.Default, id)
	return id
}
