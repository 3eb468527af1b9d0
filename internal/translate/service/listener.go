package service

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// buildListener builds the listener of a port. A fault holds the whole listener, because a network load balancer cannot
// answer with a fixed response in place of a forward.
func (t *translation) buildListener(p *port) model.Listener {
	l := model.Listener{Port: p.Number, BaseProtocol: p.BaseProtocol, Tags: t.ListenerTags(p.Port), Members: []finding.Ref{p.owner.Ref}, DefaultOf: p.at}
	key := p.ListenPort().Key()
	attributes := p.owner.set.ListenerAttributes[key]
	switch {
	case p.TLS:
		l.TLS = t.TLS(p.Port)
		if f := p.owner.set.ALPN.Check(); f != nil {
			t.holdListener(p, f.Origin.Field, finding.AnnotationInvalid, f.Err.Error(), "correct the value or remove it")
		}
		l.TLS.ALPN = p.owner.set.ALPN.Value
		if attributes.IsPresent() {
			t.Found.Add(finding.Finding{
				Object: p.owner.Ref, Field: attributes.Origin.Field, Reason: finding.Unsupported,
				Message: "TLS listeners have no configurable attributes; the setting has no effect", Fix: "remove it",
			})
		}
	case attributes.Fault != nil:
		t.holdListener(p, attributes.Origin.Field, finding.AnnotationInvalid, attributes.Fault.Error(), "correct the value or remove it")
	default:
		l.Attributes, l.AttributesOf = t.ListenerAttributes(p.Port)
	}
	if quic := p.BaseProtocol == model.QUIC || p.BaseProtocol == model.TCPQUIC; quic && t.Stack.LoadBalancer.SecurityGroups != nil {
		t.holdListener(p, p.owner.set.QUICPorts.Origin.Field, finding.Unsupported, "AWS does not support QUIC listeners on load balancers with security groups",
			"set "+settings.ServicePrefix+`aws-load-balancer-disable-nlb-sg to "true" before the load balancer is created`)
	}
	forward, ok := t.buildForward(p, key)
	if named := p.owner.set.Actions[key]; slices.ContainsFunc(named.Value.Targets, func(to settings.NetworkTarget) bool { return to.ARN != "" }) {
		l.DefaultOf.Field = named.Origin.Field // if AWS refuses the ARN, this annotation is reported
	}
	if !ok || p.held || p.owner.Blocked {
		l.DefaultHeld = model.HeldInvalid
		return l
	}
	l.Default = []model.Action{forward}
	return l
}

// buildForward returns the default action of a port: a forward to the target group of the port and to the weighted target
// groups in its actions annotation. It returns false if one of the target groups cannot be built.
func (t *translation) buildForward(p *port, key string) (model.Forward, bool) {
	action := p.owner.set.Actions[key]
	if f := action.Check(); f != nil {
		t.holdListener(p, f.Origin.Field, finding.AnnotationInvalid, f.Err.Error(), "correct the value or remove it")
		return model.Forward{}, false
	}
	own, ok := t.targetGroup(target{port: p, svc: p.owner.svc, servicePort: p.first, protocol: p.targetProtocol, at: p.at})
	out := model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: own}, Weight: action.Value.BaseServiceWeight}}}
	if action.Value.Sticky != nil {
		out.Stickiness = &model.TargetGroupStickiness{Enabled: action.Value.Sticky}
	}
	if len(action.Value.Targets) > 0 && t.opt.NoWeightedTargetGroups {
		t.holdListener(p, action.Origin.Field, finding.FeatureDisabled, "several target groups in one action are disabled", "ask the operator to enable feature gate WeightedTargetGroups, or remove the other target groups from the action")
		return out, false
	}
	for i, to := range action.Value.Targets {
		ref, found := t.weightedTargetGroup(p, to, finding.Origin{Object: p.owner.Ref, Field: action.Origin.Field}, i)
		ok = ok && found
		out.Groups = append(out.Groups, model.WeightedTargetGroup{Group: ref, Weight: new(to.Weight)})
	}
	if ok && len(out.Groups) > 1 && out.AreWeightsZero() {
		t.Found.Add(finding.NewAllWeightsZeroFinding(finding.Origin{Object: p.owner.Ref, Field: action.Origin.Field}, "new connections are closed"))
	}
	return out, ok
}

