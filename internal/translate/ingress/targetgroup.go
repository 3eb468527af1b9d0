package ingress

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// targetGroup returns the handle of the target group for a Service port, for use in actions; false if the target group has a
// fault.
func (t *translation) targetGroup(m *member, svc *corev1.Service, port intstr.IntOrString, at finding.Origin) (handle string, ok bool) {
	key := assemble.TargetGroupKey{Owner: m.Ref, Service: svc.Name, Port: port}
	return t.targetGroups.Request(key, func() *model.TargetGroup { return t.buildTargetGroup(m, svc, port, at) })
}

func (t *translation) buildTargetGroup(m *member, svc *corev1.Service, port intstr.IntOrString, at finding.Origin) *model.TargetGroup {
	own := t.backendSettings(svc)
	s := own.Target.WithDefaults(m.set.Target)
	// The target type of the class has precedence over those of the Service and the Ingress, even if it is not valid.
	s.Type = settings.FirstPresent(m.set.Class.TargetType, s.Type)
	g, found := assemble.NewTargetGroup(assemble.TargetGroupRequest{
		Kind: t.ID.Kind, Service: svc, Port: port, Settings: s, DefaultType: t.opt.DefaultTargetType,
		NoIPTargets: t.opt.NoIPTargets, ControlPort: s.ControlPorts[svc.Name+"."+port.String()],
		LoadBalancerAddressType: t.Stack.LoadBalancer.AddressType, Origin: at,
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
		Cluster: t.opt.Cluster, Stack: t.ID, Ingress: m.Ref, Service: cluster.RefOf(svc), ServiceUID: string(svc.UID), ServicePort: port.String(),
		Port: g.Port, Type: g.Type, Protocol: g.Protocol, Version: g.ProtocolVersion, ControlPort: g.ControlPort,
	}.Name()
	g.Tags = t.TargetGroupTags(m.Member, cluster.RefOf(svc), t.AllowedTags(m.Member, own.Tags.Value, own.Tags.Origin))
	g.Members = []finding.Ref{m.Ref}
	g.Binding = assemble.NewBinding(assemble.BindingRequest{
		TargetGroup: g, Namespace: svc.Namespace, Service: svc.Name, Port: port, NodeLabels: s.NodeLabels.Value,
		MultiCluster: s.MultiCluster.ValueOr(false), Peer: t.Peer, OpenAllPorts: t.opt.UnrestrictedRules,
	})
	return &g.TargetGroup
}

// backendSettings returns the settings in the annotations of a Service. They are parsed once for each stack.
func (t *translation) backendSettings(svc *corev1.Service) settings.Backend {
	ref := cluster.RefOf(svc)
	if b, ok := t.backends[ref]; ok {
		return b
	}
	b := settings.ParseService(svc.Annotations, ref)
	t.backends[ref] = b
	return b
}
