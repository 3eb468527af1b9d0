package elbv2_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func TestQuotas(t *testing.T) {
	r := newHarness(t)
	lb, net := r.createALB("app"), r.createNLB("net")
	web, more, tcp := r.createTargetGroup("web"), r.createTargetGroup("more"), r.createTargetGroup("tcp", withProtocol("TCP"))
	l := r.createListener(lb.LoadBalancerArn, 80, forwardActions(web.TargetGroupArn))
	must(r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
		LoadBalancerArn: net.LoadBalancerArn, Port: aws.Int32(80), Protocol: "TCP", DefaultActions: forwardActions(tcp.TargetGroupArn),
	}))(t)
	if err := r.registerTargets(web, targetWithID("10.0.0.50"), targetAt("10.0.0.50", 81)); err != nil {
		t.Fatal(err)
	}
	if err := r.registerTargets(more, targetWithID("10.0.0.51")); err != nil {
		t.Fatal(err)
	}
	attach := func() error {
		_, err := r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Conditions: pathConditions("/a"), Actions: forwardActions(more.TargetGroupArn)})
		return err
	}
	listen := func() error {
		_, err := r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(81), Protocol: "HTTP", DefaultActions: fixedResponseActions("404")})
		return err
	}
	group := func() error {
		_, err := r.elb.CreateTargetGroup(r.ctx, r.targetGroupInput("one-more"))
		return err
	}
	store := func() error {
		_, err := r.elb.CreateTrustStore(r.ctx, &elb.CreateTrustStoreInput{Name: aws.String("s"), CaCertificatesBundleS3Bucket: aws.String("b"), CaCertificatesBundleS3Key: aws.String("k")})
		return err
	}
	tests := []struct {
		quota string
		most  int
		do    func() error
		code  string
	}{
		{"listeners-per-application-load-balancer", 1, listen, "TooManyListeners"},
		{"target-groups", 3, group, "TooManyTargetGroups"},
		{"targets-per-application-load-balancer", 2, func() error { return r.registerTargets(web, targetWithID("10.0.0.52")) }, "TooManyTargets"},
		{"targets-per-application-load-balancer", 2, attach, "TooManyTargets"},
		{"target-id-registrations-per-application-load-balancer", 2, func() error { return r.registerTargets(web, targetAt("10.0.0.50", 82)) }, "TooManyRegistrationsForTargetId"},
		{"targets-per-network-load-balancer", 0, func() error { return r.registerTargets(tcp, targetWithID("10.0.0.50")) }, "TooManyTargets"},
		{"targets-per-availability-zone-per-network-load-balancer", 0, func() error { return r.registerTargets(tcp, targetWithID("10.0.0.50")) }, "TooManyTargets"},
		{"trust-stores-per-account", 0, store, "TooManyTrustStores"},
		{"target-groups-per-action-on-application-load-balancer", 0, attach, "TooManyTargetGroups"},
	}
	for _, tt := range tests {
		t.Run(tt.quota, func(t *testing.T) {
			r.em.Store().Config.Quotas[tt.quota] = tt.most
			defer delete(r.em.Store().Config.Quotas, tt.quota)
			checkError(t, tt.do(), tt.code, "")
		})
	}
	if err := attach(); err != nil {
		t.Error("CreateRule fails with the default quotas:", err)
	}
}

