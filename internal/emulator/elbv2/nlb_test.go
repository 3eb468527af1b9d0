package elbv2_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// stream creates a listener of an NLB.
func (r *harness) stream(lb types.LoadBalancer, port int32, p types.ProtocolEnum, groups ...types.TargetGroup) (types.Listener, error) {
	in := &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: &port, Protocol: p}
	if len(groups) == 1 {
		in.DefaultActions = forward(groups[0].TargetGroupArn)
	} else {
		in.DefaultActions = weighted(groups...)
	}
	if p == types.ProtocolEnumTls {
		in.Certificates = []types.Certificate{{CertificateArn: aws.String(r.certificate(true, "tls.example.com"))}}
	}
	out, err := r.elb.CreateListener(r.ctx, in)
	if err != nil {
		return types.Listener{}, err
	}
	return out.Listeners[0], nil
}

func weighted(groups ...types.TargetGroup) []types.Action {
	config := &types.ForwardActionConfig{}
	for i, g := range groups {
		config.TargetGroups = append(config.TargetGroups, types.TargetGroupTuple{TargetGroupArn: g.TargetGroupArn, Weight: aws.Int32(int32(10 * (i + 1)))})
	}
	return []types.Action{{Type: types.ActionTypeEnumForward, ForwardConfig: config}}
}

func TestNetworkLoadBalancerReadsBack(t *testing.T) {
	r := newHarness(t)
	lb := r.nlb("Net", r.group)
	hex := (*lb.LoadBalancerArn)[strings.LastIndex(*lb.LoadBalancerArn, "/")+1:]
	if want := "Net-" + hex + ".elb.us-west-2.amazonaws.com"; *lb.DNSName != want || !strings.Contains(*lb.LoadBalancerArn, ":loadbalancer/net/Net/") {
		t.Errorf("DNS name %s, want %s; ARN %s", *lb.DNSName, want, *lb.LoadBalancerArn)
	}
	if aws.ToString(lb.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic) != "on" {
		t.Errorf("PrivateLink rules %v", lb.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic)
	}
	if bare := r.nlb("bare"); bare.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic != nil || len(bare.SecurityGroups) != 0 {
		t.Errorf("an NLB without security groups reads back %+v", bare)
	}
	if again := r.nlb("Net", r.group); *again.LoadBalancerArn != *lb.LoadBalancerArn {
		t.Error("creating it again made another one")
	}
	single := must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("single"), Type: "network", Subnets: r.subnets[:1]}))(t).LoadBalancers[0]
	if len(single.AvailabilityZones) != 1 {
		t.Errorf("zones %+v", single.AvailabilityZones)
	}
	for _, e := range r.interfaces("net/Net/") {
		if e.InterfaceType != ec2types.NetworkInterfaceTypeNetworkLoadBalancer || len(e.Groups) != 1 || !aws.ToBool(e.RequesterManaged) {
			t.Errorf("interface %+v", e)
		}
	}
	r.checkState()
}

