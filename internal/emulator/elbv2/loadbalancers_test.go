package elbv2_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

func TestCreateLoadBalancerRefusals(t *testing.T) {
	r := newHarness(t)
	twin := r.createSubnet("a", "10.0.64.0/20")
	tiny := r.createSubnet("b", "10.0.80.0/28")
	other := must(r.ec2.CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")}))(t)
	foreign := must(r.ec2.CreateSubnet(r.ctx, &ec2.CreateSubnetInput{
		VpcId: other.Vpc.VpcId, CidrBlock: aws.String("10.9.0.0/20"), AvailabilityZone: aws.String(region + "b"),
	}))(t)
	eip := must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{Domain: "vpc"}))(t)
	mapped := func(m types.SubnetMapping) []types.SubnetMapping {
		m.SubnetId = &r.subnets[0]
		return []types.SubnetMapping{m}
	}
	must(r.ec2.CreateNetworkInterface(r.ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: &tiny, SecondaryPrivateIpAddressCount: aws.Int32(4)}))(t)

	tests := map[string]struct {
		edit    func(in *elb.CreateLoadBalancerInput)
		code    string
		message string
	}{
		"name too long": {func(in *elb.CreateLoadBalancerInput) { in.Name = aws.String(strings.Repeat("a", 33)) },
			"ValidationError", "cannot be longer than '32' characters"},
		"name with underscore": {func(in *elb.CreateLoadBalancerInput) { in.Name = aws.String("a_b") },
			"ValidationError", "alphanumeric characters and hyphens"},
		"name ends with a hyphen": {func(in *elb.CreateLoadBalancerInput) { in.Name = aws.String("a-") },
			"ValidationError", "cannot begin or end with a hyphen"},
		"name begins with internal-": {func(in *elb.CreateLoadBalancerInput) { in.Name = aws.String("internal-a") },
			"ValidationError", "cannot begin with 'internal-'"},
		"unknown scheme": {func(in *elb.CreateLoadBalancerInput) { in.Scheme = "outer" },
			"ValidationError", "1 validation error detected: Value 'outer' at 'scheme' failed to satisfy constraint: Member must satisfy enum value set: ["},
		"no subnets": {func(in *elb.CreateLoadBalancerInput) { in.Subnets = nil },
			"ValidationError", "either subnets or subnet mappings"},
		"one subnet": {func(in *elb.CreateLoadBalancerInput) { in.Subnets = r.subnets[:1] },
			"ValidationError", "At least two subnets in two different Availability Zones must be specified"},
		"two subnets of one zone": {func(in *elb.CreateLoadBalancerInput) { in.Subnets = []string{r.subnets[0], twin} },
			"InvalidConfigurationRequest", "multiple subnets in the same Availability Zone"},
		"unknown subnet": {func(in *elb.CreateLoadBalancerInput) { in.Subnets = []string{r.subnets[0], "subnet-1"} },
			"SubnetNotFound", "subnet-1"},
		"subnets of two VPCs": {func(in *elb.CreateLoadBalancerInput) { in.Subnets = []string{r.subnets[0], *foreign.Subnet.SubnetId} },
			"InvalidConfigurationRequest", "same VPC"},
		"too few free addresses": {func(in *elb.CreateLoadBalancerInput) { in.Subnets = []string{r.subnets[0], tiny} },
			"InvalidSubnet", "ELB requires at least 8 free IP addresses"},
		"unknown security group": {func(in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-0123456789abcdef0"} },
			"InvalidSecurityGroup", "does not exist"},
		"elastic IP on an ALB": {func(in *elb.CreateLoadBalancerInput) {
			in.Subnets = nil
			in.SubnetMappings = append(mapped(types.SubnetMapping{AllocationId: eip.AllocationId}), types.SubnetMapping{SubnetId: &r.subnets[1]})
		}, "InvalidConfigurationRequest", "Elastic IPs are not supported for load balancers with type 'application'"},
		"elastic IP on an internal NLB": {func(in *elb.CreateLoadBalancerInput) {
			in.Type, in.Scheme, in.Subnets = types.LoadBalancerTypeEnumNetwork, types.LoadBalancerSchemeEnumInternal, nil
			in.SubnetMappings = mapped(types.SubnetMapping{AllocationId: eip.AllocationId})
		}, "InvalidConfigurationRequest", "scheme 'internal'"},
		"private address on a public NLB": {func(in *elb.CreateLoadBalancerInput) {
			in.Type, in.Subnets = types.LoadBalancerTypeEnumNetwork, nil
			in.SubnetMappings = mapped(types.SubnetMapping{PrivateIPv4Address: aws.String("10.0.0.9")})
		}, "InvalidConfigurationRequest", "You can only specify private IPv4 addresses"},
		"unknown elastic IP": {func(in *elb.CreateLoadBalancerInput) {
			in.Type, in.Subnets = types.LoadBalancerTypeEnumNetwork, nil
			in.SubnetMappings = mapped(types.SubnetMapping{AllocationId: aws.String("eipalloc-0123456789abcdef0")})
		}, "AllocationIdNotFound", ""},
		"dual stack without IPv6": {func(in *elb.CreateLoadBalancerInput) { in.IpAddressType = types.IpAddressTypeDualstack },
			"InvalidSubnet", "IPv6 CIDR block"},
		"prefix for source NAT on an ALB": {func(in *elb.CreateLoadBalancerInput) {
			in.EnablePrefixForIpv6SourceNat = types.EnablePrefixForIpv6SourceNatEnumOn
		}, "InvalidConfigurationRequest", "LoadBalancer type 'network'"},
		"duplicate tag key": {func(in *elb.CreateLoadBalancerInput) {
			in.Tags = []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("a"), Value: aws.String("2")}}
		}, "DuplicateTagKeys", ""},
		"reserved tag": {func(in *elb.CreateLoadBalancerInput) {
			in.Tags = []types.Tag{{Key: aws.String("aws:a"), Value: aws.String("1")}}
		}, "ValidationError", "reserved"},
		"Gateway Load Balancer": {func(in *elb.CreateLoadBalancerInput) { in.Type = types.LoadBalancerTypeEnumGateway },
			"ValidationError", "not supported by this emulator"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &elb.CreateLoadBalancerInput{Name: aws.String("lb"), Subnets: r.subnets[:2]}
			tt.edit(in)
			_, err := r.elb.CreateLoadBalancer(r.ctx, in)
			checkError(t, err, tt.code, tt.message)
		})
	}
	all := must(r.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{}))(t)
	if len(all.LoadBalancers) != 0 {
		t.Errorf("%d load balancers exist after rejected requests, want 0", len(all.LoadBalancers))
	}
	r.checkState()
}