// weightedTargetGroup returns the target group for to, which is entry i of a weighted forward. It returns false, and holds
// the listener, if the entry cannot be used.
func (t *translation) weightedTargetGroup(p *port, to settings.NetworkTarget, at finding.Origin, i int) (model.TargetGroupRef, bool) {
	if to.ARN != "" {
		return model.TargetGroupRef{ARN: to.ARN}, true
	}
	entry := fmt.Sprintf("targetGroups[%d]", i)
	svc := p.owner.svc
	if to.Service != svc.Name {
		other, ok := cluster.GetReferenced[*corev1.Service](t.view, svc, cluster.KindService, svc.Namespace, to.Service)
		if !ok {
			t.holdListener(p, at.Field, finding.BackendNotFound, fmt.Sprintf("%s names Service %q, which does not exist", entry, svc.Namespace+"/"+finding.TruncateValue(to.Service)), "create the Service, or correct serviceName")
			return model.TargetGroupRef{}, false
		}
		svc = other
	}
	found := assemble.ServicePort(svc, to.Port)
	if found == nil {
		t.holdListener(p, at.Field, finding.BackendPortNotFound, fmt.Sprintf("%s names port %q, which Service %s/%s does not have", entry, finding.TruncateValue(to.Port.String()), svc.Namespace, svc.Name), "use a port number or, in quotes, a port name of the Service")
		return model.TargetGroupRef{}, false
	}
	a := target{port: p, svc: svc, servicePort: found, protocol: p.ListenPort().Protocol(), at: at}
	if p.TLS {
		a.protocol = p.targetProtocol
		if to.Decrypt != nil {
			a.protocol = map[bool]string{true: "TCP", false: "TLS"}[*to.Decrypt]
		}
	}
	if svc == p.owner.svc {
		if found.Port == p.Number {
			t.holdListener(p, at.Field, finding.AnnotationInvalid, entry+" names the port of the Service itself; set its weight with baseServiceWeight", "remove the entry")
			return model.TargetGroupRef{}, false
		}
		for _, own := range p.owner.ports {
			if own.Number == found.Port {
				a.protocol = own.targetProtocol
			}
		}
	} else if t.sharesTargetGroup(a) {
		a.protocol = string(model.TCPUDP)
	}
	id, ok := t.targetGroup(a)
	return model.TargetGroupRef{ID: id}, ok
}

// target is a port of a Service to which a listener forwards.
type target struct {
	port        *port
	svc         *corev1.Service
	servicePort *corev1.ServicePort
	protocol    string
	at          finding.Origin
}

// sharesTargetGroup reports whether the existing listener of a TCP port or a UDP port forwards to the TCP_UDP target group
// that a TCP_UDP port of the Service has for the same backend. AWS Load Balancer Controller has only one target group for
// both ports, and a takeover must not change it. Other ports get target groups with their own protocols, because it is not
// known whether AWS accepts a TCP_UDP target group in one action with the target group of the Service.
func (t *translation) sharesTargetGroup(a target) bool {
	p := a.port
	mayServe := p.BaseProtocol == model.TCP && !p.TLS || p.BaseProtocol == model.UDP
	if !mayServe || !slices.ContainsFunc(p.owner.ports, func(o *port) bool { return o.BaseProtocol == model.TCPUDP && o.mayForwardTo(a) }) {
		return false
	}
	t.Stack.Contested = true // the result depends on the existing listener
	live := t.LiveLoadBalancer().ListenerOnPort(p.Number)
	if live == nil || live.Protocol != string(p.BaseProtocol) {
		return false
	}
	id := t.targetGroupID(a)
	return slices.ContainsFunc(model.ForwardedTargetGroups(live.Default), func(to model.WeightedTargetGroup) bool {
		return slices.ContainsFunc(t.Live.TargetGroups, func(g observed.TargetGroup) bool {
			return g.ARN == to.Group.ARN && g.ResourceID == id && g.Protocol == string(model.TCPUDP)
		})
	})
}

// mayForwardTo reports whether the action of a port names the backend of target a, or is not valid. If the action is not
// valid, the existing listener is held, and may forward to the backend.
func (p *port) mayForwardTo(a target) bool {
	action := p.owner.set.Actions[p.ListenPort().Key()]
	return action.Check() != nil || slices.ContainsFunc(action.Value.Targets, func(to settings.NetworkTarget) bool {
		return to.Service == a.svc.Name && assemble.ServicePort(a.svc, to.Port) == a.servicePort
	})
}

// targetGroup returns the handle of the target group for a target, for use in actions; false if the target group has a
// fault. A backend has a target group for each protocol that the listeners of a Service need. The first one gets the usual
// resource ID.
func (t *translation) targetGroup(a target) (handle string, ok bool) {
	key := assemble.TargetGroupKey{Owner: a.port.owner.Ref, Service: a.svc.Name, Port: intstr.FromInt32(a.servicePort.Port)}
	if first, known := t.firstProtocols[key]; !known {
		t.firstProtocols[key] = a.protocol
	} else if first != a.protocol {
		key.Variant = a.protocol
	}
	handle, ok = t.targetGroups.Request(key, func() *model.TargetGroup { return t.buildTargetGroup(a) })
	if !ok {
		a.port.held = true
	}
	return handle, ok
}