// interfaces returns the ENIs whose description is "ELB " and this text.
func (r *harness) interfaces(description string) []ec2types.NetworkInterface {
	r.t.Helper()
	var out []ec2types.NetworkInterface
	for _, e := range must(r.ec2.DescribeNetworkInterfaces(r.ctx, &ec2.DescribeNetworkInterfacesInput{}))(r.t).NetworkInterfaces {
		if strings.HasPrefix(aws.ToString(e.Description), "ELB "+description) {
			out = append(out, e)
		}
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
		"elastic IPs for one of two": {at(types.SubnetMapping{AllocationId: eip.AllocationId}, types.SubnetMapping{}), "InvalidConfigurationRequest", "for all subnets or for none"},
		"one elastic IP twice":       {at(types.SubnetMapping{AllocationId: eip.AllocationId}, types.SubnetMapping{AllocationId: eip.AllocationId}), "ResourceInUse", "not available for use"},
		"elastic and private": {at(types.SubnetMapping{AllocationId: eip.AllocationId, PrivateIPv4Address: aws.String("10.0.0.9")}),
			"InvalidConfigurationRequest", "both"},
		"private for one of two": {internal(at(types.SubnetMapping{PrivateIPv4Address: aws.String("10.0.0.9")}, types.SubnetMapping{})),
			"InvalidConfigurationRequest", "for all subnets or for none"},
		"private of another subnet": {internal(at(types.SubnetMapping{PrivateIPv4Address: aws.String("10.0.16.9")})), "InvalidConfigurationRequest", "not in the range"},
		"IPv6 address without IPv6": {at(types.SubnetMapping{IPv6Address: aws.String("fd00::1")}), "InvalidConfigurationRequest", "IPv6"},
		"zone without NLBs":         {func(in *elb.CreateLoadBalancerInput) { in.Subnets = r.subnets }, "AvailabilityZoneNotSupported", "not supported in us-west-2c"},
		"no public IPv4": {func(in *elb.CreateLoadBalancerInput) { in.IpAddressType = "dualstack-without-public-ipv4" },
			"InvalidSubnet", "IPv6"},
		"prefix without dual stack": {func(in *elb.CreateLoadBalancerInput) { in.EnablePrefixForIpv6SourceNat = "on" },
			"InvalidConfigurationRequest", "IpAddressType 'dualstack'"},
		"pool": {func(in *elb.CreateLoadBalancerInput) {
			in.IpamPools = &types.IpamPools{Ipv4IpamPoolId: aws.String("ipam-pool-0123456789abcdef0")}
		}, "InvalidConfigurationRequest", "network"},
		"unknown group": {func(in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-0123456789abcdef0"} }, "InvalidSecurityGroup", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &elb.CreateLoadBalancerInput{Name: aws.String("net"), Type: "network", Subnets: r.subnets[:2]}
			tt.edit(in)
			_, err := r.elb.CreateLoadBalancer(r.ctx, in)
			wantError(t, err, tt.code, tt.message)
		})
	}
	if left := r.interfaces("net/"); len(left) != 0 {
		t.Errorf("%d ENIs of rejected load balancers", len(left))
	}
	r.em.Store().Config.Quotas["network-load-balancer-enis-per-vpc"] = 1
	_, err := r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("net"), Type: "network", Subnets: r.subnets[:2]})
	wantError(t, err, "InvalidConfigurationRequest", "network interfaces")
	r.checkState()
}

func TestNetworkLoadBalancerSubnets(t *testing.T) {
	r := newHarness(t)
	twin := r.subnet("a", "10.0.64.0/20")
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
	wantError(t, err, "InvalidConfigurationRequest", "cannot be changed")
	_, err = set(types.SubnetMapping{SubnetId: &twin, AllocationId: second.AllocationId})
	wantError(t, err, "InvalidConfigurationRequest", "cannot be replaced")
	_, err = set(have, types.SubnetMapping{SubnetId: &r.subnets[1]})
	wantError(t, err, "InvalidConfigurationRequest", "for all subnets or for none")
	out := must(set(have, types.SubnetMapping{SubnetId: &r.subnets[1], AllocationId: second.AllocationId}))(t)
	if len(out.AvailabilityZones) != 2 {
		t.Errorf("zones %+v", out.AvailabilityZones)
	}
	must(set(types.SubnetMapping{SubnetId: &r.subnets[1], AllocationId: second.AllocationId}))(t)
	must(r.ec2.ReleaseAddress(r.ctx, &ec2.ReleaseAddressInput{AllocationId: first.AllocationId}))(t) // the NLB does not use the address any more
	must(r.elb.SetSubnets(r.ctx, &elb.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, Subnets: r.subnets[1:2]}))(t)
	_, err = r.ec2.ReleaseAddress(r.ctx, &ec2.ReleaseAddressInput{AllocationId: second.AllocationId})
	if err == nil {
		t.Error("an elastic IP in use was released")
	}
	r.checkState()
}