func TestCreateAndDescribeALB(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("Web")
	if lb.State.Code != types.LoadBalancerStateEnumProvisioning {
		t.Errorf("a new load balancer is %s", lb.State.Code)
	}
	r.clock.Advance(2 * time.Second)
	got := must(r.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{Names: []string{"Web"}}))(t).LoadBalancers[0]
	if got.State.Code != types.LoadBalancerStateEnumActive {
		t.Errorf("state %s after provisioning", got.State.Code)
	}
	if !strings.HasPrefix(*got.DNSName, "Web-") || !strings.HasSuffix(*got.DNSName, ".us-west-2.elb.amazonaws.com") {
		t.Errorf("DNS name %s", *got.DNSName)
	}
	want := []any{
		types.LoadBalancerTypeEnumApplication, types.LoadBalancerSchemeEnumInternetFacing, types.IpAddressTypeIpv4,
		r.vpc, []string{r.securityGroupID}, "Z1H1FL5HABSF5", 2,
	}
	have := []any{got.Type, got.Scheme, got.IpAddressType, *got.VpcId, got.SecurityGroups, *got.CanonicalHostedZoneId, len(got.AvailabilityZones)}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	again := r.createALB("Web")
	if *again.LoadBalancerArn != *lb.LoadBalancerArn {
		t.Error("a repeated CreateLoadBalancer created a second load balancer")
	}
	_, err := r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("Web"), Subnets: r.subnets, SecurityGroups: []string{r.securityGroupID}})
	checkError(t, err, "DuplicateLoadBalancerName", "exists, but with different settings")
	_, err = r.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{Names: []string{"missing"}})
	checkError(t, err, "LoadBalancerNotFound", "[missing]")
	_, err = r.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{"arn:nonsense"}})
	checkError(t, err, "ValidationError", "'arn:nonsense' is not a valid load balancer ARN")
	r.checkState()
}

