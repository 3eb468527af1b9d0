package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// network is AWS's word for the type of an NLB.
const networkType = "network"

var frontAddress = Address{Kind: LoadBalancer, ID: model.FrontendNLBID}

func frontListenerAddress(port int32) Address {
	return Address{Kind: Listener, ID: naming.FrontendListenerID(port)}
}

// front is what the plan knows of the network load balancer in front.
type front struct {
	loadBalancerPlan
	// postponed are ALB listeners to be deleted once nothing leads to them any more.
	postponed []observed.Listener
	// changed are the steps that change to where its listeners lead.
	changed []StepID
	// detached are targets that a step takes out already.
	detached map[string]StepID
}

// isFront says whether a load balancer is the one in front that the wish keeps.
func (b *builder) isFront(lb *observed.LoadBalancer) bool {
	w := b.want.FrontendNLB
	if lb.ResourceID != model.FrontendNLBID || lb.Type != networkType {
		return false
	}
	return b.want.Held.Everything || w != nil && (b.want.Held.Frontend || w.Scheme == lb.Scheme)
}

// frontStays says that nothing about the one in front may change.
func (b *builder) frontStays() bool {
	return b.want.FrontendNLB != nil && (b.want.Held.Frontend)
}

// showsFront says whether its name is to be shown.
func (b *builder) showsFront() bool {
	return b.want.FrontendNLB != nil && (b.front.live != nil || !b.frontStays() && !b.want.Held.Creation)
}

// opensFront says whether a rule opens a live port of it that stays although it is not wished for.
func (b *builder) opensFront(r model.IngressRule) bool {
	return b.front.live != nil && (b.frontStays() || b.want.FrontendNLB != nil && b.want.Held.FrontendPorts) &&
		slices.ContainsFunc(b.front.live.Listeners, func(l observed.Listener) bool { return l.Port == r.From && l.Port == r.To })
}

// planFront makes the network load balancer in front fit, once the ALB has its listeners.
func (b *builder) planFront(after []StepID) {
	w := b.want.FrontendNLB
	if w == nil || b.frontStays() {
		return
	}
	nlb := b.planFrontNLB(after)
	var steps []StepID
	for _, l := range w.Listeners {
		steps = append(steps, b.planFrontListener(l, nlb)...)
	}
	if b.front.live != nil && !b.want.Held.FrontendPorts {
		for _, l := range b.front.live.Listeners {
			if slices.ContainsFunc(w.Listeners, func(x model.Listener) bool { return x.Port == l.Port }) {
				continue
			}
			a := Address{Kind: Listener, ID: l.ARN}
			steps = append(steps, b.add(Step{
				ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteListener{ARN: l.ARN},
				Changes: []Change{{Path: "port", From: fmt.Sprint(l.Port)}},
				Why:     "no object wants this port of the network load balancer any more", Impact: DeleteImpact, Blames: b.members(),
			}))
		}
	}
	b.front.changed = steps
}

func (b *builder) planFrontNLB(after []StepID) []StepID {
	w, live := b.want.FrontendNLB, b.front.live
	tags := b.tags(model.FrontendNLBID, w.Tags)
	why := func(field string) string { return "from " + w.Origins[field].String() }
	if live == nil {
		id := b.add(Step{
			ID: stepID("create", frontAddress), Address: frontAddress, Verb: Create,
			Do: CreateLoadBalancer{
				Type: networkType, Name: w.Name, Scheme: w.Scheme, AddressType: w.AddressType, Subnets: b.front.subnets,
				SecurityGroups: b.front.groups, Addresses: b.front.addresses, Tags: tags,
			},
			Why: "from " + w.Of.String(), After: append(slices.Clone(after), b.deletions()...), Blames: b.members(),
		})
		b.planAttributes(frontAddress, "", w.Attributes, nil, false, []StepID{id}, b.members())
		return []StepID{id}
	}
	b.retag(frontAddress, tags, live.Tags, true, after, b.members())
	if ids, complete := b.idsOf(b.front.groups); !complete || !sameSet(ids, live.SecurityGroups) {
		b.add(Step{
			ID: stepID("security-groups", frontAddress), Address: frontAddress, Verb: Update,
			Do:      SetSecurityGroups{LoadBalancer: frontAddress, Groups: b.front.groups},
			Changes: []Change{{Path: "securityGroups", From: strings.Join(live.SecurityGroups, ", "), To: groupsText(b.front.groups)}},
			Why:     why("securityGroups"), After: after, Impact: BriefImpact, Blames: b.members(),
		})
	}
	var subnets StepID
	if !sameSet(b.front.subnets, live.Subnets) {
		subnets = b.add(Step{
			ID: stepID("subnets", frontAddress), Address: frontAddress, Verb: Update,
			Do:      SetSubnets{LoadBalancer: frontAddress, Subnets: b.front.subnets, Addresses: b.front.addresses},
			Changes: []Change{{Path: "subnets", From: strings.Join(live.Subnets, ", "), To: strings.Join(b.front.subnets, ", ")}},
			Why:     why("subnets"), After: after, Impact: BriefImpact, Blames: b.members(),
		})
	}
	if subnets == "" && len(b.front.addresses) > 0 && !sameSet(b.front.addresses, live.Addresses) {
		b.fixed("addresses", w.Origins, "the elastic addresses", strings.Join(live.Addresses, ", "), strings.Join(b.front.addresses, ", "))
	}
	if w.AddressType != live.AddressType {
		b.add(Step{
			ID: stepID("address-type", frontAddress), Address: frontAddress, Verb: Update,
			Do:      SetAddressType{LoadBalancer: frontAddress, Type: w.AddressType},
			Changes: []Change{{Path: "ipAddressType", From: string(live.AddressType), To: string(w.AddressType)}},
			Why:     "it is that of the application load balancer", After: append(slices.Clone(after), subnets), Blames: b.members(),
		})
	}
	b.planAttributes(frontAddress, live.ARN, w.Attributes, live.Attributes, true, after, b.members(), w.AttributesOf...)
	return nil
}