func TestSecondaryAddresses(t *testing.T) {
	r := newHarness(t)
	lb := r.nlb("net")
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
	for _, e := range r.interfaces("net/net/") {
		if len(e.PrivateIpAddresses) != 3 {
			t.Errorf("%d private addresses, want 3", len(e.PrivateIpAddresses))
		}
	}
	wantError(t, set("1"), "InvalidConfigurationRequest", "cannot be decreased")
	wantError(t, set("8"), "ValidationError", "'0-7'")
	r.checkState()
}

func TestNetworkListenerProtocols(t *testing.T) {
	r := newHarness(t)
	lb := r.nlb("net")
	groups := map[string]types.TargetGroup{"ALB": r.tg("behind", protocol("TCP"), targetType("alb")), "HTTP": r.tg("web")}
	for _, p := range []types.ProtocolEnum{"TCP", "TLS", "UDP", "TCP_UDP", "QUIC", "TCP_QUIC"} {
		groups[string(p)] = r.tg(strings.ReplaceAll(string(p), "_", ""), protocol(p))
	}
	fit := map[types.ProtocolEnum][]string{
		"TCP": {"ALB", "TCP", "TCP_UDP"}, "TLS": {"TCP", "TLS"}, "UDP": {"TCP_UDP", "UDP"}, "TCP_UDP": {"TCP_UDP"},
		"QUIC": {"QUIC", "TCP_QUIC"}, "TCP_QUIC": {"TCP_QUIC"},
	}
	for p, want := range fit {
		var got []string
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			l, err := r.stream(lb, 9000, p, groups[name])
			if err != nil {
				wantError(t, err, "IncompatibleProtocols", *groups[name].TargetGroupArn)
				continue
			}
			got = append(got, name)
			must(r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: l.ListenerArn}))(t)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("groups for a %s listener (-want +got):\n%s", p, d)
		}
	}
	if _, err := r.stream(lb, 53, "TCP", groups["TCP_UDP"]); err != nil {
		t.Fatal(err)
	}
	_, err := r.stream(lb, 53, "UDP", groups["UDP"])
	wantError(t, err, "DuplicateListener", "already exists on this port")
	_, err = r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{
		ListenerArn: must(r.elb.DescribeListeners(r.ctx, &elb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn}))(t).Listeners[0].ListenerArn,
		Priority:    aws.Int32(1), Conditions: pathIs("/"), Actions: forward(groups["TCP"].TargetGroupArn),
	})
	wantError(t, err, "UnsupportedProtocol", "")
	r.checkState()
}

