package targetgroups

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// hasDesiredImmutableHealthCheck reports whether an existing target group of a network load balancer has the desired values
// of the health check settings that earlier versions of the AWS API could not change.
func hasDesiredImmutableHealthCheck(w model.TargetGroup, h observed.TargetGroup) bool {
	switch w.Protocol {
	case "HTTP", "HTTPS":
		return true
	}
	a, b := w.HealthCheck, h.HealthCheck
	return (a.Protocol == "" || a.Protocol == b.Protocol) && (a.HTTPCodes == "" || a.HTTPCodes == b.HTTPCodes) &&
		(a.IntervalSeconds == 0 || a.IntervalSeconds == b.IntervalSeconds) && (a.TimeoutSeconds == 0 || a.TimeoutSeconds == b.TimeoutSeconds)
}

// MatchTargetGroups decides which existing target group is kept for each desired target group. It compares names before
// resource IDs. Two desired target groups may have the same ID at different times, so that the ID alone may find the target
// group of another Service. A name contains a hash of the properties of a target group. IDs are compared for target groups
// whose name no desired target group has.
func (gp *Planner) MatchTargetGroups() {
	names := map[string]bool{}
	for _, w := range gp.Want.TargetGroups {
		names[w.Name] = true
	}
	// If several existing target groups have the same ID, one to which a load balancer forwards is kept.
	live, kept := gp.matchableTargetGroups()
	slices.SortStableFunc(live, func(x, y observed.TargetGroup) int {
		return cmp.Or(cmp.Compare(kept[y.ARN], kept[x.ARN]), cmp.Compare(min(len(y.LoadBalancers), 1), min(len(x.LoadBalancers), 1)))
	})
	byName, byID := map[string][]observed.TargetGroup{}, map[string][]observed.TargetGroup{}
	for _, h := range live {
		byName[h.Name] = append(byName[h.Name], h)
		byID[h.ResourceID] = append(byID[h.ResourceID], h)
	}
	pass := func(candidates func(w model.TargetGroup) []observed.TargetGroup, fits func(w model.TargetGroup, h observed.TargetGroup) bool) {
		for _, w := range gp.Want.TargetGroups {
			for _, h := range candidates(w) {
				_, taken := gp.LiveTargetGroups[h.ARN]
				if gp.LiveTargetGroupARNs[w.ID] == "" && !taken && fits(w, h) && gp.canBecome(w, h) && gp.ALBTargets.canRetainALBTargetGroup(w, h) {
					gp.LiveTargetGroupARNs[w.ID] = h.ARN
					gp.LiveTargetGroups[h.ARN] = h
					gp.KnownIDs[plan.TargetGroupAddress(w.ID)] = h.ARN
				}
			}
		}
	}
	sameName := func(w model.TargetGroup) (out []observed.TargetGroup) {
		for n := 1; n <= naming.AlternativeCount; n++ {
			out = append(out, byName[naming.AlternativeName(w.Name, n)]...)
		}
		slices.SortStableFunc(out, func(x, y observed.TargetGroup) int { return cmp.Compare(kept[y.ARN], kept[x.ARN]) })
		return out
	}
	sameID := func(w model.TargetGroup) []observed.TargetGroup { return byID[w.ID] }
	pass(sameName, func(w model.TargetGroup, h observed.TargetGroup) bool { return h.ResourceID == w.ID })
	pass(sameName, func(model.TargetGroup, observed.TargetGroup) bool { return true })
	pass(sameID, func(w model.TargetGroup, h observed.TargetGroup) bool {
		return !names[h.Name] && !gp.servesOtherService(w, h)
	})
}

// canBecome reports whether an existing target group can be changed to the desired state, so that it is not replaced.
func (gp *Planner) canBecome(w model.TargetGroup, h observed.TargetGroup) bool {
	return equal.CanChangeInPlace(w, h) && (!gp.Opt.ReplaceForHealthChecks || hasDesiredImmutableHealthCheck(w, h))
}

// matchableTargetGroups returns the existing target groups that may be kept for a desired target group. kept is 1 for the
// ARNs of target groups to which a kept load balancer forwards. Target groups that only another load balancer uses remain
// with that load balancer.
func (gp *Planner) matchableTargetGroups() (live []observed.TargetGroup, kept map[string]int) {
	kept = map[string]int{}
	others := map[string]bool{}
	for i := range gp.Have.LoadBalancers {
		lb := &gp.Have.LoadBalancers[i]
		mine := gp.LB
		if lb.ResourceID == model.FrontendNLBID {
			mine = gp.Frontend
		}
		switch {
		case mine.Live != nil && mine.Live.ARN == lb.ARN:
			equal.EachForwardedARN(lb.Listeners, func(arn string) { kept[arn] = 1 })
		case gp.Opt.CreateFirst && !gp.Want.IsEmpty() && (mine.Live != nil || len(mine.Previous) > 0):
			equal.EachForwardedARN(lb.Listeners, func(arn string) { others[arn] = true })
		}
	}
	live = slices.DeleteFunc(slices.Clone(gp.Have.TargetGroups), func(g observed.TargetGroup) bool { return others[g.ARN] && kept[g.ARN] == 0 })
	return live, kept
}

// freeTargetGroupName returns the name for a new target group. If another target group already has the desired name, the
// result is an alternative name.
func (gp *Planner) freeTargetGroupName(w model.TargetGroup) string {
	return resolved.FirstFreeName(w.Name, func(name string) bool { return gp.liveNames[name] || slices.Contains(w.NamesTaken, name) })
}

// servesOtherService reports whether an existing target group has the targets of another Service than the desired target
// group. Rules may still forward to it, so that it cannot be reused. A target group without a binding and a load balancer is
// being deleted, and may have belonged to another Service.
func (gp *Planner) servesOtherService(w model.TargetGroup, h observed.TargetGroup) bool {
	if w.Binding == nil {
		return false
	}
	of := gp.BindingsOf[h.ARN]
	if len(of) == 0 {
		return len(h.LoadBalancers) == 0
	}
	return slices.ContainsFunc(of, func(o *observed.Binding) bool {
		return o.Namespace != w.Binding.Namespace || o.Service.Service != w.Binding.Service
	})
}
