package elbv2_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

// createNLBListener creates a listener of an NLB that forwards to target groups. Several target groups get the weights 10,
// 20, and so on. A TLS listener gets a new certificate.
func (r *harness) createNLBListener(lb types.LoadBalancer, port int32, p types.ProtocolEnum, groups ...types.TargetGroup) (types.Listener, error) {
	in := &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: &port, Protocol: p}
	if len(groups) == 1 {
		in.DefaultActions = forwardActions(groups[0].TargetGroupArn)
	} else {
		in.DefaultActions = weightedForwardActions(groups...)
	}
	if p == types.ProtocolEnumTls {
		in.Certificates = []types.Certificate{{CertificateArn: aws.String(r.importCertificate(true, "tls.example.com"))}}
	}
	out, err := r.elb.CreateListener(r.ctx, in)
	if err != nil {
		return types.Listener{}, err
	}
	return out.Listeners[0], nil
}

func weightedForwardActions(groups ...types.TargetGroup) []types.Action {
	config := &types.ForwardActionConfig{}
	for i, g := range groups {
		config.TargetGroups = append(config.TargetGroups, types.TargetGroupTuple{TargetGroupArn: g.TargetGroupArn, Weight: aws.Int32(int32(10 * (i + 1)))})
	}
	return []types.Action{{Type: types.ActionTypeEnumForward, ForwardConfig: config}}
}

func TestCreateNLB(t *testing.T) {
	r := newHarness(t)
	lb := r.createNLB("Net", r.securityGroupID)
	hex := (*lb.LoadBalancerArn)[strings.LastIndex(*lb.LoadBalancerArn, "/")+1:]
	if want := "Net-" + hex + ".elb.us-west-2.amazonaws.com"; *lb.DNSName != want || !strings.Contains(*lb.LoadBalancerArn, ":loadbalancer/net/Net/") {
		t.Errorf("DNS name %s, want %s; ARN %s", *lb.DNSName, want, *lb.LoadBalancerArn)
	}
	if aws.ToString(lb.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic) != "on" {
		t.Errorf("PrivateLink rules %v", lb.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic)
	}
	if bare := r.createNLB("bare"); bare.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic != nil || len(bare.SecurityGroups) != 0 {
		t.Errorf("an NLB without security groups reads back %+v", bare)
	}
	if again := r.createNLB("Net", r.securityGroupID); *again.LoadBalancerArn != *lb.LoadBalancerArn {
		t.Error("a repeated CreateLoadBalancer created a second load balancer")
	}
	single := must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("single"), Type: "network", Subnets: r.subnets[:1]}))(t).LoadBalancers[0]
	if len(single.AvailabilityZones) != 1 {
		t.Errorf("zones %+v", single.AvailabilityZones)
	}
	for _, e := range r.loadBalancerENIs("net/Net/", 2) {
		if e.InterfaceType != ec2types.NetworkInterfaceTypeNetworkLoadBalancer || len(e.Groups) != 1 || !aws.ToBool(e.RequesterManaged) {
			t.Errorf("ENI %+v", e)
		}
	}
	r.checkState()
}

// loadBalancerENIs returns the ENIs whose description begins with "ELB " and the parameter, such as "ELB net/web/". It reports
// a test error if their number is not want.
func (r *harness) loadBalancerENIs(description string, want int) []ec2types.NetworkInterface {
	r.t.Helper()
	var out []ec2types.NetworkInterface
	for _, e := range must(r.ec2.DescribeNetworkInterfaces(r.ctx, &ec2.DescribeNetworkInterfacesInput{}))(r.t).NetworkInterfaces {
		if strings.HasPrefix(aws.ToString(e.Description), "ELB "+description) {
			out = append(out, e)
		}
	}
	if len(out) != want {
		r.t.Errorf("%d ENIs of %s, want %d", len(out), description, want)
	}
	return out
}