func TestNetworkListenerReadsBack(t *testing.T) {
	r := newHarness(t)
	lb := r.nlb("net")
	tcp, more, secure := r.tg("tcp", protocol("TCP")), r.tg("more", protocol("TCP")), r.tg("tls", protocol("TLS"))
	plain := must(r.stream(lb, 80, "TCP", tcp))(t)
	want := []types.Action{{Type: "forward", TargetGroupArn: tcp.TargetGroupArn, ForwardConfig: &types.ForwardActionConfig{
		TargetGroups: []types.TargetGroupTuple{{TargetGroupArn: tcp.TargetGroupArn}},
	}}}
	if d := cmp.Diff(want, plain.DefaultActions, sdk()); d != "" {
		t.Errorf("actions (-want +got):\n%s", d)
	}
	if plain.SslPolicy != nil || plain.MutualAuthentication != nil || len(plain.AlpnPolicy) != 0 {
		t.Errorf("TCP listener reads back %+v", plain)
	}
	if !strings.Contains(*plain.ListenerArn, ":listener/net/net/") {
		t.Errorf("ARN %s", *plain.ListenerArn)
	}
	if again := must(r.stream(lb, 80, "TCP", tcp))(t); *again.ListenerArn != *plain.ListenerArn {
		t.Error("creating it again made another one")
	}
	shared := must(r.stream(lb, 81, "TCP", tcp, more))(t)
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
	tls := must(r.stream(lb, 443, "TLS", secure))(t)
	if *tls.SslPolicy != "ELBSecurityPolicy-2016-08" || len(tls.Certificates) != 1 || tls.MutualAuthentication != nil {
		t.Errorf("TLS listener reads back %+v", tls)
	}
	tls = must(modify(tls, elb.ModifyListenerInput{AlpnPolicy: []string{"HTTP2Preferred"}}))(t)
	if d := cmp.Diff([]string{"HTTP2Preferred"}, tls.AlpnPolicy); d != "" {
		t.Errorf("ALPN (-want +got):\n%s", d)
	}
	_, err := modify(tls, elb.ModifyListenerInput{AlpnPolicy: []string{"HTTP3Only"}})
	wantError(t, err, "ALPNPolicyNotFound", "")
	_, err = modify(plain, elb.ModifyListenerInput{AlpnPolicy: []string{"HTTP2Only"}})
	wantError(t, err, "ValidationError", "You cannot set ALPN policy")
	_, err = modify(plain, elb.ModifyListenerInput{SslPolicy: aws.String("ELBSecurityPolicy-2016-08")})
	wantError(t, err, "ValidationError", "An SSL policy cannot be specified for TCP listeners.")
	_, err = modify(plain, elb.ModifyListenerInput{Protocol: "TLS"})
	wantError(t, err, "ValidationError", "A certificate must be specified for TLS listeners")
	_, err = modify(tls, elb.ModifyListenerInput{Protocol: "TCP"})
	wantError(t, err, "IncompatibleProtocols", *secure.TargetGroupArn)
	tls = must(modify(tls, elb.ModifyListenerInput{Protocol: "TCP", DefaultActions: forward(more.TargetGroupArn)}))(t)
	if tls.SslPolicy != nil || len(tls.Certificates) != 0 || len(tls.AlpnPolicy) != 0 {
		t.Errorf("TCP listener kept TLS: %+v", tls)
	}
	r.em.Store().Config.Quotas["listeners-per-network-load-balancer"] = 3
	_, err = r.stream(lb, 82, "TCP", tcp)
	wantError(t, err, "TooManyListeners", "")
	r.em.Store().Config.Quotas["target-groups-per-action-on-network-load-balancer"] = 1
	_, err = modify(plain, elb.ModifyListenerInput{DefaultActions: weighted(tcp, more)})
	wantError(t, err, "TooManyTargetGroups", "")
	r.checkState()
}

func TestListenersOfDualStackNLB(t *testing.T) {
	r := newHarness(t)
	vpc := must(r.ec2.DescribeVpcs(r.ctx, &ec2.DescribeVpcsInput{VpcIds: []string{r.vpc}}))(t).Vpcs[0]
	block := *vpc.Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock
	for i, s := range r.subnets {
		must(r.ec2.AssociateSubnetCidrBlock(r.ctx, &ec2.AssociateSubnetCidrBlockInput{
			SubnetId: &s, Ipv6CidrBlock: aws.String(strings.Replace(block, "00::/56", fmt.Sprintf("0%d::/64", i), 1)),
		}))(t)
	}
	create := func(name string, prefix types.EnablePrefixForIpv6SourceNatEnum) types.LoadBalancer {
		return must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
			Name: &name, Type: "network", IpAddressType: "dualstack", Subnets: r.subnets[:2], EnablePrefixForIpv6SourceNat: prefix,
		}))(t).LoadBalancers[0]
	}
	plain, natted := create("plain", ""), create("natted", "on")
	udp, quic := r.tg("udp", protocol("UDP")), r.tg("quic", protocol("QUIC"))
	six := r.tg("six", protocol("TCP"), func(in *elb.CreateTargetGroupInput) { in.IpAddressType = "ipv6" })
	_, err := r.stream(plain, 53, "UDP", udp)
	wantError(t, err, "InvalidConfigurationRequest", "UDP listeners")
	_, err = r.stream(natted, 443, "QUIC", quic)
	wantError(t, err, "InvalidConfigurationRequest", "QUIC listeners")
	must(r.stream(natted, 53, "UDP", udp))(t)
	must(r.stream(plain, 80, "TCP", six))(t)
	ipv4 := &elb.SetIpAddressTypeInput{LoadBalancerArn: plain.LoadBalancerArn, IpAddressType: "ipv4"}
	_, err = r.elb.SetIpAddressType(r.ctx, ipv4)
	wantError(t, err, "InvalidConfigurationRequest", "ipv6")
	for _, e := range r.interfaces("net/plain/") {
		if len(e.Ipv6Addresses) != 1 {
			t.Errorf("%d IPv6 addresses", len(e.Ipv6Addresses))
		}
	}
	must(r.elb.SetIpAddressType(r.ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: natted.LoadBalancerArn, IpAddressType: "ipv4"}))(t)
	for _, e := range r.interfaces("net/natted/") {
		if len(e.Ipv6Addresses) != 0 {
			t.Errorf("an IPv4 load balancer has %v", e.Ipv6Addresses)
		}
	}
	r.checkState()
}