func TestLoadBalancerGetsDefaultSecurityGroup(t *testing.T) {
	r := newHarness(t)
	out := must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("plain"), Subnets: r.subnets[:2], Scheme: types.LoadBalancerSchemeEnumInternal,
	}))(t).LoadBalancers[0]
	if len(out.SecurityGroups) != 1 || out.SecurityGroups[0] == r.securityGroupID {
		t.Errorf("security groups %v", out.SecurityGroups)
	}
	if !strings.HasPrefix(*out.DNSName, "internal-plain-") {
		t.Errorf("DNS name %s", *out.DNSName)
	}
	if groups := r.createNLB("net").SecurityGroups; len(groups) != 0 {
		t.Errorf("NLB got security groups %v", groups)
	}
}

func TestLoadBalancerQuota(t *testing.T) {
	r := newHarness(t)
	r.em.Store().Config.Quotas["application-load-balancers"] = 1
	r.createALB("one")
	_, err := r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("two"), Subnets: r.subnets[:2]})
	checkError(t, err, "TooManyLoadBalancers", "")
	r.createNLB("other-type")
}

func TestENIsOutliveDeletedLoadBalancer(t *testing.T) {
	r := newHarness(t)
	r.em.Store().Config.Delays.InterfaceLinger = 30 * time.Second
	lb := r.createALB("web")
	r.createListener(lb.LoadBalancerArn, 80, fixedResponseActions("404"))
	enis := must(r.ec2.DescribeNetworkInterfaces(r.ctx, &ec2.DescribeNetworkInterfacesInput{}))(t).NetworkInterfaces
	n := 0
	for _, e := range enis {
		if strings.HasPrefix(aws.ToString(e.Description), "ELB app/web/") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d ENIs of the load balancer, want 2", n)
	}
	drop := &ec2.DeleteSecurityGroupInput{GroupId: &r.securityGroupID}
	_, err := r.ec2.DeleteSecurityGroup(r.ctx, drop)
	checkError(t, err, "DependencyViolation", "")
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn}))(t)
	_, err = r.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{*lb.LoadBalancerArn}})
	checkError(t, err, "LoadBalancerNotFound", "One or more load balancers not found")
	_, err = r.ec2.DeleteSecurityGroup(r.ctx, drop)
	checkError(t, err, "DependencyViolation", "")
	r.clock.Advance(30 * time.Second)
	must(r.ec2.DeleteSecurityGroup(r.ctx, drop))(t)
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn}))(t) // no load balancer with this ARN exists
	r.checkState()
}

func TestDeletionProtection(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("web")
	protect := func(v string) {
		t.Helper()
		must(r.elb.ModifyLoadBalancerAttributes(r.ctx, &elb.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: lb.LoadBalancerArn,
			Attributes:      []types.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: &v}},
		}))(t)
	}
	protect("true")
	_, err := r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn})
	checkError(t, err, "OperationNotPermitted", "deletion protection is enabled")
	protect("false")
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn}))(t)
}

