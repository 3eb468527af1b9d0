package elbv2

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// drainDuration returns how long a target is draining after its deregistration. It returns 0 for a target in the state
// unused, initial or unavailable.
func drainDuration(p *store.Partition, g *store.TargetGroup, t *store.Target, c *store.Call) time.Duration {
	switch p.TargetHealth(g, t, c.Now).State {
	case types.TargetHealthStateEnumUnused, types.TargetHealthStateEnumInitial, types.TargetHealthStateEnumUnavailable:
		return 0
	}
	return time.Duration(atoi(g.Attributes[attrDeregistrationDelay])) * time.Second
}

// checkTargetQuotas returns an error if requested targets would exceed the quotas of target group g or its load balancer.
func (s *targetGroups) checkTargetQuotas(st *store.ELBState, g *store.TargetGroup, requested []store.Target) error {
	var added []store.Target
	for _, t := range requested {
		if have := g.Target(t.ID, t.Port); have == nil || have.IsDraining() {
			added = append(added, t)
		}
	}
	total := registeredCount(g) + len(added)
	switch g.Type {
	case types.TargetTypeEnumLambda:
		if total > 1 {
			return store.Errorf(store.UnprovenSource, "TooManyTargets", "Up to '1' Lambda function target(s) can be registered, but '%d' were specified", total)
		}
	case types.TargetTypeEnumAlb:
		if total > 1 {
			return store.Errorf(store.UnprovenSource, "TooManyTargets", "Up to '1' Application Load Balancer target(s) can be registered, but '%d' were specified", total)
		}
	}
	if most := s.quota(quotaTargetsPerTargetGroup); total > most {
		return store.Errorf(store.UnprovenSource, "TooManyTargets", "The maximum number of targets per target group '%d' has been reached on target group '%s'", most, g.ARN)
	}
	lb := st.LoadBalancers[g.LoadBalancer]
	if lb == nil {
		return nil
	}
	extra := len(added)
	if g.Type == types.TargetTypeEnumAlb {
		extra *= albTargetCost(lb)
	}
	return s.checkLoadBalancerTargets(st, lb, nil, extra, added)
}

// registeredCount returns the number of targets of a target group that are not draining.
func registeredCount(g *store.TargetGroup) int {
	n := 0
	for _, t := range g.Targets {
		if !t.IsDraining() {
			n++
		}
	}
	return n
}

// albTargetCost returns how many targets an ALB counts as in the quotas of NLB lb, if the ALB is a target of lb.
func albTargetCost(lb *store.LoadBalancer) int {
	if lb.Attributes[attrCrossZone] == "true" {
		return 100
	}
	return 50
}

// checkLoadBalancerTargets returns an error if a load balancer would exceed its quotas of targets. joining are target
// groups to be attached to the load balancer. added are targets to be added to its target groups, and extra is how many
// targets they count as in the quota.
func (s *core) checkLoadBalancerTargets(st *store.ELBState, lb *store.LoadBalancer, joining []*store.TargetGroup, extra int, added []store.Target) error {
	total := extra
	byID := map[string]int{}
	for _, t := range added {
		byID[t.ID]++
	}
	groups := joining
	for _, g := range st.TargetGroups {
		if g.LoadBalancer == lb.ARN {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		for _, t := range g.Targets {
			if t.IsDraining() {
				continue
			}
			byID[t.ID]++
			if g.Type == types.TargetTypeEnumAlb {
				total += albTargetCost(lb) - 1
			}
			total++
		}
	}
	name := quotaTargetsALB
	if !lb.IsALB() {
		name = quotaTargetsNLB
	}
	if most := s.quota(name); total > most {
		return store.Errorf(store.ReportSource("kubernetes/kubernetes#86441"), "TooManyTargets", "The maximum number of targets per load balancer '%d' has been reached on load balancer '%s'", most, lb.ARN)
	}
	if !lb.IsALB() {
		return s.checkZoneTargets(lb, groups, added)
	}
	most := s.quota(quotaRegistrationsPerTargetID)
	for _, id := range store.SortedKeys(byID) {
		if byID[id] > most {
			return store.Errorf(store.UnprovenSource, "TooManyRegistrationsForTargetId", "The maximum number of registrations '%d' of target '%s' has been reached on load balancer '%s'", most, id, lb.ARN)
		}
	}
	return nil
}

// checkZoneTargets returns an error if an NLB would have too many targets in a zone. With cross-zone load balancing, each
// target counts in every zone. A target without a zone, or with the zone "all", always counts in every zone.
func (s *core) checkZoneTargets(lb *store.LoadBalancer, groups []*store.TargetGroup, added []store.Target) error {
	crossZone := lb.Attributes[attrCrossZone] == "true"
	byZone := map[string]int{}
	count := func(zone string) {
		if crossZone || zone == "" || zone == zoneAll {
			zone = ""
		}
		byZone[zone]++
	}
	for _, g := range groups {
		for _, t := range g.Targets {
			if !t.IsDraining() {
				count(t.Zone)
			}
		}
	}
	for _, t := range added {
		count(t.Zone)
	}
	most := s.quota(quotaTargetsPerZoneNLB)
	for _, zone := range store.SortedKeys(byZone) {
		n := byZone[zone]
		if zone != "" {
			n += byZone[""]
		}
		if n > most {
			return store.Errorf(store.UnprovenSource, "TooManyTargets", "The maximum number of targets per Availability Zone '%d' has been reached on load balancer '%s'", most, lb.ARN)
		}
	}
	return nil
}
