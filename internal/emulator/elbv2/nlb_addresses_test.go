package elbv2_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

// associateIPv6Blocks associates an IPv6 CIDR block with each subnet, and returns these blocks.
func (r *harness) associateIPv6Blocks() []netip.Prefix {
	r.t.Helper()
	vpc := must(r.ec2.DescribeVpcs(r.ctx, &ec2.DescribeVpcsInput{VpcIds: []string{r.vpc}}))(r.t).Vpcs[0]
	block := *vpc.Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock
	var out []netip.Prefix
	for i, s := range r.subnets {
		text := strings.Replace(block, "00::/56", fmt.Sprintf("0%d::/64", i), 1)
		must(r.ec2.AssociateSubnetCidrBlock(r.ctx, &ec2.AssociateSubnetCidrBlockInput{SubnetId: &s, Ipv6CidrBlock: &text}))(r.t)
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// sourceNATPrefixes returns the source NAT prefixes of the zones, in the order of the subnets.
func (r *harness) sourceNATPrefixes(zones []types.AvailabilityZone) []string {
	bySubnet := map[string][]string{}
	for _, z := range zones {
		bySubnet[*z.SubnetId] = z.SourceNatIpv6Prefixes
	}
	var out []string
	for _, s := range r.subnets {
		out = append(out, bySubnet[s]...)
	}
	return out
}

func TestSourceNATPrefixes(t *testing.T) {
	r := newHarness(t)
	blocks := r.associateIPv6Blocks()
	at := func(n int, after string) *string {
		text := strings.TrimSuffix(blocks[n].Masked().Addr().String(), "::") + ":" + after
		return &text
	}
	create := func(name string, m ...types.SubnetMapping) (types.LoadBalancer, error) {
		for i := range m {
			m[i].SubnetId = &r.subnets[i]
		}
		out, err := r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
			Name: &name, Type: "network", IpAddressType: "dualstack", SubnetMappings: m, EnablePrefixForIpv6SourceNat: "on",
		})
		if err != nil {
			return types.LoadBalancer{}, err
		}
		return out.LoadBalancers[0], nil
	}
	free := must(create("free", types.SubnetMapping{}, types.SubnetMapping{SourceNatIpv6Prefix: aws.String("auto_assigned")}))(t)
	got := r.sourceNATPrefixes(free.AvailabilityZones)
	if len(got) != 2 {
		t.Fatalf("prefixes %v", got)
	}
	for i, text := range got {
		if p := netip.MustParsePrefix(text); p.Bits() != 80 || !blocks[i].Contains(p.Addr()) {
			t.Errorf("prefix %s is not one of %s", text, blocks[i])
		}
	}
	again := must(create("free", types.SubnetMapping{SourceNatIpv6Prefix: aws.String("auto_assigned")}, types.SubnetMapping{}))(t)
	if *again.LoadBalancerArn != *free.LoadBalancerArn {
		t.Error("a repeated CreateLoadBalancer created a second load balancer")
	}
	_, err := create("taken", types.SubnetMapping{SourceNatIpv6Prefix: &got[0]})
	checkError(t, err, "InvalidConfigurationRequest", "in use by another load balancer")
	_, err = create("wide", types.SubnetMapping{SourceNatIpv6Prefix: at(0, "5::/72")})
	checkError(t, err, "InvalidConfigurationRequest", "a /80 of the subnet")
	given := must(create("given", types.SubnetMapping{SourceNatIpv6Prefix: at(0, "5::/80")}))(t)
	if d := cmp.Diff([]string{*at(0, "5::/80")}, r.sourceNATPrefixes(given.AvailabilityZones)); d != "" {
		t.Errorf("prefixes (-want +got):\n%s", d)
	}

	set := func(in elb.SetSubnetsInput) ([]string, error) {
		in.LoadBalancerArn = free.LoadBalancerArn
		out, err := r.elb.SetSubnets(r.ctx, &in)
		if err != nil {
			return nil, err
		}
		return r.sourceNATPrefixes(out.AvailabilityZones), nil
	}
	mapped := []types.SubnetMapping{{SubnetId: &r.subnets[0], SourceNatIpv6Prefix: at(0, "7::/80")}, {SubnetId: &r.subnets[1]}}
	if d := cmp.Diff([]string{*at(0, "7::/80"), got[1]}, must(set(elb.SetSubnetsInput{SubnetMappings: mapped}))(t)); d != "" {
		t.Errorf("changed prefixes (-want +got):\n%s", d)
	}
	must(r.createNLBListener(free, 53, "UDP", r.createTargetGroup("udp", withProtocol("UDP"))))(t)
	_, err = set(elb.SetSubnetsInput{Subnets: r.subnets[:2], EnablePrefixForIpv6SourceNat: "off"})
	checkError(t, err, "InvalidConfigurationRequest", "UDP listeners")
	must(r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: must(r.elb.DescribeListeners(r.ctx, &elb.DescribeListenersInput{LoadBalancerArn: free.LoadBalancerArn}))(t).Listeners[0].ListenerArn}))(t)
	if left := must(set(elb.SetSubnetsInput{Subnets: r.subnets[:2], EnablePrefixForIpv6SourceNat: "off"}))(t); len(left) != 0 {
		t.Errorf("source NAT prefixes %v remain", left)
	}
	_, err = set(elb.SetSubnetsInput{SubnetMappings: mapped})
	checkError(t, err, "InvalidConfigurationRequest", "'EnablePrefixForIpv6SourceNat' is 'on'")
	r.checkState()
}

