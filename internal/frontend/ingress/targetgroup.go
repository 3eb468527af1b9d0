package ingress

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// groupKey names a target group of a stack without ambiguity.
type groupKey struct {
	ingress finding.Ref
	service string
	port    intstr.IntOrString
}

func (k groupKey) compare(o groupKey) int {
	return cmp.Or(k.ingress.Compare(o.ingress), cmp.Compare(k.service, o.service), cmp.Compare(k.port.String(), o.port.String()), cmp.Compare(k.port.Type, o.port.Type))
}

// targetGroup is one that rules asked for; group is nil if it could not be built.
type targetGroup struct {
	key groupKey
	// handle stands for the id in actions until ids are settled.
	handle string
	group  *model.TargetGroup
}

// group builds the target group of a Service port, once per stack. nil if it is at fault.
func (t *translation) group(m *member, svc *corev1.Service, port intstr.IntOrString, at finding.Origin) *targetGroup {
	key := groupKey{ingress: m.Ref, service: svc.Name, port: port}
	if g, ok := t.groups[key]; ok {
		if g.group == nil {
			// The fault is one of each rule that uses the group.
			t.buildGroup(m, svc, port, at)
			return nil
		}
		return g
	}
	g := &targetGroup{key: key, handle: strconv.Itoa(len(t.groups)), group: t.buildGroup(m, svc, port, at)}
	t.groups[key] = g
	if g.group == nil {
		return nil
	}
	return g
}

func (t *translation) buildGroup(m *member, svc *corev1.Service, port intstr.IntOrString, at finding.Origin) *model.TargetGroup {
	ref := finding.Ref{Kind: "Service", Namespace: svc.Namespace, Name: svc.Name}
	own := t.backend(svc)
	s := own.Target.Over(m.set.Target)
	// What the class says wins over both, readable or not.
	s.Type = settings.First(m.set.Class.TargetType, s.Type)
	g, found := assemble.TargetGroup(assemble.GroupRequest{
		Kind: t.ID.Kind, Service: svc, Port: port, Settings: s, DefaultType: t.opt.DefaultTargetType,
		NoIPTargets: t.opt.NoIPTargets, ControlPort: s.ControlPorts[svc.Name+"."+port.String()],
		LoadBalancer: t.Stack.LoadBalancer.AddressType, Origin: at,
	})
	if f := own.Tags.Check(); f != nil {
		found.Add(f.Finding(finding.BlocksRule))
	}
	if len(found) > 0 {
		t.Found.Add(found...)
		return nil
	}
	g.ID = naming.IngressTargetGroupID(m.Ref.Namespace, m.Ref.Name, svc.Name, port.String())
	g.Name = naming.IngressTargetGroup{
		Cluster: t.opt.Cluster, Stack: t.ID, Ingress: m.Ref, Service: ref, ServiceUID: string(svc.UID), ServicePort: port.String(),
		Port: g.Port, Type: g.Type, Protocol: g.Protocol, Version: g.ProtocolVersion, ControlPort: g.ControlPort,
	}.Name()
	// The tags of a member are those of its class over its own; a Service's stand between them.
	g.Tags = t.WithDefaults(assemble.Overlay(m.Tags, t.Allowed(m.Member, own.Tags.Value, own.Tags.Origin), m.ClassTags))
	g.Members = []finding.Ref{m.Ref}
	g.Binding = assemble.Binding(assemble.BindingRequest{
		Group: g, Namespace: svc.Namespace, Service: svc.Name, Port: port, NodeLabels: s.NodeLabels.Value,
		MultiCluster: s.MultiCluster.Or(false), Peer: t.Peer, AllPorts: t.opt.UnrestrictedRules,
	})
	return &g.TargetGroup
}

// backend reads the annotations of a Service, once per stack.
func (t *translation) backend(svc *corev1.Service) settings.Backend {
	ref := finding.Ref{Kind: "Service", Namespace: svc.Namespace, Name: svc.Name}
	if b, ok := t.backends[ref]; ok {
		return b
	}
	b := settings.ParseService(svc.Annotations, ref)
	t.backends[ref] = b
	return b
}

// finishGroups gives the target groups their ids and puts these into the actions. Two groups
// whose parts are divided differently can spell the same id ("a"+"b-c", "a-b"+"c"): the first in
// order keeps it and the others get one of their own.
func (t *translation) finishGroups() {
	var all []*targetGroup
	for _, g := range t.groups {
		if g.group != nil {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b *targetGroup) int { return a.key.compare(b.key) })
	taken := map[string]bool{}
	ids := map[string]string{}
	for _, g := range all {
		if taken[g.group.ID] {
			g.group.ID = naming.DistinctID(g.group.ID, g.key.ingress.String(), g.key.service, g.key.port.String())
		}
		taken[g.group.ID] = true
		ids[g.handle] = g.group.ID
		t.Stack.TargetGroups = append(t.Stack.TargetGroups, *g.group)
	}
	slices.SortFunc(t.Stack.TargetGroups, func(a, b model.TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	for i := range t.Stack.LoadBalancer.Listeners {
		l := &t.Stack.LoadBalancer.Listeners[i]
		settle(l.Default, ids)
		rules := l.Rules
		if l.Covered != nil {
			rules = l.Covered // which have the actions of l.Rules among theirs
		}
		for j := range rules {
			settle(rules[j].Actions, ids)
		}
	}
}

func settle(actions []model.Action, ids map[string]string) {
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for i := range f.Groups {
			if id := f.Groups[i].Group.ID; id != "" {
				f.Groups[i].Group.ID = ids[id]
			}
		}
	}
}