func TestCreateNetworkLoadBalancerRefusals(t *testing.T) {
	r := newHarness(t)
	eip := must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{Domain: "vpc"}))(t)
	r.em.Store().Config.ELB.UnsupportedNLBZones = []string{"us-west-2c"}
	at := func(m ...types.SubnetMapping) func(*elb.CreateLoadBalancerInput) {
		return func(in *elb.CreateLoadBalancerInput) {
			for i := range m {
				m[i].SubnetId = &r.subnets[i]
			}
			in.Subnets, in.SubnetMappings = nil, m
		}
	}
	internal := func(edit func(*elb.CreateLoadBalancerInput)) func(*elb.CreateLoadBalancerInput) {
		return func(in *elb.CreateLoadBalancerInput) { in.Scheme = "internal"; edit(in) }
	}
	tests := map[string]struct {
		edit          func(in *elb.CreateLoadBalancerInput)
		code, message string
	}{
		"Elastic IP address for one of two subnets": {at(types.SubnetMapping{AllocationId: eip.AllocationId}, types.SubnetMapping{}), "InvalidConfigurationRequest", "for all subnets or for none"},
		"same Elastic IP address twice":             {at(types.SubnetMapping{AllocationId: eip.AllocationId}, types.SubnetMapping{AllocationId: eip.AllocationId}), "ResourceInUse", "not available for use"},
		"Elastic IP and private address": {at(types.SubnetMapping{AllocationId: eip.AllocationId, PrivateIPv4Address: aws.String("10.0.0.9")}),
			"InvalidConfigurationRequest", "both"},
		"private address for one of two subnets": {internal(at(types.SubnetMapping{PrivateIPv4Address: aws.String("10.0.0.9")}, types.SubnetMapping{})),
			"InvalidConfigurationRequest", "for all subnets or for none"},
		"private address of another subnet": {internal(at(types.SubnetMapping{PrivateIPv4Address: aws.String("10.0.16.9")})), "InvalidConfigurationRequest", "not in the range"},
		"IPv6 address without IPv6":         {at(types.SubnetMapping{IPv6Address: aws.String("fd00::1")}), "InvalidConfigurationRequest", "IPv6"},
		"zone without NLBs":                 {func(in *elb.CreateLoadBalancerInput) { in.Subnets = r.subnets }, "AvailabilityZoneNotSupported", "not supported in us-west-2c"},
		"dual-stack without public IPv4": {func(in *elb.CreateLoadBalancerInput) { in.IpAddressType = "dualstack-without-public-ipv4" },
			"InvalidSubnet", "IPv6"},
		"prefix without dual stack": {func(in *elb.CreateLoadBalancerInput) { in.EnablePrefixForIpv6SourceNat = "on" },
			"InvalidConfigurationRequest", "IpAddressType 'dualstack'"},
		"IPAM pool": {func(in *elb.CreateLoadBalancerInput) {
			in.IpamPools = &types.IpamPools{Ipv4IpamPoolId: aws.String("ipam-pool-0123456789abcdef0")}
		}, "InvalidConfigurationRequest", "network"},
		"unknown security group": {func(in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-0123456789abcdef0"} }, "InvalidSecurityGroup", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &elb.CreateLoadBalancerInput{Name: aws.String("net"), Type: "network", Subnets: r.subnets[:2]}
			tt.edit(in)
			_, err := r.elb.CreateLoadBalancer(r.ctx, in)
			checkError(t, err, tt.code, tt.message)
		})
	}
	r.loadBalancerENIs("net/", 0)
	r.em.Store().Config.Quotas["network-load-balancer-enis-per-vpc"] = 1
	in := &elb.CreateLoadBalancerInput{Name: aws.String("net"), Type: "network", Subnets: r.subnets[:2]}
	_, err := r.elb.CreateLoadBalancer(r.ctx, in)
	checkError(t, err, "InvalidConfigurationRequest", "network interfaces")
	r.associateIPv6Blocks()
	in.IpAddressType = "dualstack-without-public-ipv4"
	_, err = r.elb.CreateLoadBalancer(r.ctx, in)
	checkError(t, err, "InvalidConfigurationRequest", "only supported for internet-facing load balancers with type 'application'")
	r.checkState()
}