func TestIPv6AddressInUse(t *testing.T) {
	r := newHarness(t)
	blocks := r.associateIPv6Blocks()
	address := strings.TrimSuffix(blocks[0].Masked().Addr().String(), "::") + "::77"
	create := func(name string, kind types.IpAddressType, address *string) types.LoadBalancer {
		return must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
			Name: &name, Type: "network", IpAddressType: kind,
			SubnetMappings: []types.SubnetMapping{{SubnetId: &r.subnets[0], IPv6Address: address}},
		}))(t).LoadBalancers[0]
	}
	first := create("first", "dualstack", &address)
	if got := aws.ToString(first.AvailabilityZones[0].LoadBalancerAddresses[0].IPv6Address); got != address {
		t.Errorf("address %s, want %s", got, address)
	}
	if got := create("clash", "dualstack", &address); got.State.Code != types.LoadBalancerStateEnumFailed {
		t.Errorf("a load balancer with an address in use has state %s, want failed", got.State.Code)
	}
	later := create("later", "ipv4", nil)
	_, err := r.elb.SetSubnets(r.ctx, &elb.SetSubnetsInput{
		LoadBalancerArn: later.LoadBalancerArn, IpAddressType: "dualstack",
		SubnetMappings: []types.SubnetMapping{{SubnetId: &r.subnets[0], IPv6Address: &address}},
	})
	checkError(t, err, "InvalidConfigurationRequest", "is in use")
	r.checkState()
}

func TestTargetGroupIsAttachedToOnlyOneNLB(t *testing.T) {
	r := newHarness(t)
	one, two, g := r.createNLB("one"), r.createNLB("two"), r.createTargetGroup("tcp", withProtocol("TCP"))
	must(r.createNLBListener(one, 80, "TCP", g))(t)
	must(r.createNLBListener(one, 81, "TCP", g))(t)
	_, err := r.createNLBListener(two, 80, "TCP", g)
	checkError(t, err, "TargetGroupAssociationLimit", *g.TargetGroupArn)
	r.checkState()
}

func TestQUICNeedsLoadBalancerWithoutSecurityGroups(t *testing.T) {
	r := newHarness(t)
	_, err := r.createNLBListener(r.createNLB("grouped", r.securityGroupID), 443, "QUIC", r.createTargetGroup("quic", withProtocol("QUIC")))
	checkError(t, err, "InvalidConfigurationRequest", "security groups")
	_, err = r.createNLBListener(r.createNLB("both", r.securityGroupID), 443, "TCP_QUIC", r.createTargetGroup("both", withProtocol("TCP_QUIC")))
	checkError(t, err, "InvalidConfigurationRequest", "security groups")
}
