package elbv2

import (
	"slices"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// maxSecurityGroups is the maximum number of security groups of a load balancer.
const maxSecurityGroups = 5

// checkSecurityGroups returns an error unless a load balancer in the VPC can have the security groups with the IDs in
// groups.
func checkSecurityGroups(p *store.Partition, vpc string, groups []string) error {
	for _, id := range groups {
		sg := p.SecurityGroups[id]
		if sg == nil {
			return store.Errorf(store.UnprovenSource, "InvalidSecurityGroup", "Security group '%s' does not exist", id)
		}
		if sg.VPCID != vpc {
			return configurationError(store.ReportSource("pulumi/pulumi-awsx#816"), "Security group '%s' does not belong to VPC '%s'", id, vpc)
		}
	}
	if len(groups) > maxSecurityGroups {
		return configurationError(store.UnprovenSource, "You cannot specify more than '%d' security groups", maxSecurityGroups)
	}
	return nil
}

// SetSecurityGroups replaces the security groups of a load balancer and of the ENIs of its nodes.
func (s *loadBalancers) SetSecurityGroups(c *store.Call, in *elb.SetSecurityGroupsInput) (*elb.SetSecurityGroupsOutput, error) {
	enforce := in.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic
	var sh validation
	sh.checkPresent("loadBalancerArn", in.LoadBalancerArn != nil)
	sh.checkPresent("securityGroups", in.SecurityGroups != nil)
	checkEnum(&sh, "enforceSecurityGroupInboundRulesOnPrivateLinkTraffic", enforce, enforce.Values())
	if err := sh.err(); err != nil {
		return nil, err
	}
	p := c.Partition
	lb, err := findLoadBalancer(c.Partition.ELB, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	if !lb.IsALB() && !lb.CreatedWithSecurityGroups {
		return nil, configurationError(store.ReportSource("kubernetes-sigs/cluster-api-provider-aws#4790"), "You cannot set security groups on a Network Load Balancer which was created without any security groups.")
	}
	if lb.IsALB() && enforce != "" {
		return nil, configurationError(store.UnprovenSource, "'EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic' is not supported for load balancers with type 'application'")
	}
	groups := withoutDuplicates(in.SecurityGroups)
	if len(groups) == 0 {
		return nil, configurationError(store.UnprovenSource, "At least one security group must be specified")
	}
	if err := checkSecurityGroups(p, lb.VPC, groups); err != nil {
		return nil, err
	}
	lb.SecurityGroups = groups
	if enforce != "" {
		lb.EnforcePrivateLink = string(enforce)
	}
	for _, z := range lb.Zones {
		p.SetENISecurityGroups(z.ENI, groups)
	}
	return &elb.SetSecurityGroupsOutput{
		SecurityGroupIds: store.Shuffle(s.store, slices.Clone(groups)),
		EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic: types.EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum(lb.EnforcePrivateLink),
	}, nil
}

// SetIpAddressType changes the IP address type of a load balancer.
func (s *loadBalancers) SetIpAddressType(c *store.Call, in *elb.SetIpAddressTypeInput) (*elb.SetIpAddressTypeOutput, error) {
	var sh validation
	sh.checkPresent("loadBalancerArn", in.LoadBalancerArn != nil)
	sh.checkPresent("ipAddressType", in.IpAddressType != "")
	checkEnum(&sh, "ipAddressType", in.IpAddressType, in.IpAddressType.Values())
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	lb, err := findLoadBalancer(st, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	if in.IpAddressType != lb.Addressing {
		if err := s.checkNewAddressing(p, st, lb, in.IpAddressType, lb.Zones, lb.PrefixForSourceNAT); err != nil {
			return nil, err
		}
		lb.Addressing = in.IpAddressType
		if err := s.assignAddresses(p, lb); err != nil {
			return nil, err
		}
		assignSourceNAT(p, lb)
	}
	return &elb.SetIpAddressTypeOutput{IpAddressType: lb.Addressing}, nil
}

// checkNewAddressing returns an error if the load balancer cannot change its IP address type to want. zones and prefix are
// the zones and the setting EnablePrefixForIpv6SourceNat after the change.
func (s *loadBalancers) checkNewAddressing(p *store.Partition, st *store.ELBState, lb *store.LoadBalancer, want types.IpAddressType, zones []store.LoadBalancerZone, prefix types.EnablePrefixForIpv6SourceNatEnum) error {
	if err := checkAddressing(p, lb, want, zones); err != nil {
		return err
	}
	if want == types.IpAddressTypeIpv4 {
		for _, g := range st.TargetGroups {
			if g.LoadBalancer == lb.ARN && g.Addressing == types.TargetGroupIpAddressTypeEnumIpv6 {
				return configurationError(store.UnprovenSource, "The IP address type cannot be 'ipv4' while the target group '%s' with IP address type 'ipv6' is in use", g.ARN)
			}
		}
		return nil
	}
	for _, l := range listenersOf(st, lb.ARN) {
		udp := l.Protocol == types.ProtocolEnumUdp || l.Protocol == types.ProtocolEnumTcpUdp
		if udp && prefix != types.EnablePrefixForIpv6SourceNatEnumOn || isQUIC(l.Protocol) {
			return configurationError(store.UnprovenSource, "You cannot set IP address type '%s' on a load balancer with %s listeners", want, l.Protocol)
		}
	}
	return nil
}

func isQUIC(p types.ProtocolEnum) bool {
	return p == types.ProtocolEnumQuic || p == types.ProtocolEnumTcpQuic
}

// ModifyIpPools sets or removes the IPAM pool from which an ALB gets its public IPv4 addresses.
func (s *loadBalancers) ModifyIpPools(c *store.Call, in *elb.ModifyIpPoolsInput) (*elb.ModifyIpPoolsOutput, error) {
	var sh validation
	sh.checkPresent("loadBalancerArn", in.LoadBalancerArn != nil)
	if in.IpamPools != nil {
		sh.checkLength("ipamPools.ipv4IpamPoolId", in.IpamPools.Ipv4IpamPoolId, 0, 1000)
		sh.checkPattern("ipamPools.ipv4IpamPoolId", in.IpamPools.Ipv4IpamPoolId, ipamPoolPattern)
	}
	for _, r := range in.RemoveIpamPools {
		checkEnum(&sh, "removeIpamPools", r, r.Values())
	}
	if err := sh.err(); err != nil {
		return nil, err
	}
	lb, err := findLoadBalancer(c.Partition.ELB, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	if !lb.IsALB() {
		return nil, configurationError(store.UnprovenSource, "IPAM pools are not supported for load balancers with type 'network'")
	}
	set := in.IpamPools != nil && in.IpamPools.Ipv4IpamPoolId != nil
	if set && len(in.RemoveIpamPools) > 0 {
		return nil, validationError(store.UnprovenSource, "You cannot set and remove an IPAM pool in one call")
	}
	if set {
		lb.IPAMPool = *in.IpamPools.Ipv4IpamPoolId
	}
	if len(in.RemoveIpamPools) > 0 {
		lb.IPAMPool = ""
	}
	return &elb.ModifyIpPoolsOutput{IpamPools: ipamPools(lb)}, nil
}

func ipamPools(lb *store.LoadBalancer) *types.IpamPools {
	if lb.IPAMPool == "" {
		return nil
	}
	return &types.IpamPools{Ipv4IpamPoolId: new(lb.IPAMPool)}
}