func TestLoadBalancerAttributes(t *testing.T) {
	r := newHarness(t)
	app, net := r.createALB("app"), r.createNLB("net")
	list := func(arn *string) map[string]string {
		m := map[string]string{}
		for _, a := range must(r.elb.DescribeLoadBalancerAttributes(r.ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: arn}))(t).Attributes {
			m[*a.Key] = *a.Value
		}
		return m
	}
	wantNLB := map[string]string{
		"deletion_protection.enabled": "false", "access_logs.s3.enabled": "false", "access_logs.s3.bucket": "", "access_logs.s3.prefix": "",
		"load_balancing.cross_zone.enabled": "false", "zonal_shift.config.enabled": "false",
		"dns_record.client_routing_policy": "any_availability_zone", "secondary_ips.auto_assigned.per_subnet": "0",
	}
	if d := cmp.Diff(wantNLB, list(net.LoadBalancerArn)); d != "" {
		t.Errorf("attributes of the NLB (-want +got):\n%s", d)
	}
	have := list(app.LoadBalancerArn)
	for k, v := range map[string]string{
		"idle_timeout.timeout_seconds": "60", "routing.http2.enabled": "true", "load_balancing.cross_zone.enabled": "true",
		"client_keep_alive.seconds": "3600", "routing.http.desync_mitigation_mode": "defensive",
	} {
		if have[k] != v {
			t.Errorf("%s is %q, want %q", k, have[k], v)
		}
	}
	tests := map[string]struct {
		arn           *string
		set           []string
		code, message string
	}{
		"unknown key":                {app.LoadBalancerArn, []string{"foo", "1"}, "ValidationError", "Load balancer attribute key 'foo' is not recognized"},
		"key for NLBs":               {app.LoadBalancerArn, []string{"dns_record.client_routing_policy", "any_availability_zone"}, "InvalidConfigurationRequest", "type 'application'"},
		"not a bool":                 {app.LoadBalancerArn, []string{"routing.http2.enabled", "yes"}, "ValidationError", "must be 'true' or 'false', but was 'yes'"},
		"out of range":               {app.LoadBalancerArn, []string{"idle_timeout.timeout_seconds", "4001"}, "ValidationError", "'idle_timeout.timeout_seconds' value '4001' must be between '1-4000' inclusive"},
		"duplicate key":              {app.LoadBalancerArn, []string{"routing.http2.enabled", "true", "routing.http2.enabled", "true"}, "ValidationError", "has been specified more than once"},
		"access logs without bucket": {app.LoadBalancerArn, []string{"access_logs.s3.enabled", "true"}, "InvalidConfigurationRequest", "access_logs.s3.bucket"},
		"cross-zone off":             {app.LoadBalancerArn, []string{"load_balancing.cross_zone.enabled", "false"}, "InvalidConfigurationRequest", "Cross-zone"},
		"key for ALBs":               {net.LoadBalancerArn, []string{"idle_timeout.timeout_seconds", "70"}, "InvalidConfigurationRequest", "type 'network'"},
		"valid and unknown key":      {app.LoadBalancerArn, []string{"idle_timeout.timeout_seconds", "70", "foo", "1"}, "ValidationError", "foo"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var in []types.LoadBalancerAttribute
			for i := 0; i < len(tt.set); i += 2 {
				in = append(in, types.LoadBalancerAttribute{Key: &tt.set[i], Value: &tt.set[i+1]})
			}
			_, err := r.elb.ModifyLoadBalancerAttributes(r.ctx, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: tt.arn, Attributes: in})
			checkError(t, err, tt.code, tt.message)
		})
	}
	if d := cmp.Diff(have, list(app.LoadBalancerArn)); d != "" {
		t.Errorf("rejected requests changed attributes (-before +after):\n%s", d)
	}
}

func TestSetSecurityGroups(t *testing.T) {
	r := newHarness(t)
	second := r.createSecurityGroup("second")
	app, bare, dressed := r.createALB("app"), r.createNLB("bare"), r.createNLB("dressed", r.securityGroupID)
	set := func(arn *string, groups ...string) error {
		_, err := r.elb.SetSecurityGroups(r.ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: arn, SecurityGroups: append([]string{}, groups...)})
		return err
	}
	checkError(t, set(bare.LoadBalancerArn, second), "InvalidConfigurationRequest", "")
	checkError(t, set(app.LoadBalancerArn), "InvalidConfigurationRequest", "At least one")
	checkError(t, set(app.LoadBalancerArn, "sg-0123456789abcdef0"), "InvalidSecurityGroup", "")
	for _, arn := range []*string{app.LoadBalancerArn, dressed.LoadBalancerArn} {
		if err := set(arn, second); err != nil {
			t.Fatal(err)
		}
	}
	must(r.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: &r.securityGroupID}))(t) // no ENI has this security group now
	_, err := r.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: &second})
	checkError(t, err, "DependencyViolation", "")
	r.checkState()
}

func TestSetSubnetsAndAddressing(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("app")
	out := must(r.elb.SetSubnets(r.ctx, &elb.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, Subnets: r.subnets[1:]}))(t)
	var got []string
	for _, z := range out.AvailabilityZones {
		got = append(got, *z.SubnetId)
	}
	slices.Sort(got)
	if d := cmp.Diff(slices.Sorted(slices.Values(r.subnets[1:])), got); d != "" {
		t.Errorf("subnets (-want +got):\n%s", d)
	}
	_, err := r.elb.SetSubnets(r.ctx, &elb.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, Subnets: r.subnets[:1]})
	checkError(t, err, "ValidationError", "At least two subnets")
	_, err = r.elb.SetIpAddressType(r.ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: lb.LoadBalancerArn, IpAddressType: types.IpAddressTypeDualstack})
	checkError(t, err, "InvalidSubnet", "IPv6")
	r.checkState()
}