// deletions are the steps that delete load balancers; one of the same name may have to go first.
func (b *builder) deletions() []StepID {
	var out []StepID
	for _, s := range b.plan.Steps {
		if _, ok := s.Do.(DeleteLoadBalancer); ok {
			out = append(out, s.ID)
		}
	}
	return out
}

// planFrontListener leads a port to a port of the ALB: target group, target, listener.
func (b *builder) planFrontListener(l model.Listener, nlb []StepID) []StepID {
	to, group, ok := b.leads(l)
	if !ok {
		return nil
	}
	ready := append(b.planTargetGroup(group, nil, nil), nlb...)
	if id := b.registerALB(l, group, to, ready); id != "" {
		ready = append(ready, id)
	}
	a := frontListenerAddress(l.Port)
	tags := b.tags(naming.FrontendListenerID(l.Port), b.want.FrontendNLB.Tags)
	settings := ListenerSettings{Port: l.Port, Protocol: l.Protocol(), Default: l.Default}
	live := b.frontLiveListener(l.Port)
	if live == nil {
		return []StepID{b.add(Step{
			ID: stepID("create", a), Address: a, Verb: Create,
			Do:  CreateListener{LoadBalancer: frontAddress, Settings: settings, Tags: b.ruleTags(tags)},
			Why: fmt.Sprintf("it leads to port %d", group.Port), After: append(slices.Clone(ready), b.opened[l.Port]), Blames: l.Members,
		})}
	}
	if b.opt.RuleTags {
		b.retagBelow(b.front.live.ARN, a, tags, live.Tags, nil, l.Members)
	}
	if live.Protocol == settings.Protocol && sameActions(settings.Default, live.Default, b.arn) {
		return nil
	}
	return []StepID{b.add(Step{
		ID: stepID("modify", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: settings},
		Changes: []Change{{Path: "default", From: actionsText(live.Default), To: actionsText(settings.Default)}},
		Why:     fmt.Sprintf("it leads to port %d", group.Port), After: ready, Impact: BriefImpact, Blames: l.Members,
	})}
}

// leads finds the listener of the ALB and the target group of a port; false if there is nothing to
// lead to yet.
func (b *builder) leads(l model.Listener) (to listenerPlan, group model.TargetGroup, ok bool) {
	g := b.desired[l.Target()]
	if g == nil {
		return listenerPlan{}, model.TargetGroup{}, false
	}
	at := slices.IndexFunc(b.listeners, func(p listenerPlan) bool { return p.wish.Port == g.Port && (p.make || p.live != nil) })
	if at < 0 {
		return listenerPlan{}, model.TargetGroup{}, false
	}
	return b.listeners[at], *g, true
}

func (b *builder) frontLiveListener(port int32) *observed.Listener {
	if b.front.live == nil {
		return nil
	}
	for i := range b.front.live.Listeners {
		if b.front.live.Listeners[i].Port == port {
			return &b.front.live.Listeners[i]
		}
	}
	return nil
}

// registerALB makes the ALB the target of a group, in place of what else is in it.
func (b *builder) registerALB(l model.Listener, group model.TargetGroup, to listenerPlan, after []StepID) StepID {
	if arn := b.groupARN[group.ID]; arn != "" {
		targets, known := b.albTargets(arn)
		if !known {
			return ""
		}
		for _, t := range targets {
			if b.live != nil && t.ID == b.live.ARN && t.Port == group.Port {
				return ""
			}
		}
		for _, t := range targets {
			after = append(after, b.detach(arn, t, nil))
		}
	}
	if b.live == nil {
		after = append(after, stepID("create", loadBalancerAddress))
	}
	if to.live == nil {
		after = append(after, stepID("create", listenerAddress(group.Port)))
	}
	a := Address{Kind: ALBTarget, ID: group.ID}
	return b.add(Step{
		ID: stepID("register", a), Address: a, Verb: Create,
		Do:      RegisterALB{Group: GroupAddress(group.ID), LoadBalancer: loadBalancerAddress, Port: group.Port},
		Changes: []Change{{Path: "target", To: fmt.Sprintf("%s:%d", model.LoadBalancerID, group.Port)}},
		Why:     "the network load balancer leads to the application load balancer", After: after, Blames: l.Members,
	})
}

// deletePostponed deletes ALB listeners that the network load balancer has led to so far. One that
// it still leads to stays.
func (b *builder) deletePostponed() {
	for _, l := range b.front.postponed {
		var after []StepID
		free := true
		for _, g := range b.have.TargetGroups {
			free = free && b.unread(model.AskALBTargets{ARN: g.ARN}) == nil
			for _, t := range b.have.Facts.ALBTargets[g.ARN] {
				if t.ID != b.live.ARN || t.Port != l.Port {
					continue
				}
				id, ok := b.front.detached[targetKey(g.ARN, t)]
				free = free && ok
				after = append(after, id)
			}
		}
		if free {
			b.deleteListener(l, after)
		}
	}
}

// leadsTo reports whether a port of the live ALB is the target of a target group, or may be.
func (b *builder) leadsTo(port int32) bool {
	for _, g := range b.have.TargetGroups {
		if g.Type != model.ALBTargets {
			continue
		}
		targets, _ := b.albTargets(g.ARN)
		if b.unread(model.AskALBTargets{ARN: g.ARN}) != nil ||
			slices.ContainsFunc(targets, func(t observed.Target) bool { return t.ID == b.live.ARN && t.Port == port }) {
			return true
		}
	}
	return false
}
