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

// alpn returns the ALPN policy to set; empty to keep the live one.
func (p *planner) alpn() string {
	if p.l.Desired.TLS.ALPN == "" && p.Opt.EnhancedDefaults && p.l.Live != nil && p.l.Live.ALPN != "" {
		return noALPN
	}
	return p.l.Desired.TLS.ALPN
}

// changeBeforeRules plans the changes of a live listener that come before those of its certificates and rules. A
// listener of a network load balancer has no rules, so that all of its changes are one call. Another protocol needs
// other target groups, which change in the same call.
func (p *planner) changeBeforeRules(settings plan.ListenerSettings, after []plan.StepID) []plan.StepID {
	switch {
	case p.l.IsNetwork():
		return p.modifyListener(settings, after)
	case p.plainLive == nil:
		return nil
	}
	settings.Default = p.plainLive.Default
	return []plan.StepID{p.changeProtocol(p.plainLive.Protocol, settings, after)}
}

// secureFirst plans to change an HTTP listener to HTTPS first, because only HTTPS listeners can have further certificates
// and rules that authenticate. Everything else is resolved as if the live listener were an HTTPS listener already.
func (p *planner) secureFirst() {
	settings := p.settings()
	if p.l.IsNetwork() || p.l.Desired.TLS == nil || p.l.Live.Protocol == settings.Protocol {
		return
	}
	p.plainLive = p.l.Live
	live := *p.l.Live
	live.Protocol, live.Policy, live.Certificate, live.MutualAuth = settings.Protocol, settings.Policy, settings.Certificate, settings.MutualAuth
	p.l.Live = &live
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

func (p *planner) changeProtocol(from string, settings plan.ListenerSettings, after []plan.StepID) plan.StepID {
	a := p.l.Address()
	return p.Add(plan.Step{
		ID: plan.NewStepID("protocol", a), Address: a, Verb: plan.Update, Do: plan.ModifyListener{Listener: a, Settings: settings},
		Changes: []plan.Change{{Path: "protocol", From: from, To: settings.Protocol}},
		Why:     "the listener differs", Impact: plan.BriefImpact, After: slices.Clone(after), Blames: p.l.Desired.Members,
	})
}

// changeProtocolWhenReady plans to change the protocol of a listener together with its target groups, when these have
// targets.
func (p *planner) changeProtocolWhenReady(settings plan.ListenerSettings, changes []plan.Change, wait plan.Wait, after []plan.StepID) plan.StepID {
	a := p.l.Address()
	p.WaitForTargets(p.l.Desired.DefaultOf, p.l.Desired.Members, fmt.Sprintf("the protocol of port %d", p.l.Desired.Port), wait, true)
	id := p.Add(plan.Step{
		ID: plan.NewStepID("modify", a), Address: a, Verb: plan.Update, Wait: wait,
		Do:      plan.ModifyListener{Listener: a, Settings: settings.With(p.l.DefaultActions)},
		Changes: append(changes, plan.Change{Path: "default", From: plan.ActionsText(p.l.Live.Default), To: plan.ActionsText(p.l.DefaultActions)}),
		Why:     "the listener differs", Impact: plan.BriefImpact, Blames: p.l.Desired.Members,
		After: append(slices.Clone(after), rules.GroupSteps(p.l.DefaultActions, p.groups)...),
	})
	p.NoteFreed(p.l.Live.Default, id)
	return id
}
