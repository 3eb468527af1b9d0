package plantest

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// applyAddOn changes the facts as AWS would for a step that changes a web ACL or a Shield protection.
func (s *simulation) applyAddOn(st plan.Step) {
	set := func(lb plan.Address, of model.AddOn, v observed.AddOn) {
		if s.have.Facts.AddOns == nil {
			s.have.Facts.AddOns = map[string]observed.AddOn{}
		}
		s.have.Facts.AddOns[model.AskAddOn{Of: of, ARN: s.loadBalancer(lb).ARN}.Key()] = v
	}
	switch do := st.Do.(type) {
	case plan.SetWebACL:
		set(do.LoadBalancer, model.WAFv2, observed.AddOn{ID: do.ARN})
	case plan.SetClassicACL:
		set(do.LoadBalancer, model.WAFClassic, observed.AddOn{ID: do.ID})
	case plan.CreateProtection:
		set(do.LoadBalancer, model.ShieldAdvanced, observed.AddOn{ID: st.Address.String(), Name: do.Name})
	case plan.DeleteProtection:
		set(do.LoadBalancer, model.ShieldAdvanced, observed.AddOn{})
	}
}

// applyALBTarget changes the facts as AWS would for a step that registers or deregisters an ALB as target. It panics if
// AWS would reject the step.
func (s *simulation) applyALBTarget(st plan.Step) {
	if s.have.Facts.ALBTargets == nil {
		s.have.Facts.ALBTargets = map[string][]observed.Target{}
	}
	all := s.have.Facts.ALBTargets
	switch do := st.Do.(type) {
	case plan.RegisterALB:
		g := s.targetGroup(do.Group)
		if g.Port != do.Port {
			panic(fmt.Sprintf("simulate: target group %s has port %d, but its target has port %d", g.Name, g.Port, do.Port))
		}
		if len(all[g.ARN]) > 0 {
			panic("simulate: " + g.Name + " already has a target")
		}
		if do.ARN != "" { // the target group belongs to another stack, which is not simulated
			all[g.ARN] = append(slices.Clone(all[g.ARN]), observed.Target{ID: do.ARN, Port: do.Port})
			return
		}
		lb := s.loadBalancer(do.LoadBalancer)
		if !slices.ContainsFunc(lb.Listeners, func(l observed.Listener) bool { return l.Port == do.Port }) {
			panic(fmt.Sprintf("simulate: no listener on port %d", do.Port))
		}
		all[g.ARN] = append(slices.Clone(all[g.ARN]), observed.Target{ID: lb.ARN, Port: do.Port})
	case plan.DeregisterALB:
		g := s.targetGroup(do.Group)
		all[g.ARN] = slices.DeleteFunc(slices.Clone(all[g.ARN]), func(t observed.Target) bool { return t.ID == do.ARN && t.Port == do.Port })
	}
}

// checkNotTarget panics if the load balancer with ARN lb is registered as target on a port, or on any port if port is 0.
// AWS does not delete such a load balancer or its listener.
func (s *simulation) checkNotTarget(lb string, port int32) {
	for group, ts := range s.have.Facts.ALBTargets {
		for _, t := range ts {
			if t.ID == lb && (port == 0 || port == t.Port) {
				panic(fmt.Sprintf("simulate: a step deletes %s (port %d), which is a target of target group %s", lb, port, group))
			}
		}
	}
}
