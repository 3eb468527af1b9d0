package planner

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/accelerators"
	"github.com/fulcrum-lb/fulcrum/internal/plan/authority"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// Choose returns the choices that Make makes for the plan of a stack, such as subnets and listeners, without planning steps.
func Choose(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) resolved.Choices {
	if want.ID.Kind.HasAccelerator() {
		return accelerators.Choose(want, have, opt, memory)
	}
	have, _ = authority.Revoke(have, certificateReplacements(want, have, opt, memory))
	want, _ = withoutDepartedMembers(want, have, opt)
	r := resolve(want, have, opt, memory)
	out := resolved.Choices{Desired: r.Want}
	for _, lb := range []*resolved.LoadBalancer{&r.lb, &r.frontend} {
		if lb.Desired != nil {
			out.LoadBalancers = append(out.LoadBalancers, r.loadBalancerChoices(lb))
		}
	}
	return out
}

func (r *resolution) loadBalancerChoices(lb *resolved.LoadBalancer) resolved.LoadBalancerChoices {
	out := resolved.LoadBalancerChoices{ID: lb.ID, Desired: lb.Desired, Live: lb.Live, Subnets: lb.SubnetChoices}
	answer := r.Have.Facts.Subnets[lb.Desired.SubnetQuestion().Key()]
	out.Subnets.Chosen, out.Subnets.ByReachability, out.Subnets.Zones = slices.Clone(lb.Subnets), answer.ByReachability, map[string]string{}
	for _, s := range answer.Candidates {
		out.Subnets.Zones[s.ID] = s.Zone
	}
	for _, g := range lb.SecurityGroups {
		out.SecurityGroups = append(out.SecurityGroups, r.securityGroupChoice(lb, g))
	}
	out.Listeners = lb.Listeners
	if len(out.Listeners) == 0 { // the whole stack is held, so that no listener was resolved
		for _, w := range lb.Desired.Listeners {
			l := resolved.Listener{LB: lb, Desired: w, Live: lb.Live.ListenerOnPort(w.Port), DefaultActions: w.Default}
			for _, r := range w.Rules {
				l.Rules = append(l.Rules, resolved.Rule{Desired: r})
			}
			out.Listeners = append(out.Listeners, l)
		}
	}
	return out
}

func (r *resolution) securityGroupChoice(lb *resolved.LoadBalancer, g plan.SecurityGroupRef) resolved.SecurityGroupChoice {
	out := resolved.SecurityGroupChoice{ID: cmp.Or(g.ID, r.KnownIDs[g.Address]), Source: resolved.SecurityGroupNamed}
	switch {
	case g.Address == plan.ManagedSecurityGroupAddress:
		out.Source = resolved.SecurityGroupManaged
	case g.Address == plan.BackendSecurityGroupAddress:
		out.Source = resolved.SecurityGroupBackend
	case lb.SecurityGroupsKept:
		out.Source = resolved.SecurityGroupKept
	}
	return out
}