func TestApplicationLoadBalancerAsTarget(t *testing.T) {
	r := newHarness(t)
	front := r.nlb("front")
	app, second := r.alb("app"), r.alb("second")
	g := r.tg("behind", protocol("TCP"), targetType("alb"))
	want := []any{types.TargetTypeEnumAlb, types.ProtocolEnumTcp, types.ProtocolEnumHttp, "/", int32(6), "200-399"}
	if d := cmp.Diff(want, []any{g.TargetType, g.Protocol, g.HealthCheckProtocol, *g.HealthCheckPath, *g.HealthCheckTimeoutSeconds, *g.Matcher.HttpCode}); d != "" {
		t.Errorf("target group (-want +got):\n%s", d)
	}
	must(r.stream(front, 80, "TCP", g))(t)
	wantError(t, r.register(g, target(*app.LoadBalancerArn)), "InvalidTarget", "no listener on the port '80'")
	r.listener(app.LoadBalancerArn, 80, fixed("404"))
	r.listener(second.LoadBalancerArn, 80, fixed("404"))
	wantError(t, r.register(g, target(*front.LoadBalancerArn)), "InvalidTarget", "not Application Load Balancers")
	wantError(t, r.register(g, targetAt(*app.LoadBalancerArn, 81)), "InvalidTarget", "no listener on the port '81'")
	wantError(t, r.register(g, types.TargetDescription{Id: app.LoadBalancerArn, AvailabilityZone: aws.String("all")}), "ValidationError", "Availability Zone")
	if err := r.register(g, target(*app.LoadBalancerArn)); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.register(g, target(*second.LoadBalancerArn)), "TooManyTargets", "Up to '1'")
	// An ALB may be registered with the port of a listener that differs from the port of the target group.
	secure := r.listener(app.LoadBalancerArn, 8080, fixed("404"))
	mapped := r.tg("mapped", protocol("TCP"), targetType("alb"))
	must(r.stream(front, 81, "TCP", mapped))(t)
	if err := r.register(mapped, targetAt(*app.LoadBalancerArn, 8080)); err != nil {
		t.Fatal(err)
	}
	_, inUse := r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: secure.ListenerArn})
	wantError(t, inUse, "ResourceInUse", "Listener port '8080'")
	r.deregister(mapped, targetAt(*app.LoadBalancerArn, 8080))
	r.wantHealth(mapped, map[string]string{})
	r.wantHealth(g, map[string]string{*app.LoadBalancerArn + ":80": "initial Elb.RegistrationInProgress"})
	r.clock.Advance(time.Minute)
	r.wantHealth(g, map[string]string{*app.LoadBalancerArn + ":80": "healthy "})
	got := must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{*g.TargetGroupArn}}))(t).TargetGroups[0]
	if d := cmp.Diff([]string{*front.LoadBalancerArn}, got.LoadBalancerArns); d != "" {
		t.Errorf("load balancers of the group (-want +got):\n%s", d)
	}
	_, err := r.elb.ModifyTargetGroupAttributes(r.ctx, &elb.ModifyTargetGroupAttributesInput{
		TargetGroupArn: g.TargetGroupArn, Attributes: []types.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("5")}},
	})
	wantError(t, err, "InvalidConfigurationRequest", "not supported")
	for i := range 2 {
		other := r.nlb(fmt.Sprint("other", i))
		h := r.tg(fmt.Sprint("other", i), protocol("TCP"), targetType("alb"))
		must(r.stream(other, 80, "TCP", h))(t)
		err := r.register(h, target(*app.LoadBalancerArn))
		if i == 0 && err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			wantError(t, err, "InvalidTarget", "more than '2' Network Load Balancers")
		}
	}
	r.em.Store().Config.Quotas["targets-per-network-load-balancer"] = 49
	crowded := r.nlb("crowded")
	_, err = r.stream(crowded, 80, "TCP", r.tg("crowd", protocol("TCP"), targetType("alb")))
	if err != nil {
		t.Fatal(err)
	}
	many := must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{Names: []string{"crowd"}}))(t).TargetGroups[0]
	wantError(t, r.register(many, target(*second.LoadBalancerArn)), "TooManyTargets", "")
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: front.LoadBalancerArn}))(t)
	r.wantHealth(g, map[string]string{*app.LoadBalancerArn + ":80": "unused Target.NotInUse"})
	r.checkState()
}

