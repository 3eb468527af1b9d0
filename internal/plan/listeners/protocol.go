package listeners

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
)

// noALPN is AWS's value for no ALPN policy, which is the default of a listener.
const noALPN = "None"

// alpnToSet returns the ALPN policy to set; empty to keep the live one.
func (p *listenerPlanner) alpnToSet() string {
	if p.listener.Desired.TLS.ALPN == "" && p.Opt.EnhancedDefaults && p.listener.Live != nil && p.listener.Live.ALPN != "" {
		return noALPN
	}
	return p.listener.Desired.TLS.ALPN
}

// changeBeforeRules plans the changes of a live listener that come before those of its certificates and rules. A listener of
// a network load balancer has no rules, so that one call makes all of its changes. If its protocol changes, it needs other
// target groups, which have to change in the same call.
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

// changeToHTTPSFirst plans that an HTTP listener becomes an HTTPS listener before its other changes, because only HTTPS
// listeners can have a certificate list and authentication actions. Everything else is resolved as if the live listener were
// an HTTPS listener already.
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

// removesTLSLast reports whether an HTTPS listener that is to become an HTTP listener has to keep its protocol until its
// rules are changed, because some of them have actions that only HTTPS listeners can have.
func removesTLSLast(l *resolved.Listener) bool {
	if l.Live == nil || l.Desired.TLS != nil || l.IsNetwork() || l.Live.Protocol == l.Desired.Protocol() {
		return false
	}
	return needsTLS(l.Live.Default) || slices.ContainsFunc(l.Live.Rules, func(r observed.Rule) bool { return needsTLS(r.Actions) })
}

// needsTLS reports whether only HTTPS listeners can have one of the actions.
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
		Why:     "the listener differs", Impact: plan.BriefImpact, After: slices.Clone(after), Blames: p.listener.Desired.Members,
	})
}

// changeProtocolWhenReady plans to change the protocol of a listener together with its target groups, when the new target
// groups have registered targets.
func (p *listenerPlanner) changeProtocolWhenReady(settings plan.ListenerSettings, changes []plan.Change, wait plan.Wait, after []plan.StepID) plan.StepID {
	a := p.listener.Address()
	p.ReportTargetWait(p.listener.Desired.DefaultOf, p.listener.Desired.Members, fmt.Sprintf("the protocol of port %d", p.listener.Desired.Port), wait, true)
	id := p.Add(plan.Step{
		ID: plan.NewStepID("modify", a), Address: a, Verb: plan.Update, Wait: wait,
		Do:      plan.ModifyListener{Listener: a, Settings: settings.WithDefaultActions(p.listener.DefaultActions)},
		Changes: append(changes, plan.Change{Path: "default", From: plan.ActionsText(p.listener.Live.Default), To: plan.ActionsText(p.listener.DefaultActions)}),
		Why:     "the listener differs", Impact: plan.BriefImpact, Blames: p.listener.Desired.Members,
		After: append(slices.Clone(after), rules.TargetGroupSteps(p.listener.DefaultActions, p.targetGroupSteps)...),
	})
	p.RecordFreeingStep(p.listener.Live.Default, id)
	return id
}
