package planner

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/listeners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
)

// resolver resolves single listeners.
func (r *resolution) resolver() *listeners.Resolver {
	return listeners.NewResolver(r.groups, r.usage, certificates.NewChooser(r.Draft, r.certificates, r.retention), r.retention, r.keys)
}

// resolveListeners resolves certificates, target groups of others and held rules.
func (r *resolution) resolveListeners() {
	resolver := r.resolver()
	for _, w := range r.lb.Desired.Listeners {
		l := resolver.Resolve(&r.lb, w)
		if l.Certs.Withdrawn() {
			r.lb.WithdrawnPorts = append(r.lb.WithdrawnPorts, w.Port) // it is deleted with those that no object asks for
			continue
		}
		r.lb.Listeners = append(r.lb.Listeners, l)
	}
	listeners.StopDanglingRedirects(r.lb.Listeners)
	for _, l := range r.lb.Listeners {
		if l.Planned || l.Live != nil {
			r.Plan.Ports = append(r.Plan.Ports, l.Desired.Port)
		}
	}
	r.retainListeners()
	rules.NewRulePlaces(r.groups, r.finalizers, r.keys, &r.lb).Resolve()
}

// resolveFrontendListeners determines which ports of the ALB its listeners lead to. One whose port is not
// served yet is not made.
func (r *resolution) resolveFrontendListeners() {
	for _, w := range r.frontend.Desired.Listeners {
		l := r.resolver().Resolve(&r.frontend, w)
		_, _, l.Planned = r.frontendTarget(w)
		r.frontend.Listeners = append(r.frontend.Listeners, l)
	}
}

// resolveHeldFrontendPorts determines which live ports may be those of a member whose mapping cannot be read. A member
// maps to ports on which it listens, so a port that leads to no listener that stays belongs to no member.
func (r *resolution) resolveHeldFrontendPorts() {
	if r.frontend.Live == nil || !r.Want.Held.FrontendPorts {
		return
	}
	for _, l := range r.frontend.Live.Listeners {
		if !slices.ContainsFunc(r.frontend.Desired.Listeners, func(w model.Listener) bool { return w.Port == l.Port }) && r.leadsToStayingListener(l) {
			r.frontend.HeldPorts = append(r.frontend.HeldPorts, l.Port)
			r.usage.KeepGroups(l.Default)
		}
	}
}

// leadsToStayingListener reports whether a live port of the frontend NLB leads to a listener of the ALB that stays, or
// may do so.
func (r *resolution) leadsToStayingListener(l observed.Listener) bool {
	to := equal.ForwardOf(l.Default)
	if to == nil {
		return false
	}
	for _, g := range to.Groups {
		targets, known := r.albs.ALBTargets(g.Group.ARN)
		if !known || slices.ContainsFunc(targets, func(t observed.Target) bool {
			return slices.ContainsFunc(r.lb.Listeners, func(p resolved.Listener) bool { return p.Desired.Port == t.Port })
		}) {
			return true
		}
	}
	return false
}

// frontendTarget finds the listener of the ALB and the target group of a port; false if there is nothing to
// lead to yet.
func (r *resolution) frontendTarget(l model.Listener) (to resolved.Listener, group model.TargetGroup, ok bool) {
	g := r.groups.DesiredGroups[l.Target()]
	if g == nil {
		return resolved.Listener{}, model.TargetGroup{}, false
	}
	at := slices.IndexFunc(r.lb.Listeners, func(p resolved.Listener) bool { return p.Desired.Port == g.Port && (p.Planned || p.Live != nil) })
	if at < 0 {
		return resolved.Listener{}, model.TargetGroup{}, false
	}
	return r.lb.Listeners[at], *g, true
}

// retainListeners keeps live listeners that no accepted member asks for and that carry something of a
// retained object. Rules of others on them go.
func (r *resolution) retainListeners() {
	if r.lb.Live == nil {
		return
	}
	foreign := listeners.ForeignHostnames(r.Have.Facts.Withdrawn)
	for i := range r.lb.Live.Listeners {
		l := &r.lb.Live.Listeners[i]
		if hasListener(r.Want.LoadBalancer, l.Port) || !r.retention.RetainsListener(l) {
			continue
		}
		kept := resolved.Listener{LB: &r.lb, Desired: model.Listener{Port: l.Port}, Live: l}
		for j := range l.Rules {
			rule := &l.Rules[j]
			if r.retention.RetainedBy(rule) == nil && !listeners.RefusesForeign(l, rule, foreign) {
				kept.ForeignRules = append(kept.ForeignRules, *rule)
				continue
			}
			r.usage.KeepGroups(rule.Actions)
		}
		kept.ForeignDefault = equal.ForwardOf(l.Default) != nil && !slices.ContainsFunc(r.Want.Held.Members, func(x model.HeldMember) bool {
			return x.All && plan.GroupsOwnedBy(r.groups.TargetGroupIDs(l.Default), x.Member)
		})
		if !kept.ForeignDefault {
			r.usage.KeepGroups(l.Default)
		}
		r.lb.Listeners = append(r.lb.Listeners, kept)
		r.Plan.Ports = append(r.Plan.Ports, l.Port)
		slices.Sort(r.Plan.Ports)
	}
	for _, l := range r.lb.Listeners {
		if !l.Planned && l.Live != nil && hasListener(r.Want.LoadBalancer, l.Desired.Port) {
			r.usage.KeepGroups(l.Live.Default)
			for _, rule := range l.Live.Rules {
				r.usage.KeepGroups(rule.Actions)
			}
		}
	}
}

// hasListener reports whether a load balancer is desired that listens on a port.
func hasListener(lb *model.LoadBalancer, port int32) bool {
	return lb != nil && slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return l.Port == port })
}