func TestNetworkLoadBalancerSubnets(t *testing.T) {
	r := newHarness(t)
	twin := r.createSubnet("a", "10.0.64.0/20")
	first := must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{Domain: "vpc"}))(t)
	second := must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{Domain: "vpc"}))(t)
	lb := must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("net"), Type: "network", SubnetMappings: []types.SubnetMapping{{SubnetId: &r.subnets[0], AllocationId: first.AllocationId}},
	}))(t).LoadBalancers[0]
	set := func(m ...types.SubnetMapping) (*elb.SetSubnetsOutput, error) {
		return r.elb.SetSubnets(r.ctx, &elb.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, SubnetMappings: m})
	}
	have := types.SubnetMapping{SubnetId: &r.subnets[0], AllocationId: first.AllocationId}
	_, err := set(types.SubnetMapping{SubnetId: &r.subnets[0], AllocationId: second.AllocationId})
	checkError(t, err, "InvalidConfigurationRequest", "cannot be changed")
	_, err = set(types.SubnetMapping{SubnetId: &twin, AllocationId: second.AllocationId})
	checkError(t, err, "InvalidConfigurationRequest", "already associated with the load balancer")
	_, err = set(have, types.SubnetMapping{SubnetId: &r.subnets[1]})
	checkError(t, err, "InvalidConfigurationRequest", "for all subnets or for none")
	out := must(set(have, types.SubnetMapping{SubnetId: &r.subnets[1], AllocationId: second.AllocationId}))(t)
	if len(out.AvailabilityZones) != 2 {
		t.Errorf("zones %+v", out.AvailabilityZones)
	}
	must(set(types.SubnetMapping{SubnetId: &r.subnets[1], AllocationId: second.AllocationId}))(t)
	must(r.ec2.ReleaseAddress(r.ctx, &ec2.ReleaseAddressInput{AllocationId: first.AllocationId}))(t) // the NLB has released the address
	must(r.elb.SetSubnets(r.ctx, &elb.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, Subnets: r.subnets[1:2]}))(t)
	_, err = r.ec2.ReleaseAddress(r.ctx, &ec2.ReleaseAddressInput{AllocationId: second.AllocationId})
	if err == nil {
		t.Error("an elastic IP in use was released")
	}
	r.checkState()
}

func TestSecondaryAddresses(t *testing.T) {
	r := newHarness(t)
	lb := r.createNLB("net")
	set := func(n string) error {
		_, err := r.elb.ModifyLoadBalancerAttributes(r.ctx, &elb.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: lb.LoadBalancerArn,
			Attributes:      []types.LoadBalancerAttribute{{Key: aws.String("secondary_ips.auto_assigned.per_subnet"), Value: &n}},
		})
		return err
	}
	if err := set("2"); err != nil {
		t.Fatal(err)
	}
	for _, e := range r.loadBalancerENIs("net/net/", 2) {
		if len(e.PrivateIpAddresses) != 3 {
			t.Errorf("%d private addresses, want 3", len(e.PrivateIpAddresses))
		}
	}
	checkError(t, set("1"), "InvalidConfigurationRequest", "cannot be decreased")
	checkError(t, set("8"), "ValidationError", "'0-7'")
	r.checkState()
}