func TestCapacityReservation(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("app")
	modify := func(units int32) error {
		in := &elb.ModifyCapacityReservationInput{LoadBalancerArn: lb.LoadBalancerArn}
		if units == 0 {
			in.ResetCapacityReservation = aws.Bool(true)
		} else {
			in.MinimumLoadBalancerCapacity = &types.MinimumLoadBalancerCapacity{CapacityUnits: &units}
		}
		_, err := r.elb.ModifyCapacityReservation(r.ctx, in)
		return err
	}
	_, err := r.elb.ModifyCapacityReservation(r.ctx, &elb.ModifyCapacityReservationInput{LoadBalancerArn: lb.LoadBalancerArn})
	checkError(t, err, "ValidationError", "")
	checkError(t, modify(20000), "CapacityUnitsLimitExceeded", "")
	checkError(t, modify(200), "OperationNotPermitted", "not active")
	r.clock.Advance(time.Minute)
	r.em.Store().Config.ELB.CapacityDelay = time.Minute
	if err := modify(200); err != nil {
		t.Fatal(err)
	}
	checkError(t, modify(300), "PriorRequestNotComplete", "")
	r.clock.Advance(time.Minute)
	out := must(r.elb.DescribeCapacityReservation(r.ctx, &elb.DescribeCapacityReservationInput{LoadBalancerArn: lb.LoadBalancerArn}))(t)
	if *out.MinimumLoadBalancerCapacity.CapacityUnits != 200 || out.CapacityReservationState[0].State.Code != types.CapacityReservationStateEnumProvisioned {
		t.Errorf("reservation %+v", out)
	}
	if err := modify(0); err != nil {
		t.Fatal(err)
	}
	describe := func() *elb.DescribeCapacityReservationOutput {
		return must(r.elb.DescribeCapacityReservation(r.ctx, &elb.DescribeCapacityReservationInput{LoadBalancerArn: lb.LoadBalancerArn}))(t)
	}
	if out := describe(); out.MinimumLoadBalancerCapacity != nil || *out.DecreaseRequestsRemaining != 1 {
		t.Errorf("reservation after the reset: %+v", out)
	}
	for _, units := range []int32{400, 300} {
		if err := modify(units); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(time.Minute)
	}
	if out := describe(); *out.DecreaseRequestsRemaining != 0 {
		t.Errorf("%d decreases remain, want 0", *out.DecreaseRequestsRemaining)
	}
	checkError(t, modify(200), "CapacityDecreaseRequestLimitExceeded", "")
	r.clock.Advance(24 * time.Hour)
	if err := modify(200); err != nil {
		t.Error(err)
	}
}

// TestPagesSurviveDeletions checks that no load balancer is skipped or repeated if the last one of each page is deleted
// before the next page, even if lists have no random order.
func TestPagesSurviveDeletions(t *testing.T) {
	for _, shuffle := range []bool{true, false} {
		r := newHarness(t)
		r.em.Store().Config.Shuffle = shuffle
		lb := r.createALB("app")
		var want, got []int32
		for i := range int32(6) {
			r.createListener(lb.LoadBalancerArn, 80+i, fixedResponseActions("404"))
			want = append(want, 80+i)
		}
		in := &elb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn, PageSize: aws.Int32(1)}
		for {
			out := must(r.elb.DescribeListeners(r.ctx, in))(t)
			for _, l := range out.Listeners {
				got = append(got, *l.Port)
				must(r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: l.ListenerArn}))(t)
			}
			if in.Marker = out.NextMarker; in.Marker == nil {
				break
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("random order %v (-want +got):\n%s", shuffle, d)
		}
	}
}

func TestDescribeLoadBalancersInPages(t *testing.T) {
	r := newHarness(t)
	want := []string{}
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		r.createALB(n)
		want = append(want, n)
	}
	r.em.Store().Config.PageSize = 2
	var got []string
	pages := 0
	for p := elb.NewDescribeLoadBalancersPaginator(r.elb, &elb.DescribeLoadBalancersInput{}); p.HasMorePages(); pages++ {
		out := must(p.NextPage(r.ctx))(t)
		for _, lb := range out.LoadBalancers {
			got = append(got, *lb.LoadBalancerName)
		}
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" || pages != 3 {
		t.Errorf("%d pages (-want +got):\n%s", pages, d)
	}
	_, err := r.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{Marker: aws.String("nonsense")})
	checkError(t, err, "ValidationError", "marker")
	_, err = r.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(401)})
	checkError(t, err, "ValidationError", "Value '401' at 'pageSize'")
}
