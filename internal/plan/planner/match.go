package planner

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/securitygroups"
)

// matchLiveResources decides which existing load balancers and target groups are kept for the desired ones, and which load
// balancers are replaced or deleted.
func (r *resolution) matchLiveResources() {
	for i := range r.Have.LoadBalancers {
		lb := &r.Have.LoadBalancers[i]
		switch {
		case r.mayBeRetained(&r.frontend, lb):
			r.frontend.Live = r.chooseRetained(r.frontend.Live, lb)
		case r.mayBeRetained(&r.lb, lb):
			r.lb.Live = r.chooseRetained(r.lb.Live, lb)
		default:
			r.surplusLoadBalancers = append(r.surplusLoadBalancers, *lb)
		}
	}
	if r.Opt.CreateFirst && !r.Want.IsEmpty() {
		r.surplusLoadBalancers = slices.DeleteFunc(r.surplusLoadBalancers, func(lb observed.LoadBalancer) bool {
			return r.lb.AddPrevious(r.Have, lb) || r.frontend.AddPrevious(r.Have, lb) || r.retainBlockedReplacement(lb)
		})
	}
	r.targets.MatchTargetGroups()
	r.recordKnownIDs()
}

// recordKnownIDs records the IDs of the resources that exist already, by their addresses in the plan.
func (r *resolution) recordKnownIDs() {
	for _, lb := range []*resolved.LoadBalancer{&r.lb, &r.frontend} {
		if lb.Live == nil {
			continue
		}
		r.KnownIDs[lb.Address()] = lb.Live.ARN
		for _, l := range lb.Live.Listeners {
			r.KnownIDs[lb.ListenerAddress(l.Port)] = l.ARN
		}
	}
	if g := securitygroups.LiveManagedSecurityGroup(r.Have.SecurityGroups, r.lb.Live); g != nil {
		r.KnownIDs[plan.ManagedSecurityGroupAddress] = g.ID
	}
	if id := r.Want.BackendSecurityGroup.Given; id != "" {
		r.KnownIDs[plan.BackendSecurityGroupAddress] = id
	} else if g := r.Have.Facts.BackendSecurityGroup; g != nil {
		r.KnownIDs[plan.BackendSecurityGroupAddress] = g.ID
	}
	for _, lb := range r.Have.LoadBalancers {
		r.KnownIDs[plan.Address{Kind: plan.LoadBalancer, ID: lb.ARN}] = lb.ARN
		for _, l := range lb.Listeners {
			r.KnownIDs[plan.Address{Kind: plan.Listener, ID: l.ARN}] = l.ARN
			for _, rule := range l.Rules {
				r.KnownIDs[plan.RuleAddress(rule.ARN)] = rule.ARN
			}
		}
	}
	for _, g := range r.Have.TargetGroups {
		r.KnownIDs[plan.Address{Kind: plan.TargetGroup, ID: g.ARN}] = g.ARN
	}
}

// mayBeRetained reports whether the load balancer live may be kept for the desired load balancer, because it has the desired
// type and scheme, which AWS cannot change, or because it is held.
func (r *resolution) mayBeRetained(lb *resolved.LoadBalancer, live *observed.LoadBalancer) bool {
	held := r.Want.Held.AllResources
	if lb.IsFrontend() {
		held = held || lb.Desired != nil && r.Want.Held.Frontend
	} else {
		held = held || lb.Desired == nil && len(r.Want.Held.Members) > 0
	}
	return live.ResourceID == lb.ID &&
		(held || lb.Desired != nil && live.Type == lb.Desired.Type.String() && live.Scheme == lb.Desired.Scheme)
}

// chooseRetained chooses between two existing load balancers that could both be kept: the one with more listeners. Another
// controller must have created one of the two. The load balancer that is not chosen is reported. It is not changed and
// keeps its target groups, because its users are not known.
func (r *resolution) chooseRetained(first, second *observed.LoadBalancer) *observed.LoadBalancer {
	if first == nil {
		return second
	}
	if len(second.Listeners) > len(first.Listeners) {
		first, second = second, first
	}
	equal.EachForwardedARN(second.Listeners, func(arn string) { r.usage.KeptTargetGroups[arn] = true })
	if !r.Want.Held.AllResources && len(r.Want.Members) > 0 {
		r.Findings.Add(finding.Finding{
			Object: r.Want.Members[0].Ref, Reason: finding.LoadBalancerDoubled, Severity: finding.Warning,
			Message: fmt.Sprintf("load balancers %s and %s both have the tags of %s; the first is used, the second is not changed", first.ARN, second.ARN, r.Want.ID),
			Fix:     "delete the second load balancer, or remove the tag " + naming.StackTag(r.Want.ID.Kind) + " from it",
		})
	}
	return first
}

// retainBlockedReplacement retains a load balancer that was created to replace another one, and its target groups, if the
// replacement cannot be completed because AWS refuses one of its resources. It reports whether lb is such a load balancer.
// If it were deleted and created again for each attempt, more calls would be needed.
func (r *resolution) retainBlockedReplacement(lb observed.LoadBalancer) bool {
	if !r.Want.Held.Replacement || lb.Tags[naming.SuccessorTag] == "" {
		return false
	}
	equal.EachForwardedARN(lb.Listeners, func(arn string) { r.usage.KeptTargetGroups[arn] = true })
	return true
}
