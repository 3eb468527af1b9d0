package settings

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// WithClass overlays class parameters on the annotations: a parameter that is set replaces the whole annotation,
// including its faults.
func (in Ingress) WithClass(p *v1beta1.IngressClassParams) Ingress {
	if p == nil {
		return in
	}
	return in.withParams(p)
}

// withParams implements WithClass for parameters that are not nil. It is a separate function because it copies the large
// settings to the heap, which WithClass avoids for Ingresses without class parameters.
func (in Ingress) withParams(p *v1beta1.IngressClassParams) Ingress {
	c := overlay{in: &in, object: finding.Ref{Kind: "IngressClassParams", Name: p.Name}}
	s := p.Spec
	in.Class = Class{Origin: c.origin("")}
	if s.Group != nil {
		in.GroupName = NewOpt(s.Group.Name, c.origin("spec.group.name"))
	}
	if s.LoadBalancerName != "" {
		replace(c, "load-balancer-name", "spec.loadBalancerName", maxBytes(32), s.LoadBalancerName, &in.Name)
	}
	if s.Scheme != nil {
		replace(c, "scheme", "spec.scheme", Enum(model.Internal, model.InternetFacing), string(*s.Scheme), &in.Scheme)
	}
	if s.IPAddressType != nil {
		replace(c, "ip-address-type", "spec.ipAddressType", Enum(model.IPv4, model.DualStack, model.DualStackWithoutPublicIPv4), string(*s.IPAddressType), &in.AddressType)
	}
	if len(s.CertificateArn) > 0 {
		in.Certificates = NewOpt(slices.Clone(s.CertificateArn), c.origin("spec.certificateArn"))
	}
	if s.SSLPolicy != "" {
		in.SSLPolicy = NewOpt(s.SSLPolicy, c.origin("spec.sslPolicy"))
	}
	if s.SSLRedirectPort != "" {
		replace(c, "ssl-redirect", "spec.sslRedirectPort", Int, s.SSLRedirectPort, &in.SSLRedirect)
	}
	c.replaceClientRanges(s)
	c.replaceSubnets(s.Subnets)
	c.addKeyValues(s)
	if s.TargetType != nil {
		in.Class.TargetType = NewOpt(model.TargetType(*s.TargetType), c.origin("spec.targetType"))
	}
	if s.MinimumLoadBalancerCapacity != nil {
		in.Class.Capacity = new(s.MinimumLoadBalancerCapacity.CapacityUnits)
	}
	if s.IPAMConfiguration != nil && s.IPAMConfiguration.IPv4IPAMPoolId != nil {
		in.Class.IPAMPool = *s.IPAMConfiguration.IPv4IPAMPoolId
	}
	c.replaceWebACL(s)
	return in
}

// WithoutClass returns the settings without those that class parameters can replace. It is for an Ingress whose class
// parameters cannot be read, because annotations that the parameters may override must not take effect.
func (in Ingress) WithoutClass() Ingress {
	in.GroupName, in.Tags, in.faults = Opt[string]{}, Opt[map[string]string]{}, nil
	in.LoadBalancer = LoadBalancer{SecurityGroups: in.SecurityGroups, ManageBackendRules: in.ManageBackendRules, CoIPPool: in.CoIPPool}
	in.Listeners = Listeners{ListenPorts: in.ListenPorts, MutualAuth: in.MutualAuth}
	in.Target.Type = Opt[model.TargetType]{}
	in.WAFv2ARN, in.WAFv2Name = Opt[string]{}, Opt[string]{}
	return in
}

// overlay has the settings that a call of WithClass changes, and the IngressClassParams that replace them.
type overlay struct {
	in     *Ingress
	object finding.Ref
}

func (c overlay) origin(field string) finding.Origin {
	return finding.Origin{Object: c.object, Field: field}
}

// replace sets a setting from a class parameter instead of an annotation. A class parameter that is not valid holds the
// member, like an annotation that is not valid.
func replace[T any](c overlay, key, field string, parse func(string) (T, error), raw string, at *Opt[T]) {
	c.in.dropFault(key)
	*at = parsed(parse, raw, c.origin(field))
	c.in.faults = append(c.in.faults, Faults(at.Check())...)
}

