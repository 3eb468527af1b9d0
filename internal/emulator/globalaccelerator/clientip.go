package globalaccelerator

import (
	"slices"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// preservesClientIP reports whether an endpoint preserves client IP addresses, or returns an error if the setting in the
// request is not possible. asked is the value in the request, or nil for the default of the resource type. dual is true if
// the accelerator is dual-stack.
func (t endpointResource) preservesClientIP(asked *bool, dual bool) (bool, error) {
	switch {
	case t.address != nil:
		return false, nil
	case t.instance != nil:
		if asked != nil && !*asked {
			return false, invalidArgumentError(store.UnprovenSource, "ClientIPPreservation must be enabled for the instance: %s", t.id)
		}
		return true, t.checkInternetGateway(t.instance.VPCID)
	case t.lb.IsALB():
		if asked != nil && !*asked && t.isInternal() {
			return false, invalidArgumentError(store.UnprovenSource, "ClientIPPreservation must be enabled for internal facing application load balancer: %s", t.id)
		}
		if asked != nil && !*asked {
			return false, nil
		}
		return true, t.checkInternetGateway(t.lb.VPC)
	}
	return t.nlbPreservesClientIP(asked, dual)
}

func (t endpointResource) isInternal() bool {
	return t.lb.Scheme == elbtypes.LoadBalancerSchemeEnumInternal
}

func (t endpointResource) nlbPreservesClientIP(asked *bool, dual bool) (bool, error) {
	impossible := t.checkNLBClientIPPreservation(dual)
	switch {
	case t.isInternal() && asked != nil && !*asked:
		return false, invalidArgumentError(store.UnprovenSource, "ClientIPPreservation must be enabled for internal facing network load balancer: %s", t.id)
	case impossible != nil && (t.isInternal() || asked != nil && *asked):
		return false, impossible
	case impossible != nil || asked != nil && !*asked:
		return false, nil
	}
	return true, t.checkInternetGateway(t.lb.VPC)
}

// checkNLBClientIPPreservation returns an error if the NLB does not support client IP preservation. dual is true if the
// accelerator is dual-stack.
func (t endpointResource) checkNLBClientIPPreservation(dual bool) error {
	if len(t.lb.SecurityGroups) == 0 {
		return invalidArgumentError(store.UnprovenSource, "ClientIPPreservation is not supported for the network load balancer without security groups: %s", t.id)
	}
	if !dual && t.lb.Addressing != elbtypes.IpAddressTypeIpv4 {
		return invalidArgumentError(store.UnprovenSource, "ClientIPPreservation is not supported for the dual-stack network load balancer of an IPV4 accelerator: %s", t.id)
	}
	for _, l := range t.partition.ELB.Listeners {
		if l.LoadBalancer == t.lb.ARN && l.Protocol == elbtypes.ProtocolEnumTls {
			return invalidArgumentError(store.UnprovenSource, "ClientIPPreservation is not supported for the network load balancer with TLS listeners: %s", t.id)
		}
	}
	for _, g := range t.targetGroups() {
		elsewhere := func(x *store.Target) bool { return g.Type == elbtypes.TargetTypeEnumIp && x.Zone == store.ZoneAll }
		if g.VPC != t.lb.VPC || slices.ContainsFunc(g.Targets, elsewhere) {
			return invalidArgumentError(store.UnprovenSource, "ClientIPPreservation is not supported for the network load balancer with targets outside of its VPC: %s", t.id)
		}
		if g.Addressing == elbtypes.TargetGroupIpAddressTypeEnumIpv6 {
			return invalidArgumentError(store.UnprovenSource, "ClientIPPreservation is not supported for the network load balancer that translates IPv4 to IPv6: %s", t.id)
		}
	}
	return nil
}

// checkInternetGateway returns an error if the VPC has no internet gateway, which client IP preservation needs.
func (t endpointResource) checkInternetGateway(vpc string) error {
	for _, g := range t.partition.InternetGateways {
		if g.VPCID == vpc {
			return nil
		}
	}
	return invalidArgumentError(store.UnprovenSource, "The VPC '%s' of endpoint '%s' has no internet gateway, which ClientIPPreservation needs", vpc, t.id)
}

// subnetIDs returns the subnets of a load balancer or an instance.
func (t endpointResource) subnetIDs() []string {
	var out []string
	if t.instance != nil {
		out = append(out, t.instance.SubnetID)
	}
	if t.lb != nil {
		for _, z := range t.lb.Zones {
			out = append(out, z.Subnet)
		}
	}
	return out
}