func TestIPAddressTypesAndIPAMPools(t *testing.T) {
	r := newHarness(t)
	vpc := must(r.ec2.DescribeVpcs(r.ctx, &ec2.DescribeVpcsInput{VpcIds: []string{r.vpc}}))(t).Vpcs[0]
	block := *vpc.Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock
	for i, s := range r.subnets {
		must(r.ec2.AssociateSubnetCidrBlock(r.ctx, &ec2.AssociateSubnetCidrBlockInput{
			SubnetId: &s, Ipv6CidrBlock: aws.String(strings.Replace(block, "00::/56", fmt.Sprintf("0%d::/64", i), 1)),
		}))(t)
	}
	app, net := r.createALB("app"), r.createNLB("net")
	set := func(lb types.LoadBalancer, kind types.IpAddressType) error {
		_, err := r.elb.SetIpAddressType(r.ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: lb.LoadBalancerArn, IpAddressType: kind})
		return err
	}
	for _, kind := range []types.IpAddressType{"dualstack", "dualstack", "dualstack-without-public-ipv4", "ipv4", "dualstack"} {
		if err := set(app, kind); err != nil {
			t.Fatal(kind, err)
		}
	}
	checkError(t, set(net, "dualstack-without-public-ipv4"), "InvalidConfigurationRequest", "")
	udp := r.createTargetGroup("udp", withProtocol("UDP"))
	must(r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
		LoadBalancerArn: net.LoadBalancerArn, Port: aws.Int32(53), Protocol: "UDP", DefaultActions: forwardActions(udp.TargetGroupArn),
	}))(t)
	checkError(t, set(net, "dualstack"), "InvalidConfigurationRequest", "UDP listeners")
	six := r.createTargetGroup("six", func(in *elb.CreateTargetGroupInput) { in.IpAddressType = "ipv6" })
	r.createListener(app.LoadBalancerArn, 80, forwardActions(six.TargetGroupArn))
	checkError(t, set(app, "ipv4"), "InvalidConfigurationRequest", "ipv6")

	pools := func(lb types.LoadBalancer, pool *string, remove ...types.RemoveIpamPoolEnum) (*elb.ModifyIpPoolsOutput, error) {
		in := &elb.ModifyIpPoolsInput{LoadBalancerArn: lb.LoadBalancerArn, RemoveIpamPools: remove}
		if pool != nil {
			in.IpamPools = &types.IpamPools{Ipv4IpamPoolId: pool}
		}
		return r.elb.ModifyIpPools(r.ctx, in)
	}
	pool := aws.String("ipam-pool-0123456789abcdef0")
	if out := must(pools(app, pool))(t); *out.IpamPools.Ipv4IpamPoolId != *pool {
		t.Errorf("pools %+v", out.IpamPools)
	}
	if out := must(pools(app, nil, types.RemoveIpamPoolEnumIpv4))(t); out.IpamPools != nil {
		t.Errorf("pools %+v", out.IpamPools)
	}
	_, err := pools(net, pool)
	checkError(t, err, "InvalidConfigurationRequest", "network")
	_, err = pools(app, aws.String("pool"))
	checkError(t, err, "ValidationError", "regular expression pattern")
	r.checkState()
}

func TestNetworkLoadBalancerAddresses(t *testing.T) {
	r := newHarness(t)
	eip := must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{Domain: "vpc"}))(t)
	mapping := []types.SubnetMapping{{SubnetId: &r.subnets[0], AllocationId: eip.AllocationId}}
	out := must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("public"), Type: "network", SubnetMappings: mapping}))(t).LoadBalancers[0]
	address := out.AvailabilityZones[0].LoadBalancerAddresses[0]
	if *address.AllocationId != *eip.AllocationId || *address.IpAddress != *eip.PublicIp {
		t.Errorf("address %+v", address)
	}
	_, err := r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("second"), Type: "network", SubnetMappings: mapping})
	checkError(t, err, "ResourceInUse", "not available for use")
	inside := []types.SubnetMapping{{SubnetId: &r.subnets[0], PrivateIPv4Address: aws.String("10.0.0.77")}}
	private := func(name string) types.LoadBalancer {
		return must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: &name, Type: "network", Scheme: "internal", SubnetMappings: inside}))(t).LoadBalancers[0]
	}
	if got := private("inside"); *got.AvailabilityZones[0].LoadBalancerAddresses[0].PrivateIPv4Address != "10.0.0.77" {
		t.Errorf("zones %+v", got.AvailabilityZones)
	}
	if got := private("clash"); got.State.Code != types.LoadBalancerStateEnumFailed {
		t.Errorf("a load balancer with an address in use has state %s, want failed", got.State.Code)
	}
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: out.LoadBalancerArn}))(t)
	must(r.ec2.ReleaseAddress(r.ctx, &ec2.ReleaseAddressInput{AllocationId: eip.AllocationId}))(t)
	r.checkState()
}