func TestNetworkListenerProtocols(t *testing.T) {
	r := newHarness(t)
	lb := r.createNLB("net")
	groups := map[string]types.TargetGroup{"ALB": r.createTargetGroup("behind", withProtocol("TCP"), withTargetType("alb")), "HTTP": r.createTargetGroup("web")}
	for _, p := range []types.ProtocolEnum{"TCP", "TLS", "UDP", "TCP_UDP", "QUIC", "TCP_QUIC"} {
		groups[string(p)] = r.createTargetGroup(strings.ReplaceAll(string(p), "_", ""), withProtocol(p))
	}
	fit := map[types.ProtocolEnum][]string{
		"TCP": {"ALB", "TCP", "TCP_UDP"}, "TLS": {"TCP", "TLS"}, "UDP": {"TCP_UDP", "UDP"}, "TCP_UDP": {"TCP_UDP"},
		"QUIC": {"QUIC", "TCP_QUIC"}, "TCP_QUIC": {"TCP_QUIC"},
	}
	for p, want := range fit {
		var got []string
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			l, err := r.createNLBListener(lb, 9000, p, groups[name])
			if err != nil {
				checkError(t, err, "IncompatibleProtocols", *groups[name].TargetGroupArn)
				continue
			}
			got = append(got, name)
			must(r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: l.ListenerArn}))(t)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("compatible target groups of a %s listener (-want +got):\n%s", p, d)
		}
	}
	if _, err := r.createNLBListener(lb, 53, "TCP", groups["TCP_UDP"]); err != nil {
		t.Fatal(err)
	}
	_, err := r.createNLBListener(lb, 53, "UDP", groups["UDP"])
	checkError(t, err, "DuplicateListener", "already exists on this port")
	_, err = r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{
		ListenerArn: must(r.elb.DescribeListeners(r.ctx, &elb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn}))(t).Listeners[0].ListenerArn,
		Priority:    aws.Int32(1), Conditions: pathConditions("/"), Actions: forwardActions(groups["TCP"].TargetGroupArn),
	})
	checkError(t, err, "UnsupportedProtocol", "")
	r.checkState()
}

func TestCreateAndModifyNLBListener(t *testing.T) {
	r := newHarness(t)
	lb := r.createNLB("net")
	tcp, more, secure := r.createTargetGroup("tcp", withProtocol("TCP")), r.createTargetGroup("more", withProtocol("TCP")), r.createTargetGroup("tls", withProtocol("TLS"))
	plain := must(r.createNLBListener(lb, 80, "TCP", tcp))(t)
	want := []types.Action{{Type: "forward", TargetGroupArn: tcp.TargetGroupArn, ForwardConfig: &types.ForwardActionConfig{
		TargetGroups: []types.TargetGroupTuple{{TargetGroupArn: tcp.TargetGroupArn}},
	}}}
	if d := cmp.Diff(want, plain.DefaultActions, ignoreUnexportedFields()); d != "" {
		t.Errorf("actions (-want +got):\n%s", d)
	}
	if plain.SslPolicy != nil || plain.MutualAuthentication != nil || len(plain.AlpnPolicy) != 0 {
		t.Errorf("TCP listener reads back %+v", plain)
	}
	if !strings.Contains(*plain.ListenerArn, ":listener/net/net/") {
		t.Errorf("ARN %s", *plain.ListenerArn)
	}
	if again := must(r.createNLBListener(lb, 80, "TCP", tcp))(t); *again.ListenerArn != *plain.ListenerArn {
		t.Error("a repeated CreateListener created a second listener")
	}
	shared := must(r.createNLBListener(lb, 81, "TCP", tcp, more))(t)
	weights := map[string]int32{}
	for _, g := range shared.DefaultActions[0].ForwardConfig.TargetGroups {
		weights[*g.TargetGroupArn] = *g.Weight
	}
	if d := cmp.Diff(map[string]int32{*tcp.TargetGroupArn: 10, *more.TargetGroupArn: 20}, weights); d != "" {
		t.Errorf("weights (-want +got):\n%s", d)
	}
	modify := func(l types.Listener, in elb.ModifyListenerInput) (types.Listener, error) {
		in.ListenerArn = l.ListenerArn
		out, err := r.elb.ModifyListener(r.ctx, &in)
		if err != nil {
			return types.Listener{}, err
		}
		return out.Listeners[0], nil
	}
	tls := must(r.createNLBListener(lb, 443, "TLS", secure))(t)
	if *tls.SslPolicy != "ELBSecurityPolicy-2016-08" || len(tls.Certificates) != 1 || tls.MutualAuthentication != nil {
		t.Errorf("TLS listener reads back %+v", tls)
	}
	tls = must(modify(tls, elb.ModifyListenerInput{AlpnPolicy: []string{"HTTP2Preferred"}}))(t)
	if d := cmp.Diff([]string{"HTTP2Preferred"}, tls.AlpnPolicy); d != "" {
		t.Errorf("ALPN (-want +got):\n%s", d)
	}
	_, err := modify(tls, elb.ModifyListenerInput{AlpnPolicy: []string{"HTTP3Only"}})
	checkError(t, err, "ALPNPolicyNotFound", "")
	_, err = modify(plain, elb.ModifyListenerInput{AlpnPolicy: []string{"HTTP2Only"}})
	checkError(t, err, "ValidationError", "You cannot set ALPN policy")
	_, err = modify(plain, elb.ModifyListenerInput{SslPolicy: aws.String("ELBSecurityPolicy-2016-08")})
	checkError(t, err, "ValidationError", "An SSL policy cannot be specified for TCP listeners.")
	_, err = modify(plain, elb.ModifyListenerInput{Protocol: "TLS"})
	checkError(t, err, "ValidationError", "A certificate must be specified for TLS listeners")
	_, err = modify(tls, elb.ModifyListenerInput{Protocol: "TCP"})
	checkError(t, err, "IncompatibleProtocols", *secure.TargetGroupArn)
	tls = must(modify(tls, elb.ModifyListenerInput{Protocol: "TCP", DefaultActions: forwardActions(more.TargetGroupArn)}))(t)
	if tls.SslPolicy != nil || len(tls.Certificates) != 0 || len(tls.AlpnPolicy) != 0 {
		t.Errorf("TCP listener still has TLS settings: %+v", tls)
	}
	r.em.Store().Config.Quotas["listeners-per-network-load-balancer"] = 3
	_, err = r.createNLBListener(lb, 82, "TCP", tcp)
	checkError(t, err, "TooManyListeners", "")
	r.em.Store().Config.Quotas["target-groups-per-action-on-network-load-balancer"] = 1
	_, err = modify(plain, elb.ModifyListenerInput{DefaultActions: weightedForwardActions(tcp, more)})
	checkError(t, err, "TooManyTargetGroups", "")
	r.checkState()
}

