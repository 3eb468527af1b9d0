package listeners

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
)

// alpnToSet returns the ALPN policy to set; empty if the observed policy is kept.
func (p *listenerPlanner) alpnToSet() string {
	if p.listener.Desired.TLS.ALPN == "" && p.Opt.EnhancedDefaults && p.listener.Live != nil && p.listener.Live.ALPN != "" {
		return equal.NoALPN
	}
	return p.listener.Desired.TLS.ALPN
}

// changeBeforeRules plans the changes of an existing listener that come before the changes of its certificates and rules. A
// listener of a network load balancer has no rules, and one call makes all of its changes. If its protocol changes, its
// target groups must change in the same call.
func (p *listenerPlanner) changeBeforeRules(settings plan.ListenerSettings, after []plan.StepID) []plan.StepID {
	switch {
	case p.listener.IsNetwork():
		return p.modifyListener(settings, after)
	case p.liveHTTPListener == nil:
		return nil
	}
	settings.Default = p.liveHTTPListener.Default
	return []plan.StepID{p.changeProtocol(p.liveHTTPListener.Protocol, settings, after)}
}

// changeToHTTPSFirst decides whether an HTTP listener becomes an HTTPS listener before its other changes. Only HTTPS
// listeners can have a certificate list and authentication actions. If the protocol changes first, the other changes are
// resolved as if the existing listener were an HTTPS listener already.
func (p *listenerPlanner) changeToHTTPSFirst() {
	settings := p.desiredSettings()
	if p.listener.IsNetwork() || p.listener.Desired.TLS == nil || p.listener.Live.Protocol == settings.Protocol {
		return
	}
	p.liveHTTPListener = p.listener.Live
	live := *p.listener.Live
	live.Protocol, live.Policy, live.Certificate, live.MutualAuth = settings.Protocol, settings.Policy, settings.Certificate, settings.MutualAuth
	p.listener.Live = &live
}

// changesToHTTPLast reports whether an HTTPS listener that is to become an HTTP listener must keep its protocol until its rules
// are changed. This is the case if its rules or default actions have actions or target groups that only HTTPS listeners can
// have.
func (p *listenerPlanner) changesToHTTPLast() bool {
	l := p.listener
	if l.Live == nil || l.Desired.TLS != nil || l.IsNetwork() || l.Live.Protocol == l.Desired.Protocol() {
		return false
	}
	needs := func(actions []model.Action) bool { return needsTLS(actions) || p.NeedsHTTPS(actions) }
	return needs(l.Live.Default) || slices.ContainsFunc(l.Live.Rules, func(r observed.Rule) bool { return needs(r.Actions) })
}

// needsTLS reports whether one of the actions is possible only on HTTPS listeners.
func needsTLS(actions []model.Action) bool {
	return slices.ContainsFunc(actions, func(a model.Action) bool {
		switch a.(type) {
		case model.AuthOIDC, model.AuthCognito, model.ValidateJWT:
			return true
		}
		return false
	})
}

func (p *listenerPlanner) changeProtocol(from string, settings plan.ListenerSettings, after []plan.StepID) plan.StepID {
	a := p.listener.Address()
	return p.Add(plan.Step{
		ID: plan.NewStepID("protocol", a), Address: a, Verb: plan.Update, Do: plan.ModifyListener{Listener: a, Settings: settings},
		Changes: []plan.Change{{Path: "protocol", From: from, To: settings.Protocol}},
		Why:     "the listener differs", Impact: plan.BriefImpact, After: slices.Clone(after), RequestedBy: p.listener.Desired.Members,
	})
}

// changeProtocolWhenReady plans to change the protocol and the target groups of a listener in one call. wait is the wait
// until the new target groups have registered targets.
func (p *listenerPlanner) changeProtocolWhenReady(settings plan.ListenerSettings, changes []plan.Change, wait plan.Wait, after []plan.StepID) plan.StepID {
	a := p.listener.Address()
	p.ReportTargetWait(p.listener.Desired.DefaultOf, p.listener.Desired.Members, fmt.Sprintf("the protocol of port %d", p.listener.Desired.Port), wait, true)
	id := p.Add(plan.Step{
		ID: plan.NewStepID("modify", a), Address: a, Verb: plan.Update, Wait: wait,
		Do:      plan.ModifyListener{Listener: a, Settings: settings.WithDefaultActions(p.listener.DefaultActions)},
		Changes: append(changes, plan.Change{Path: "default", From: plan.ActionsText(p.listener.Live.Default), To: plan.ActionsText(p.listener.DefaultActions)}),
		Why:     "the listener differs", Impact: plan.BriefImpact, RequestedBy: p.listener.Desired.Members,
		After: append(slices.Clone(after), rules.TargetGroupSteps(p.listener.DefaultActions, p.targetGroupSteps)...),
	})
	p.RecordFreeingStep(p.listener.Live.Default, id)
	return id
}
