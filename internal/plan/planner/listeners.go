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

func (r *resolution) listenerResolver() *listeners.Resolver {
	return listeners.NewResolver(r.groups, r.usage, &certificates.Chooser{Managed: r.certificates, Retention: r.retention}, r.conditionKeys)
}

// resolveListeners resolves the listeners of the load balancer of the stack.
func (r *resolution) resolveListeners() {
	resolver := r.listenerResolver()
	for _, w := range r.lb.Desired.Listeners {
		l := resolver.Resolve(&r.lb, w)
		if l.Certs.IsWithdrawn() {
			r.lb.WithdrawnPorts = append(r.lb.WithdrawnPorts, w.Port) // the listener is deleted as surplus
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
	(&rules.RuleQuota{TargetGroups: r.groups, Finalizers: r.finalizers, Keys: r.conditionKeys, LB: &r.lb}).Resolve()
}

// resolveFrontendListeners resolves the listeners of the frontend NLB. A listener whose ALB port has no listener yet is not
// created.
func (r *resolution) resolveFrontendListeners() {
	for _, w := range r.frontend.Desired.Listeners {
		l := r.listenerResolver().Resolve(&r.frontend, w)
		_, _, l.Planned = r.frontendTarget(w)
		r.frontend.Listeners = append(r.frontend.Listeners, l)
	}
}

// resolveHeldFrontendPorts finds the existing ports of the frontend NLB that may belong to a member whose port mapping
// cannot be read. Such a port forwards to an ALB port that has a listener.
func (r *resolution) resolveHeldFrontendPorts() {
	if r.frontend.Live == nil || !r.Want.Held.FrontendPorts {
		return
	}
	for _, l := range r.frontend.Live.Listeners {
		if !slices.ContainsFunc(r.frontend.Desired.Listeners, func(w model.Listener) bool { return w.Port == l.Port }) && r.mayForwardToALBListener(l) {
			r.frontend.HeldPorts = append(r.frontend.HeldPorts, l.Port)
			r.usage.RetainTargetGroups(l.Default)
		}
	}
}

// mayForwardToALBListener reports whether an existing listener of the frontend NLB forwards, or may forward, to an ALB
// port for which the plan has a listener.
func (r *resolution) mayForwardToALBListener(l observed.Listener) bool {
	for _, g := range model.ForwardedTargetGroups(l.Default) {
		targets, known := r.albs.ALBTargets(g.Group.ARN)
		if !known || slices.ContainsFunc(targets, func(t observed.Target) bool { return r.lb.ListenerOnPort(t.Port) != nil }) {
			return true
		}
	}
	return false
}

// frontendTarget returns the ALB listener and the target group to which a listener of the frontend NLB forwards; false if
// the ALB has no such listener yet.
func (r *resolution) frontendTarget(frontend model.Listener) (to *resolved.Listener, group model.TargetGroup, ok bool) {
	g := r.groups.DesiredTargetGroups[frontend.DefaultTargetGroupID()]
	if g == nil {
		return nil, model.TargetGroup{}, false
	}
	l := r.lb.ListenerOnPort(g.Port)
	if l == nil || !l.Planned && l.Live == nil {
		return nil, model.TargetGroup{}, false
	}
	return l, *g, true
}

// retainListeners retains existing listeners that no accepted member requests but that have rules or default actions of a
// held member. The other rules of these listeners are deleted.
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
			if r.retention.RetainedMemberOf(l.Port, rule) == nil && !listeners.RefusesForeignHostnames(l, rule, foreign) {
				kept.ForeignRules = append(kept.ForeignRules, *rule)
				continue
			}
			r.usage.RetainTargetGroups(rule.Actions)
		}
		kept.HasForeignDefault = equal.ForwardOf(l.Default) != nil && !slices.ContainsFunc(r.Want.Held.Members, func(x model.HeldMember) bool {
			return x.All && x.IsHeldOn(l.Port) && plan.AreTargetGroupsOwnedBy(r.groups.TargetGroupIDs(l.Default), x.Member)
		})
		if !kept.HasForeignDefault {
			r.usage.RetainTargetGroups(l.Default)
		}
		r.lb.Listeners = append(r.lb.Listeners, kept)
		r.Plan.Ports = append(r.Plan.Ports, l.Port)
		slices.Sort(r.Plan.Ports)
	}
	for _, l := range r.lb.Listeners {
		if !l.Planned && l.Live != nil && hasListener(r.Want.LoadBalancer, l.Desired.Port) {
			r.usage.RetainTargetGroupsOfListener(l.Live)
		}
	}
}

func hasListener(lb *model.LoadBalancer, port int32) bool {
	return lb != nil && slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return l.Port == port })
}