func TestListenersOfDualStackNLB(t *testing.T) {
	r := newHarness(t)
	r.associateIPv6Blocks()
	create := func(name string, prefix types.EnablePrefixForIpv6SourceNatEnum) types.LoadBalancer {
		return must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
			Name: &name, Type: "network", IpAddressType: "dualstack", Subnets: r.subnets[:2], EnablePrefixForIpv6SourceNat: prefix,
		}))(t).LoadBalancers[0]
	}
	plain, natted := create("plain", ""), create("natted", "on")
	udp, quic := r.createTargetGroup("udp", withProtocol("UDP")), r.createTargetGroup("quic", withProtocol("QUIC"))
	six := r.createTargetGroup("six", withProtocol("TCP"), func(in *elb.CreateTargetGroupInput) { in.IpAddressType = "ipv6" })
	_, err := r.createNLBListener(plain, 53, "UDP", udp)
	checkError(t, err, "InvalidConfigurationRequest", "UDP listeners")
	_, err = r.createNLBListener(natted, 443, "QUIC", quic)
	checkError(t, err, "InvalidConfigurationRequest", "QUIC listeners")
	must(r.createNLBListener(natted, 53, "UDP", udp))(t)
	must(r.createNLBListener(plain, 80, "TCP", six))(t)
	ipv4 := &elb.SetIpAddressTypeInput{LoadBalancerArn: plain.LoadBalancerArn, IpAddressType: "ipv4"}
	_, err = r.elb.SetIpAddressType(r.ctx, ipv4)
	checkError(t, err, "InvalidConfigurationRequest", "ipv6")
	for _, e := range r.loadBalancerENIs("net/plain/", 2) {
		if len(e.Ipv6Addresses) != 1 {
			t.Errorf("%d IPv6 addresses", len(e.Ipv6Addresses))
		}
	}
	must(r.elb.SetIpAddressType(r.ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: natted.LoadBalancerArn, IpAddressType: "ipv4"}))(t)
	for _, e := range r.loadBalancerENIs("net/natted/", 2) {
		if len(e.Ipv6Addresses) != 0 {
			t.Errorf("an IPv4 load balancer has %v", e.Ipv6Addresses)
		}
	}
	r.checkState()
}