func TestUnhealthyTargetsOfNLBAreDraining(t *testing.T) {
	r := newHarness(t)
	lb, g := r.nlb("net"), r.tg("tcp", protocol("TCP"))
	must(r.stream(lb, 80, "TCP", g))(t)
	set := func(pairs ...string) error {
		in := &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn}
		for i := 0; i < len(pairs); i += 2 {
			in.Attributes = append(in.Attributes, types.TargetGroupAttribute{Key: &pairs[i], Value: &pairs[i+1]})
		}
		_, err := r.elb.ModifyTargetGroupAttributes(r.ctx, in)
		return err
	}
	const termination, interval = "target_health_state.unhealthy.connection_termination.enabled", "target_health_state.unhealthy.draining_interval_seconds"
	wantError(t, set(interval, "60"), "InvalidConfigurationRequest", termination)
	if err := set(termination, "false", interval, "60"); err != nil {
		t.Fatal(err)
	}
	if err := r.register(g, target("10.0.0.50")); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Minute)
	r.em.Store().ReportHealth(store.HealthReport{TargetGroup: *g.TargetGroupArn, Target: "10.0.0.50", Port: 80, Verdict: store.Verdict{
		State: types.TargetHealthStateEnumUnhealthy, Reason: types.TargetHealthReasonEnumFailedHealthChecks, Description: "Health checks failed",
	}})
	r.wantHealth(g, map[string]string{"10.0.0.50:80": "unhealthy.draining Target.FailedHealthChecks"})
	r.clock.Advance(time.Minute)
	r.wantHealth(g, map[string]string{"10.0.0.50:80": "unhealthy Target.FailedHealthChecks"})
}

