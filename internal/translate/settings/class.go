package settings

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// WithClass returns the settings with the class parameters p. Most parameters replace a whole annotation, including its
// faults. The other parameters are stored in the field Class. If p is nil, the settings are returned unchanged.
func (in Ingress) WithClass(p *v1beta1.IngressClassParams) Ingress {
	if p == nil {
		return in
	}
	return in.withParams(p)
}

// withParams implements WithClass for parameters that are not nil. It is a separate function because it copies the large
// settings to the heap, which is not needed for Ingresses without class parameters.
func (in Ingress) withParams(p *v1beta1.IngressClassParams) Ingress {
	c := classOverlay{in: &in, object: finding.Ref{Kind: "IngressClassParams", Name: p.Name}}
	s := p.Spec
	in.Class = Class{Origin: c.origin("")}
	if s.Group != nil {
		in.GroupName = NewOpt(s.Group.Name, c.origin("spec.group.name"))
	}
	if s.LoadBalancerName != "" {
		replaceSetting(c, "load-balancer-name", "spec.loadBalancerName", maxBytesParser(32), s.LoadBalancerName, &in.Name)
	}
	if s.Scheme != nil {
		replaceSetting(c, "scheme", "spec.scheme", EnumParser(model.Internal, model.InternetFacing), string(*s.Scheme), &in.Scheme)
	}
	if s.IPAddressType != nil {
		replaceSetting(c, "ip-address-type", "spec.ipAddressType", EnumParser(model.IPv4, model.DualStack, model.DualStackWithoutPublicIPv4), string(*s.IPAddressType), &in.AddressType)
	}
	if len(s.CertificateArn) > 0 {
		in.Certificates = NewOpt(slices.Clone(s.CertificateArn), c.origin("spec.certificateArn"))
	}
	if s.SSLPolicy != "" {
		in.SSLPolicy = NewOpt(s.SSLPolicy, c.origin("spec.sslPolicy"))
	}
	if s.SSLRedirectPort != "" {
		replaceSetting(c, "ssl-redirect", "spec.sslRedirectPort", ParseInt, s.SSLRedirectPort, &in.SSLRedirect)
	}
	c.replaceClientRanges(s)
	c.replaceSubnets(s.Subnets)
	c.addTagsAndAttributes(s)
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

// WithoutClassSettings returns the settings without those that class parameters can replace, without the settings of
// requested certificates, and without faults. It is for an Ingress whose class parameters are not known: annotations that
// the parameters may replace must not take effect.
func (in Ingress) WithoutClassSettings() Ingress {
	in.GroupName, in.Tags, in.faults = Opt[string]{}, Opt[map[string]string]{}, nil
	in.LoadBalancer = LoadBalancer{SecurityGroups: in.SecurityGroups, ManageBackendRules: in.ManageBackendRules, CoIPPool: in.CoIPPool}
	in.Listeners = Listeners{ListenPorts: in.ListenPorts, MutualAuth: in.MutualAuth}
	in.Target.Type = Opt[model.TargetType]{}
	in.WAFv2ARN, in.WAFv2Name = Opt[string]{}, Opt[string]{}
	return in
}

// classOverlay replaces settings of the Ingress in by class parameters. object is the IngressClassParams object.
type classOverlay struct {
	in     *Ingress
	object finding.Ref
}

func (c classOverlay) origin(field string) finding.Origin {
	return finding.Origin{Object: c.object, Field: field}
}

// replaceSetting parses raw, the value of the class parameter at path field, and stores the result in at. It removes the
// fault of annotation key. A class parameter that is not valid holds the member, like an annotation that is not valid.
func replaceSetting[T any](c classOverlay, key, field string, parse func(string) (T, error), raw string, at *Opt[T]) {
	c.in.dropFault(key)
	*at = parseSetting(parse, raw, c.origin(field))
	c.in.faults = append(c.in.faults, NonNilFaults(at.Check())...)
}

// replaceClientRanges replaces the annotations for address ranges and prefix lists of clients by class parameters.
func (c classOverlay) replaceClientRanges(s v1beta1.IngressClassParamsSpec) {
	if len(s.InboundCIDRs) > 0 {
		from := c.origin("spec.inboundCIDRs")
		c.in.dropFault("inbound-cidrs")
		c.in.InboundCIDRs = NewOpt[[]string](nil, from)
		for _, cidr := range s.InboundCIDRs {
			one := parseSetting(parseOneCIDR, cidr, from)
			if one.Fault != nil {
				// No range is used, not even the valid ones, because the operator did not intend the valid ranges alone.
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

// parseOneCIDR is like ParseCIDRs, but requires exactly one address range.
func parseOneCIDR(raw string) ([]string, error) {
	ranges, err := ParseCIDRs(raw)
	if err == nil && len(ranges) != 1 {
		err = errors.New("must be a single address range")
	}
	return ranges, err
}

// replaceSubnets replaces the annotation for subnets by the subnet selector of the class parameters.
func (c classOverlay) replaceSubnets(s *v1beta1.SubnetSelector) {
	if s == nil {
		return
	}
	if err := checkSubnetSelector(s); err != nil {
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

// checkSubnetSelector returns an error if a selector has neither ids nor tags, or both; otherwise nil.
func checkSubnetSelector(s *v1beta1.SubnetSelector) error {
	switch {
	case len(s.IDs) > 0 && len(s.Tags) > 0:
		return errors.New("the selector has both ids and tags; only one of them is allowed")
	case len(s.IDs) == 0 && len(s.Tags) == 0:
		return errors.New("the selector has neither ids nor tags")
	}
	return nil
}

// addTagsAndAttributes stores the tags and attributes of the class parameters in Class. Each has precedence over the same
// key in an annotation. If a listener is listed several times, the first entry is used.
func (c classOverlay) addTagsAndAttributes(s v1beta1.IngressClassParamsSpec) {
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

// replaceWebACL replaces both web ACL annotations if the class parameters set a web ACL by ARN or by name, so that users
// cannot remove the web ACL of the class.
func (c classOverlay) replaceWebACL(s v1beta1.IngressClassParamsSpec) {
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
