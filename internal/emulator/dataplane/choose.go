package dataplane

import (
	"math/rand/v2"
	"net/netip"
	"time"
)

// chooseTargetGroup selects one of the target groups at random by weight, whatever the health of their targets. It returns
// "" if all weights are 0. A single target group is selected whatever its weight.
func chooseTargetGroup(groups []WeightedTargetGroup) string {
	return targetGroupAt(groups, rand.IntN)
}

// targetGroupAt returns the target group at a position in the sum of the weights. draw returns a position from 0 to sum-1.
func targetGroupAt(groups []WeightedTargetGroup, draw func(sum int) int) string {
	if len(groups) == 1 {
		return groups[0].ARN
	}
	sum := 0
	for _, g := range groups {
		sum += g.Weight
	}
	if sum <= 0 {
		return ""
	}
	n := draw(sum)
	for _, g := range groups {
		if n -= g.Weight; n < 0 {
			return g.ARN
		}
	}
	return ""
}

// receivingNode is the load balancer node that received a request or flow. crossZone is the cross-zone setting of its load
// balancer.
type receivingNode struct {
	address   netip.Addr
	zone      string
	crossZone bool
}

// candidates returns the members that may get a request at node "at": the healthy members, or all members if too few are
// healthy. Without cross-zone load balancing, it returns only members in the zone of the node. Members without a health
// check result are not among them.
func (v *targetGroupView) candidates(at receivingNode) []member {
	cross := v.mayCrossZones(at)
	var healthy, all []member
	for _, m := range v.members {
		if !m.isInService() || !m.isReachable(at.zone, cross) {
			continue
		}
		switch m.health() {
		case StateHealthy:
			healthy = append(healthy, m)
			all = append(all, m)
		case StateUnhealthy:
			all = append(all, m)
		}
	}
	if len(healthy) < max(v.attr.minHealthy, 1) || len(healthy)*100 < v.attr.minHealthyPercent*len(all) {
		return all
	}
	return healthy
}

// chooseTarget picks the target of a request, or returns nil if there is no candidate.
func (g *targetGroup) chooseTarget(v *targetGroupView, at receivingNode, now time.Time) *target {
	from := v.candidates(at)
	if len(from) == 0 {
		return nil
	}
	if v.attr.algorithm == "least_outstanding_requests" {
		return leastLoadedTarget(from)
	}
	if weights, uneven := slowStartWeights(from, v.attr.slowStart, now); uneven {
		return from[randomWeightedIndex(weights)].target
	}
	if v.attr.algorithm == "weighted_random" {
		return from[rand.IntN(len(from))].target
	}
	n := g.roundRobinCounter(at.address).Add(1) - 1
	return from[n%uint64(len(from))].target
}

// leastLoadedTarget returns the member with the fewest open requests. If there are several, it picks one of them at random.
func leastLoadedTarget(from []member) *target {
	best, count := from[0].target, 0
	fewest := int64(-1)
	for _, m := range from {
		n := m.inflightRequests.Load()
		switch {
		case fewest < 0 || n < fewest:
			best, fewest, count = m.target, n, 1
		case n == fewest:
			count++
			if rand.IntN(count) == 0 {
				best = m.target
			}
		}
	}
	return best
}

// slowStartWeights returns the weights of members in slow start: the weight of a member that became healthy within the
// duration d grows linearly. uneven is false if no member or every member is in slow start. If every member is in slow
// start, no other member can receive the remaining requests.
func slowStartWeights(from []member, d time.Duration, now time.Time) (weights []float64, uneven bool) {
	if d <= 0 {
		return nil, false
	}
	ready := false
	for _, m := range from {
		w := 1.0
		if age := m.healthyDuration(now); age < d && m.health() == StateHealthy {
			w = max(float64(age)/float64(d), 0.01)
			uneven = true
		} else {
			ready = true
		}
		weights = append(weights, w)
	}
	return weights, uneven && ready
}

func randomWeightedIndex(weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	n := rand.Float64() * sum
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return len(weights) - 1
}