// replaceClientRanges replaces the annotations for address ranges and prefix lists of clients.
func (c overlay) replaceClientRanges(s v1beta1.IngressClassParamsSpec) {
	if len(s.InboundCIDRs) > 0 {
		from := c.origin("spec.inboundCIDRs")
		c.in.dropFault("inbound-cidrs")
		c.in.InboundCIDRs = NewOpt[[]string](nil, from)
		for _, cidr := range s.InboundCIDRs {
			one := parsed(parseOneCIDR, cidr, from)
			if one.Fault != nil {
				// Without this range, the remaining ranges would not be what the operator intended.
				c.in.InboundCIDRs = one
				c.in.faults = append(c.in.faults, *one.Check())
				break
			}
			c.in.InboundCIDRs.Value = append(c.in.InboundCIDRs.Value, one.Value...)
		}
	}
	lists, field := s.PrefixListsIDs, "spec.prefixListsIDs"
	if len(lists) == 0 {
		lists, field = s.PrefixListsIDsLegacy, "spec.PrefixListsIDs"
	}
	if len(lists) > 0 {
		c.in.PrefixLists = NewOpt(slices.Clone(lists), c.origin(field))
	}
}

// parseOneCIDR reads CIDRs with exactly one address range.
func parseOneCIDR(raw string) ([]string, error) {
	ranges, err := CIDRs(raw)
	if err == nil && len(ranges) != 1 {
		err = errors.New("must be a single address range")
	}
	return ranges, err
}

// replaceSubnets replaces the annotation for subnets with the subnet selector of the class.
func (c overlay) replaceSubnets(s *v1beta1.SubnetSelector) {
	if s == nil {
		return
	}
	if err := selectorFault(s); err != nil {
		// Without a valid selector, subnets would be discovered, which is not what the operator intended.
		from := c.origin("spec.subnets")
		c.in.Subnets = Opt[[]string]{Fault: err, Origin: from}
		c.in.faults = append(c.in.faults, Fault{Origin: from, Err: err})
		return
	}
	for _, id := range s.IDs {
		c.in.Class.SubnetIDs = append(c.in.Class.SubnetIDs, string(id))
	}
	c.in.Class.SubnetTags = s.Tags
	c.in.Subnets = Opt[[]string]{}
}

// selectorFault returns the reason why a selector does not choose subnets in exactly one way.
func selectorFault(s *v1beta1.SubnetSelector) error {
	switch {
	case len(s.IDs) > 0 && len(s.Tags) > 0:
		return errors.New("the selector has both ids and tags; only one of them is allowed")
	case len(s.IDs) == 0 && len(s.Tags) == 0:
		return errors.New("the selector has neither ids nor tags")
	}
	return nil
}

// addKeyValues sets the tags and attributes of the class, which replace single keys of annotations.
func (c overlay) addKeyValues(s v1beta1.IngressClassParamsSpec) {
	c.in.Class.Tags = map[string]string{}
	for _, t := range s.Tags {
		c.in.Class.Tags[t.Key] = t.Value
	}
	c.in.Class.Attributes = map[string]string{}
	for _, a := range s.LoadBalancerAttributes {
		c.in.Class.Attributes[a.Key] = a.Value
	}
	c.in.Class.ListenerAttributes = map[string]map[string]string{}
	for _, l := range s.Listeners {
		key := fmt.Sprintf("%s-%d", l.Protocol, l.Port)
		if _, seen := c.in.Class.ListenerAttributes[key]; seen {
			continue
		}
		attrs := map[string]string{}
		for _, a := range l.ListenerAttributes {
			attrs[a.Key] = a.Value
		}
		c.in.Class.ListenerAttributes[key] = attrs
	}
}

// replaceWebACL replaces both web ACL annotations if the class sets a web ACL by ARN or by name, so that users cannot
// remove the web ACL of the class.
func (c overlay) replaceWebACL(s v1beta1.IngressClassParamsSpec) {
	if s.WAFv2ACLArn == "" && s.WAFv2ACLName == "" {
		return
	}
	c.in.WAFv2ARN, c.in.WAFv2Name = Opt[string]{}, Opt[string]{}
	if s.WAFv2ACLName != "" {
		c.in.WAFv2Name = NewOpt(s.WAFv2ACLName, c.origin("spec.wafv2AclName"))
		return
	}
	c.in.WAFv2ARN = NewOpt(s.WAFv2ACLArn, c.origin("spec.wafv2AclArn"))
}
