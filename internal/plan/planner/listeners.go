package planner

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/listeners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// retainListeners keeps live listeners that no accepted member asks for and that carry something of a
// retained object. Rules of others on them go.
func (b *builder) retainListeners() {
	if b.Live == nil {
		return
	}
	for i := range b.Live.Listeners {
		l := &b.Live.Listeners[i]
		if hasListener(b.Want.LoadBalancer, l.Port) || !b.held.RetainsListener(l) {
			continue
		}
		kept := resolved.Listener{LB: &b.LoadBalancer, Desired: model.Listener{Port: l.Port}, Live: l}
		for j := range l.Rules {
			r := &l.Rules[j]
			if b.held.Retains(r) == nil {
				kept.ForeignMembers = append(kept.ForeignMembers, *r)
				continue
			}
			b.Keep(r.Actions)
		}
		kept.StrangeDefault = equal.ForwardOf(l.Default) != nil && !slices.ContainsFunc(b.Want.Held.Members, func(x model.HeldMember) bool {
			return x.All && plan.AreOf(b.OwnerIDs(l.Default), x.Member)
		})
		if !kept.StrangeDefault {
			b.Keep(l.Default)
		}
		b.Listeners = append(b.Listeners, kept)
		b.Plan.Ports = append(b.Plan.Ports, l.Port)
		slices.Sort(b.Plan.Ports)
	}
	for _, l := range b.Listeners {
		if !l.Make && l.Live != nil && hasListener(b.Want.LoadBalancer, l.Desired.Port) {
			b.Keep(l.Live.Default)
			for _, r := range l.Live.Rules {
				b.Keep(r.Actions)
			}
		}
	}
}

// hasListener reports whether a load balancer is desired that listens on a port.
func hasListener(lb *model.LoadBalancer, port int32) bool {
	return lb != nil && slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return l.Port == port })
}

// keepRetained plans for a stack without an accepted member of which retained objects have rules: these
// stay with the load balancer that serves them, and everything else goes. It reports false where
// nothing is retained.
func (b *builder) keepRetained() bool {
	if b.Live == nil || len(b.Want.Held.Members) == 0 {
		return false
	}
	b.retainListeners()
	if len(b.Listeners) == 0 && !slices.ContainsFunc(b.Want.Held.Members, func(m model.HeldMember) bool { return m.LoadBalancer }) {
		return false
	}
	if b.frontend.Live != nil {
		for _, l := range b.frontend.Live.Listeners {
			b.Keep(l.Default)
		}
	}
	// The other listeners go, and so do rules of others on those that are retained.
	for _, l := range b.Live.Listeners {
		i := slices.IndexFunc(b.Listeners, func(p resolved.Listener) bool { return p.Desired.Port == l.Port })
		if i < 0 {
			b.deleteListener(l, nil)
			continue
		}
		b.listenerPlanner(&b.Listeners[i], nil).RemoveForeignMembers(nil)
	}
	b.removeSurplusGroups()
	b.release().each()
	return true
}

// planListeners makes the listeners of a load balancer fit in ascending order of their ports. after are
// the steps that make the load balancer, and what has to be there before its first listener.
func (b *builder) planListeners(lb *resolved.LoadBalancer, after []plan.StepID, groups map[string][]plan.StepID) {
	from := len(b.Plan.Steps)
	b.deleteListeners(lb, after)
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; l.Make && !l.RedirectsAll {
			b.listenerPlanner(l, groups).Plan(after)
		}
	}
	// A listener that redirects everything comes after the one to which it sends the clients.
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; l.Make && l.RedirectsAll {
			b.listenerPlanner(l, groups).Plan(append(slices.Clone(after), b.listenerSteps(lb, listeners.RedirectPort(l.Defaults))...))
		}
	}
	for i := range lb.Listeners {
		b.listenerPlanner(&lb.Listeners[i], groups).RemoveForeignMembers(after)
	}
	b.TakeTurns(lb.Shares, from)
	b.rulePlaces(lb).PlanLate(groups)
}

// deleteListeners deletes those that no object asks for. One of an ALB that a target group leads to goes
// later, when nothing leads there any more.
func (b *builder) deleteListeners(lb *resolved.LoadBalancer, after []plan.StepID) {
	if lb.Live == nil || lb.IsFrontend() && b.Want.Held.FrontendPorts {
		return
	}
	for _, l := range lb.Live.Listeners {
		switch {
		case slices.ContainsFunc(lb.Listeners, func(p resolved.Listener) bool { return p.Desired.Port == l.Port }):
		case !lb.IsFrontend() && b.LeadsTo(lb.Live, l.Port):
			b.frontend.postponed = append(b.frontend.postponed, l)
		default:
			b.deleteListener(l, after)
		}
	}
}

// listenerSteps are the steps planned so far that make the listener of a port.
func (b *builder) listenerSteps(lb *resolved.LoadBalancer, port int32) []plan.StepID {
	if id := plan.NewStepID("create", lb.ListenerAddress(port)); port != 0 && b.Planned(id) {
		return []plan.StepID{id}
	}
	return nil
}

func (b *builder) deleteListener(l observed.Listener, after []plan.StepID) plan.StepID {
	a := plan.Address{Kind: plan.Listener, ID: l.ARN}
	id := b.Add(plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteListener{ARN: l.ARN},
		Changes: []plan.Change{{Path: "port", From: fmt.Sprint(l.Port)}},
		Why:     b.NoListener(l.Port), Impact: plan.DeleteImpact, After: after, Blames: b.Members(),
	})
	b.FreedListener(l, id)
	return id
}

// resolveListeners settles certificates, target groups of others and held rules.
func (b *builder) resolveListeners() {
	resolver := b.listenerResolver()
	for _, w := range b.Desired.Listeners {
		l := resolver.Resolve(&b.LoadBalancer, w)
		if l.Certs.Withdrawn() {
			b.Withdrawn = append(b.Withdrawn, w.Port) // it is deleted with those that no object asks for
			continue
		}
		b.Listeners = append(b.Listeners, l)
	}
	listeners.StopDanglingRedirects(b.Listeners)
	for _, l := range b.Listeners {
		if l.Make || l.Live != nil {
			b.Plan.Ports = append(b.Plan.Ports, l.Desired.Port)
		}
	}
	b.retainListeners()
	b.rulePlaces(&b.LoadBalancer).Resolve()
}
