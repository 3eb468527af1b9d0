package kube

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// desiredBinding returns the desired TargetGroupBinding of the step p. known has the IDs of the target group and of the
// security groups in networking rules. It returns an error if the target group or one of the security groups does not exist
// yet.
func desiredBinding(p plan.PutBinding, known plan.KnownIDs) (*elbv2.TargetGroupBinding, error) {
	arn := known[p.Group]
	if arn == "" {
		return nil, fmt.Errorf("%s does not exist yet", p.Group)
	}
	typ, protocol, address := elbv2.TargetType(p.Type), elbv2.Protocol(p.Protocol), elbv2.TargetGroupIPAddressType(p.Address)
	b := &elbv2.TargetGroupBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Binding.Namespace, Name: p.Binding.Name, Labels: maps.Clone(p.Labels), Annotations: maps.Clone(p.Binding.Annotations)},
		Spec: elbv2.TargetGroupBindingSpec{
			TargetGroupARN:          arn,
			MultiClusterTargetGroup: p.Binding.MultiCluster,
			TargetType:              &typ,
			ServiceRef:              elbv2.ServiceReference{Name: p.Binding.Service, Port: p.Binding.Port},
			NodeSelector:            p.Binding.NodeSelector.DeepCopy(),
			VpcID:                   p.VPC,
		},
	}
	if protocol != "" {
		b.Spec.TargetGroupProtocol = &protocol
	}
	if address != "" {
		b.Spec.IPAddressType = &address
	}
	if p.Existing != nil {
		b.Namespace, b.Name = p.Existing.Namespace, p.Existing.Name
	}
	if !p.Binding.Managed {
		return b, nil
	}
	b.Spec.Networking = &elbv2.TargetGroupBindingNetworking{}
	for _, r := range p.Binding.Networking {
		rule, err := desiredRule(r, p, known)
		if err != nil {
			return nil, err
		}
		b.Spec.Networking.Ingress = append(b.Spec.Networking.Ingress, rule)
	}
	return b, nil
}

// desiredRule returns the desired networking rule of a TargetGroupBinding for r, a rule of the step p.
func desiredRule(r model.BindingRule, p plan.PutBinding, known plan.KnownIDs) (elbv2.NetworkingIngressRule, error) {
	rule := elbv2.NetworkingIngressRule{From: []elbv2.NetworkingPeer{}, Ports: []elbv2.NetworkingPort{}}
	for _, peer := range r.From {
		if peer.CIDR != "" {
			rule.From = append(rule.From, elbv2.NetworkingPeer{IPBlock: &elbv2.IPBlock{CIDR: peer.CIDR}})
			continue
		}
		address := p.BackendSecurityGroup
		if peer.ManagedSecurityGroup {
			address = p.ManagedSecurityGroup
		}
		id := known[address]
		if id == "" {
			return rule, fmt.Errorf("%s does not exist yet", address)
		}
		rule.From = append(rule.From, elbv2.NetworkingPeer{SecurityGroup: &elbv2.SecurityGroup{GroupID: id}})
	}
	for _, port := range r.Ports {
		protocol := elbv2.NetworkingProtocol(port.Protocol)
		out := elbv2.NetworkingPort{Protocol: &protocol}
		if port.Port != nil {
			n := *port.Port
			out.Port = &n
		}
		rule.Ports = append(rule.Ports, out)
	}
	return rule, nil
}

// observedBinding converts a TargetGroupBinding to the form of the observed state, with which a plan compares the desired
// state.
func observedBinding(b *elbv2.TargetGroupBinding) observed.Binding {
	out := observed.Binding{
		Namespace: b.Namespace, Name: b.Name,
		ARN: b.Spec.TargetGroupARN, VPC: b.Spec.VpcID,
		Service: model.Binding{
			Namespace: b.Namespace, Name: b.Name,
			Service: b.Spec.ServiceRef.Name, Port: b.Spec.ServiceRef.Port,
			NodeSelector: b.Spec.NodeSelector, MultiCluster: b.Spec.MultiClusterTargetGroup,
		},
		HasNetworking: b.Spec.Networking != nil,
		Created:       b.CreationTimestamp.Time,
		Deleting:      b.DeletionTimestamp != nil,
		Labels:        b.Labels,
		Annotations:   withoutCheckpoint(b.Annotations),
	}
	if t := b.Spec.TargetType; t != nil {
		out.Type = model.TargetType(*t)
	}
	if p := b.Spec.TargetGroupProtocol; p != nil {
		out.Protocol = string(*p)
	}
	if a := b.Spec.IPAddressType; a != nil {
		out.AddressType = model.AddressType(*a)
	}
	if b.Spec.Networking == nil {
		return out
	}
	for _, r := range b.Spec.Networking.Ingress {
		var rule observed.BindingRule
		for _, p := range r.From {
			if p.SecurityGroup != nil {
				rule.SecurityGroups = append(rule.SecurityGroups, p.SecurityGroup.GroupID)
			}
			if p.IPBlock != nil {
				cidr := p.IPBlock.CIDR
				if c, err := network.CanonicalCIDR(cidr); err == nil {
					cidr = c // converted, because aws-load-balancer-controller writes ranges in the form that users have chosen
				}
				rule.CIDRs = append(rule.CIDRs, cidr)
			}
		}
		for _, p := range r.Ports {
			port := model.PeerPort{Protocol: string(defaultPortProtocol)}
			if p.Protocol != nil {
				port.Protocol = string(*p.Protocol)
			}
			if p.Port != nil {
				n := *p.Port
				port.Port = &n
			}
			rule.Ports = append(rule.Ports, port)
		}
		out.Networking = append(out.Networking, rule)
	}
	return out
}

// withoutCheckpoint returns annotations without the checkpoint annotations. The checkpoint changes with each pod, and a
// change of the checkpoint requires no comparison of the stack.
func withoutCheckpoint(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	delete(out, targets.CheckpointAnnotation)
	delete(out, targets.CheckpointTimeAnnotation)
	return out
}

// defaultPortProtocol is the protocol of a networking port without a protocol.
const defaultPortProtocol elbv2.NetworkingProtocol = "TCP"

// mergeBinding sets the spec, labels and annotations of want in the stored binding live, and retains other labels and
// annotations. It reports whether live has changed. same reports whether two specs are equal.
func mergeBinding(live, want *elbv2.TargetGroupBinding, same func(a, b any) bool) bool {
	changed := false
	merge := func(into *map[string]string, from map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(from)) {
			if v, ok := (*into)[k]; ok && v == from[k] {
				continue
			}
			if *into == nil {
				*into = map[string]string{}
			}
			(*into)[k] = from[k]
			changed = true
		}
	}
	merge(&live.Labels, want.Labels)
	merge(&live.Annotations, want.Annotations)
	if !same(live.Spec, want.Spec) {
		live.Spec = *want.Spec.DeepCopy()
		changed = true
	}
	return changed
}
