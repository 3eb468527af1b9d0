package document

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// albTargetsSpec has the ALB ports that are targets of target groups, by the name of the target group.
type albTargetsSpec struct {
	TargetGroups map[string]albTargetSpec
}

type albTargetSpec struct {
	Name       string
	ARN        textOrReference
	Port       int32
	TargetARN  textOrReference
	TargetPort int32
}

// describeFrontendNLB adds the frontend NLB and the ALB ports that are its targets to the document.
func (d *Describer) describeFrontendNLB() {
	targets := albTargetsSpec{map[string]albTargetSpec{}}
	for _, g := range d.Want.TargetGroups {
		if g.LoadBalancer != "" {
			targets.TargetGroups[g.Name] = albTargetSpec{Name: g.Name, ARN: targetGroupARNReference(g.ID), Port: g.Port, TargetARN: textWithoutReference(g.LoadBalancer), TargetPort: g.Port}
		}
	}
	if kind := d.Want.ID.Kind; kind.HasRules() || kind.IsGateway() {
		d.addValue(TypeALBTargets, string(TypeALBTargets), targets)
	}
	w, live := d.Want.FrontendNLB, d.Frontend.Live
	switch {
	case w == nil:
		return
	case d.IsFrontendHeld():
		if live == nil {
			return
		}
		d.describeLiveLoadBalancer(live)
		for i := range live.Listeners {
			d.describeLiveListener(naming.FrontendListenerID(live.Listeners[i].Port), model.FrontendNLBID, &live.Listeners[i])
		}
		return
	}
	d.describeLoadBalancer(d.Frontend)
	for _, l := range d.Frontend.Listeners {
		if !l.Planned {
			continue
		}
		group := *d.TargetGroups.DesiredTargetGroups[l.Desired.DefaultTargetGroupID()]
		d.describeTargetGroup(group)
		d.describeListener(l)
		targets.TargetGroups[group.Name] = albTargetSpec{
			Name: group.Name, ARN: targetGroupARNReference(group.ID), Port: l.Desired.Port,
			TargetARN: loadBalancerARNReference(model.LoadBalancerID), TargetPort: group.Port,
		}
	}
	if live == nil {
		return
	}
	for i := range live.Listeners {
		if l := &live.Listeners[i]; slices.Contains(d.Frontend.HeldPorts, l.Port) {
			d.describeLiveListener(naming.FrontendListenerID(l.Port), model.FrontendNLBID, l)
		}
	}
}