func TestQUICTargets(t *testing.T) {
	r := newHarness(t)
	g := r.tg("quic", protocol("QUIC"))
	id := func(address, server string) types.TargetDescription {
		return types.TargetDescription{Id: &address, QuicServerId: &server}
	}
	wantError(t, r.register(g, target("10.0.0.50")), "ValidationError", "QUIC server ID")
	wantError(t, r.register(g, id("10.0.0.50", "0x12")), "ValidationError", "QUIC server ID")
	wantError(t, r.register(r.tg("tcp", protocol("TCP")), id("10.0.0.50", "0x0123456789abcdef")), "ValidationError", "cannot be specified")
	if err := r.register(g, id("10.0.0.50", "0x0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.register(g, id("10.0.0.51", "0x0123456789abcdef")), "ValidationError", "used by another target")
	if err := r.register(g, id("10.0.0.51", "0x0123456789abcdee")); err != nil {
		t.Fatal(err)
	}
	got := must(r.elb.DescribeTargetHealth(r.ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn, Targets: []types.TargetDescription{target("10.0.0.51")}}))(t)
	if *got.TargetHealthDescriptions[0].Target.QuicServerId != "0x0123456789abcdee" {
		t.Errorf("target %+v", got.TargetHealthDescriptions[0].Target)
	}
	r.checkState()
}

func TestNetworkTargetGroupAttributes(t *testing.T) {
	r := newHarness(t)
	groups := map[string]types.TargetGroup{
		"tcp": r.tg("tcp", protocol("TCP")), "tls": r.tg("tls", protocol("TLS")), "udp": r.tg("udp", protocol("UDP")),
		"instance": r.tg("instance", protocol("TCP"), targetType("instance")), "quic": r.tg("quic", protocol("QUIC")),
	}
	attributes := func(name string) map[string]string {
		out := map[string]string{}
		for _, a := range must(r.elb.DescribeTargetGroupAttributes(r.ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: groups[name].TargetGroupArn}))(t).Attributes {
			out[*a.Key] = *a.Value
		}
		return out
	}
	preserved := map[string]string{}
	for name := range groups {
		preserved[name] = attributes(name)["preserve_client_ip.enabled"]
	}
	if d := cmp.Diff(map[string]string{"tcp": "false", "tls": "false", "udp": "true", "instance": "true", "quic": "true"}, preserved); d != "" {
		t.Errorf("preserve_client_ip.enabled by default (-want +got):\n%s", d)
	}
	tests := map[string]struct {
		group, key, value, code string
	}{
		"stickiness":                {"tcp", "stickiness.enabled", "true", ""},
		"stickiness of TLS":         {"tls", "stickiness.enabled", "true", "InvalidConfigurationRequest"},
		"another kind":              {"tcp", "stickiness.type", "app_cookie", "InvalidConfigurationRequest"},
		"proxy protocol":            {"tcp", "proxy_protocol_v2.enabled", "true", ""},
		"client address":            {"tls", "preserve_client_ip.enabled", "true", ""},
		"client address of QUIC":    {"quic", "preserve_client_ip.enabled", "false", "InvalidConfigurationRequest"},
		"termination of UDP":        {"udp", "deregistration_delay.connection_termination.enabled", "false", ""},
		"unhealthy UDP":             {"udp", "target_health_state.unhealthy.connection_termination.enabled", "true", "InvalidConfigurationRequest"},
		"unhealthy QUIC":            {"quic", "target_health_state.unhealthy.connection_termination.enabled", "true", "InvalidConfigurationRequest"},
		"draining of unhealthy UDP": {"udp", "target_health_state.unhealthy.draining_interval_seconds", "5", "InvalidConfigurationRequest"},
		"zones":                     {"tcp", "load_balancing.cross_zone.enabled", "true", ""},
		"slow start":                {"tcp", "slow_start.duration_seconds", "30", "InvalidConfigurationRequest"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.elb.ModifyTargetGroupAttributes(r.ctx, &elb.ModifyTargetGroupAttributesInput{
				TargetGroupArn: groups[tt.group].TargetGroupArn, Attributes: []types.TargetGroupAttribute{{Key: &tt.key, Value: &tt.value}},
			})
			if tt.code != "" {
				wantError(t, err, tt.code, "")
			} else if err != nil || attributes(tt.group)[tt.key] != tt.value {
				t.Errorf("error %v, value %q", err, attributes(tt.group)[tt.key])
			}
		})
	}
}