// targetGroupID returns the resource ID of the target group for a target, unless the backend has several target groups.
func (t *translation) targetGroupID(a target) string {
	id := naming.ServiceTargetGroupID(a.svc.Namespace, a.svc.Name, a.servicePort.Port)
	if t.shared && a.svc != a.port.owner.svc {
		// The ID must differ from that of the target group for the same Service as a weighted backend of another Service.
		return naming.DistinctID(id, a.port.owner.Ref.String())
	}
	return id
}

func (t *translation) buildTargetGroup(a target) *model.TargetGroup {
	m, number := a.port.owner, intstr.FromInt32(a.servicePort.Port)
	set := m.set.Target
	faults := append(set.Faults(), settings.NonNilFaults(set.PortAttributes[number.String()].Check())...)
	for _, f := range faults {
		t.Found.Add(f.Finding(finding.BlocksListener))
	}
	if len(faults) > 0 {
		return nil
	}
	g, found := assemble.NewTargetGroup(assemble.TargetGroupRequest{
		Kind: t.ID.Kind, Service: a.svc, Port: number, Settings: set.TargetGroup, Protocol: a.protocol, BasicHealthChecks: t.opt.BasicHealthChecks,
		DefaultType: t.opt.DefaultTargetType, NoIPTargets: t.opt.NoIPTargets && !set.UsesNLBIPType(), LoadBalancerAddressType: t.Stack.LoadBalancer.AddressType, Origin: a.at,
	})
	for _, x := range found {
		x.Blocks = finding.BlocksListener
		t.Found.Add(x)
	}
	if len(found) > 0 {
		return nil
	}
	var preserved bool
	g.Attributes, preserved = targetGroupAttributes(set, a.servicePort.Port, g.Type)
	g.ID = t.targetGroupID(a)
	name := naming.ServiceTargetGroup{
		Cluster: t.opt.Cluster, Backend: cluster.RefOf(a.svc), BackendUID: string(a.svc.UID), Port: g.Port, ServicePort: a.servicePort.Port, Type: g.Type, Protocol: g.Protocol,
		HealthProtocol: g.HealthCheck.Protocol, HealthInterval: g.HealthCheck.IntervalSeconds,
	}
	if a.svc != m.svc {
		name.BaseUID = string(m.svc.UID)
	}
	if t.shared {
		// The name must differ from that of the target group on a load balancer that only this Service uses.
		name.BaseUID = t.ID.String() + name.BaseUID
	}
	g.Name = name.Name()
	g.Tags = t.WithDefaultTags(m.Tags)
	g.Members = []finding.Ref{m.Ref}
	r := assemble.BindingRequest{
		TargetGroup: g, Namespace: a.svc.Namespace, Service: a.svc.Name, Port: number, NodeLabels: set.NodeLabels.Value,
		MultiCluster: set.MultiCluster.ValueOr(false), Peer: t.Peer, OpenAllPorts: t.opt.UnrestrictedRules,
	}
	if t.RulesByAddress {
		clients := clientRanges(a.svc, m)
		switch f := clients.Check(); {
		case f != nil:
			if !m.Blocked { // otherwise the fault of the member is reported
				t.Found.Add(f.Finding(finding.BlocksListener))
			}
			return nil
		case len(clients.Value) > assemble.MaxSecurityGroupRules:
			t.limitClientRanges(a, len(clients.Value))
			return nil
		}
		r.Clients = &assemble.Clients{Ranges: clients.Value, Internal: t.EffectiveScheme(t.Stack.LoadBalancer) == model.Internal, PreservesClientIP: preserved}
	}
	g.Binding = assemble.NewBinding(r)
	return &g.TargetGroup
}

// clientRanges returns the client address ranges of the backend svc: the ranges in its own spec, otherwise those of owner,
// the Service that has the load balancer. If svc is another Service, only the annotation of owner is used, not its spec.
func clientRanges(svc *corev1.Service, owner *member) settings.Opt[[]string] {
	if svc == owner.svc {
		return owner.set.InboundCIDRs
	}
	if own := svc.Spec.LoadBalancerSourceRanges; len(own) > 0 {
		if ranges, err := settings.ParseCIDRValues(own); err == nil {
			own = ranges
		}
		return settings.NewOpt(own, finding.Origin{}) // with a range that is not valid, the binding is refused
	}
	if o := owner.set.InboundCIDRs; o.Origin.Field != sourceRangesField {
		return o
	}
	return settings.ParseLoadBalancerService(owner.svc.Annotations, owner.Ref).InboundCIDRs
}
