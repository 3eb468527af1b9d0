package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// albTargetsSpec are the ports of load balancers that are targets, by the names of target groups.
type albTargetsSpec struct {
	TargetGroups map[string]albTargetSpec
}

type albTargetSpec struct {
	Name       string
	ARN        token
	Port       int32
	TargetARN  token
	TargetPort int32
}

// frontNLB describes the frontend NLB of the ALB.
func (d *describer) frontNLB() {
	targets := albTargetsSpec{map[string]albTargetSpec{}}
	for _, g := range d.want.TargetGroups {
		if g.LoadBalancer != "" {
			targets.TargetGroups[g.Name] = albTargetSpec{Name: g.Name, ARN: targetGroupToken(g.ID), Port: g.Port, TargetARN: literal(g.LoadBalancer), TargetPort: g.Port}
		}
	}
	if d.want.ID.Kind != model.Service {
		d.note(TypeALBTargets, string(TypeALBTargets), targets)
	}
	w, live := d.want.FrontendNLB, d.frontend.live
	switch {
	case w == nil:
		return
	case d.frontendStays():
		if live == nil {
			return
		}
		d.liveLoadBalancer(live)
		for i := range live.Listeners {
			d.liveListener(naming.FrontendListenerID(live.Listeners[i].Port), model.FrontendNLBID, &live.Listeners[i])
		}
		return
	}
	d.loadBalancer(d.frontend)
	for _, l := range d.frontend.listeners {
		if !l.make {
			continue
		}
		group := *d.desiredGroups[l.desired.Target()]
		d.desiredGroup(group)
		d.listener(l)
		targets.TargetGroups[group.Name] = albTargetSpec{
			Name: group.Name, ARN: targetGroupToken(group.ID), Port: l.desired.Port,
			TargetARN: loadBalancerToken(model.LoadBalancerID), TargetPort: group.Port,
		}
	}
	if live == nil || !d.want.Held.FrontendPorts {
		return
	}
	for i := range live.Listeners {
		l := &live.Listeners[i]
		if !slices.ContainsFunc(w.Listeners, func(x model.Listener) bool { return x.Port == l.Port }) {
			d.liveListener(naming.FrontendListenerID(l.Port), model.FrontendNLBID, l)
		}
	}
}
