package ec2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestCreateSecurityGroup(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	c.createSecurityGroup(vpc, "taken")
	cases := map[string]struct {
		in   ec2.CreateSecurityGroupInput
		want string
	}{
		"good":                             {ec2.CreateSecurityGroupInput{GroupName: aws.String("web"), Description: aws.String("[k8s] (a) b:c")}, ""},
		"name in use, in other case":       {ec2.CreateSecurityGroupInput{GroupName: aws.String("TAKEN"), Description: aws.String("x")}, "InvalidGroup.Duplicate"},
		"default":                          {ec2.CreateSecurityGroupInput{GroupName: aws.String("default"), Description: aws.String("x")}, "InvalidGroup.Reserved"},
		"looks like an id":                 {ec2.CreateSecurityGroupInput{GroupName: aws.String("sg-web"), Description: aws.String("x")}, "InvalidParameterValue"},
		"long name":                        {ec2.CreateSecurityGroupInput{GroupName: aws.String(strings.Repeat("a", 256)), Description: aws.String("x")}, "InvalidParameterValue"},
		"invalid character in description": {ec2.CreateSecurityGroupInput{GroupName: aws.String("b"), Description: aws.String("naïve")}, "InvalidParameterValue"},
		"empty description":                {ec2.CreateSecurityGroupInput{GroupName: aws.String("b"), Description: aws.String("")}, "MissingParameter"},
		"tag for another resource type":    {ec2.CreateSecurityGroupInput{GroupName: aws.String("b"), Description: aws.String("x"), TagSpecifications: tagSpecifications(types.ResourceTypeVpc, "a", "b")}, "InvalidParameterValue"},
		"reserved tag":                     {ec2.CreateSecurityGroupInput{GroupName: aws.String("b"), Description: aws.String("x"), TagSpecifications: tagSpecifications(types.ResourceTypeSecurityGroup, "aws:x", "b")}, "InvalidParameterValue"},
		"no such VPC":                      {ec2.CreateSecurityGroupInput{GroupName: aws.String("b"), Description: aws.String("x"), VpcId: aws.String("vpc-0123456789abcdef0")}, "InvalidVpcID.NotFound"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.in.VpcId == nil {
				tc.in.VpcId = &vpc
			}
			_, err := c.CreateSecurityGroup(ctx, &tc.in)
			checkCode(t, tc.want, err)
		})
	}
	c.withPartition(func(p *store.Partition) { p.Store().Config.Quotas["security-groups-per-region"] = 1 })
	_, err := c.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("more"), Description: aws.String("x"), VpcId: &vpc})
	checkCode(t, "SecurityGroupLimitExceeded", err)
}

// tcpPermission returns a permission for one TCP port and a list of IPv4 CIDR blocks.
func tcpPermission(port int32, blocks ...string) types.IpPermission {
	perm := types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &port, ToPort: &port}
	for _, b := range blocks {
		perm.IpRanges = append(perm.IpRanges, types.IpRange{CidrIp: aws.String(b), Description: aws.String("")})
	}
	return perm
}

func securityGroupPermission(port int32, groups ...string) types.IpPermission {
	perm := tcpPermission(port)
	for _, g := range groups {
		perm.UserIdGroupPairs = append(perm.UserIdGroupPairs, types.UserIdGroupPair{GroupId: aws.String(g)})
	}
	return perm
}

func (c harness) allowIngress(group string, perms ...types.IpPermission) error {
	_, err := c.AuthorizeSecurityGroupIngress(c.t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: perms})
	return err
}

func (c harness) revokeIngress(group string, perms ...types.IpPermission) error {
	_, err := c.RevokeSecurityGroupIngress(c.t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &group, IpPermissions: perms})
	return err
}

// ingressRules returns the inbound rules of a security group as sorted lines: protocol, ports, peer and description.
func (c harness) ingressRules(group string) []string {
	c.t.Helper()
	out, err := c.DescribeSecurityGroups(c.t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	var lines []string
	for _, p := range must(c.t, out, err).SecurityGroups[0].IpPermissions {
		ports := ""
		if p.FromPort != nil {
			ports = fmt.Sprintf(" %d-%d", *p.FromPort, *p.ToPort)
		}
		add := func(peer string, description *string) {
			lines = append(lines, strings.TrimSpace(*p.IpProtocol+ports+" "+peer+" "+aws.ToString(description)))
		}
		for _, r := range p.IpRanges {
			add(*r.CidrIp, r.Description)
		}
		for _, r := range p.Ipv6Ranges {
			add(*r.CidrIpv6, r.Description)
		}
		for _, r := range p.PrefixListIds {
			add(*r.PrefixListId, r.Description)
		}
		for _, r := range p.UserIdGroupPairs {
			add(*r.UserId+"/"+*r.GroupId, r.Description)
		}
	}
	slices.Sort(lines)
	return lines
}

func TestAuthorizeCanonicalForm(t *testing.T) {
	c := newHarness(t)
	vpc := c.createVPC("10.0.0.0/16")
	g, other := c.createSecurityGroup(vpc, "g"), c.createSecurityGroup(vpc, "other")
	six := tcpPermission(443)
	six.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: aws.String("2001:DB8:0::1/32"), Description: aws.String("net")}}
	checkCode(t, "", c.allowIngress(g, tcpPermission(80, "100.68.0.18/18"), six,
		types.IpPermission{IpProtocol: aws.String("-1"), FromPort: aws.Int32(1), ToPort: aws.Int32(2), IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}},
		types.IpPermission{IpProtocol: aws.String("17"), FromPort: aws.Int32(53), ToPort: aws.Int32(53), IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}},
		types.IpPermission{IpProtocol: aws.String("icmp"), FromPort: aws.Int32(3), ToPort: aws.Int32(4), IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}},
		securityGroupPermission(8080, other, g)))
	want := []string{
		"-1 10.0.0.0/8",
		"icmp 3-4 0.0.0.0/0",
		"tcp 443-443 2001:db8::/32 net",
		"tcp 80-80 100.68.0.0/18",
		"tcp 8080-8080 111122223333/" + g,
		"tcp 8080-8080 111122223333/" + other,
		"udp 53-53 0.0.0.0/0",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, c.ingressRules(g)); diff != "" {
		t.Error(diff)
	}
}

func TestAuthorizeRefusals(t *testing.T) {
	c := newHarness(t)
	vpc, far := c.createVPC("10.0.0.0/16"), c.createVPC("10.1.0.0/16")
	g, stranger := c.createSecurityGroup(vpc, "g"), c.createSecurityGroup(far, "stranger")
	checkCode(t, "", c.allowIngress(g, tcpPermission(80, "10.0.0.0/8")))
	described := tcpPermission(80, "10.0.0.0/8")
	described.IpRanges[0].Description = aws.String("another description")
	long := tcpPermission(81, "10.0.0.0/8")
	long.IpRanges[0].Description = aws.String(strings.Repeat("x", 256))
	noPorts := tcpPermission(80, "10.0.0.0/8")
	noPorts.ToPort = nil
	backwards := tcpPermission(80, "10.0.0.0/8")
	backwards.ToPort = aws.Int32(79)
	cases := map[string]struct {
		perms []types.IpPermission
		want  string
	}{
		"exists":                        {[]types.IpPermission{tcpPermission(80, "10.0.0.0/8")}, "InvalidPermission.Duplicate"},
		"exists, other description":     {[]types.IpPermission{described}, "InvalidPermission.Duplicate"},
		"exists, with host bits set":    {[]types.IpPermission{tcpPermission(80, "10.1.2.3/8")}, "InvalidPermission.Duplicate"},
		"twice in one call":             {[]types.IpPermission{tcpPermission(81, "10.0.0.0/8"), tcpPermission(81, "10.9.9.9/8")}, "InvalidParameterValue"},
		"one of two exists":             {[]types.IpPermission{tcpPermission(81, "10.0.0.0/8"), tcpPermission(80, "10.0.0.0/8")}, "InvalidPermission.Duplicate"},
		"malformed block":               {[]types.IpPermission{tcpPermission(81, "10.0.0/8")}, "InvalidParameterValue"},
		"ports missing":                 {[]types.IpPermission{noPorts}, "InvalidParameterValue"},
		"first port above last port":    {[]types.IpPermission{backwards}, "InvalidParameterValue"},
		"unknown protocol":              {[]types.IpPermission{{IpProtocol: aws.String("xyz"), IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}}}, "InvalidParameterValue"},
		"no peer":                       {[]types.IpPermission{tcpPermission(81)}, "MissingParameter"},
		"unknown security group":        {[]types.IpPermission{securityGroupPermission(81, "sg-0123456789abcdef0")}, "InvalidGroup.NotFound"},
		"security group of another VPC": {[]types.IpPermission{securityGroupPermission(81, stranger)}, "InvalidGroup.NotFound"},
		"long description":              {[]types.IpPermission{long}, "InvalidParameterValue"},
		"unknown prefix list":           {[]types.IpPermission{{IpProtocol: aws.String("-1"), PrefixListIds: []types.PrefixListId{{PrefixListId: aws.String("pl-0123456789abcdef0")}}}}, "InvalidPrefixListID.NotFound"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			checkCode(t, tc.want, c.allowIngress(g, tc.perms...))
			if diff := cmp.Diff([]string{"tcp 80-80 10.0.0.0/8"}, c.ingressRules(g)); diff != "" {
				t.Errorf("a rejected call changed the security group:\n%s", diff)
			}
		})
	}
	err := c.allowIngress(g, tcpPermission(80, "10.0.0.0/8"))
	if want := `the specified rule "peer: 10.0.0.0/8, TCP, from port: 80, to port: 80, ALLOW" already exists`; !strings.Contains(err.Error(), want) {
		t.Errorf("want %s, got %v", want, err)
	}
}

func TestRuleQuota(t *testing.T) {
	c := newHarness(t)
	vpc := c.createVPC("10.0.0.0/16")
	g, other := c.createSecurityGroup(vpc, "g"), c.createSecurityGroup(vpc, "other")
	var blocks []string
	for i := range 60 {
		blocks = append(blocks, fmt.Sprintf("10.0.%d.0/24", i))
	}
	checkCode(t, "", c.allowIngress(g, tcpPermission(80, blocks...)))
	checkCode(t, "RulesPerSecurityGroupLimitExceeded", c.allowIngress(g, tcpPermission(81, "10.0.0.0/8")))
	checkCode(t, "RulesPerSecurityGroupLimitExceeded", c.allowIngress(g, securityGroupPermission(81, other)))
	six := tcpPermission(81)
	six.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}
	checkCode(t, "", c.allowIngress(g, six)) // the quota of IPv6 rules is separate

	list, err := c.CreateManagedPrefixList(t.Context(), &ec2.CreateManagedPrefixListInput{PrefixListName: aws.String("l"), AddressFamily: aws.String("IPv4"), MaxEntries: aws.Int32(61)})
	id := must(t, list, err).PrefixList.PrefixListId
	checkCode(t, "RulesPerSecurityGroupLimitExceeded", c.allowIngress(other, types.IpPermission{IpProtocol: aws.String("-1"), PrefixListIds: []types.PrefixListId{{PrefixListId: id}}}))
}

func TestRevoke(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	g := c.createSecurityGroup(vpc, "g")
	checkCode(t, "", c.allowIngress(g, tcpPermission(80, "10.0.0.0/8", "11.0.0.0/8"), tcpPermission(81, "10.0.0.0/8")))
	checkCode(t, "InvalidPermission.NotFound", c.revokeIngress(g, tcpPermission(80, "10.0.0.0/8"), tcpPermission(82, "10.0.0.0/8")))
	if n := len(c.ingressRules(g)); n != 3 {
		t.Errorf("want 3 rules after a rejected call, got %d", n)
	}
	checkCode(t, "", c.revokeIngress(g, tcpPermission(80, "10.1.1.1/8")))
	if diff := cmp.Diff([]string{"tcp 80-80 11.0.0.0/8", "tcp 81-81 10.0.0.0/8"}, c.ingressRules(g)); diff != "" {
		t.Error(diff)
	}
	listed, err := c.DescribeSecurityGroupRules(ctx, &ec2.DescribeSecurityGroupRulesInput{Filters: []types.Filter{newFilter("group-id", g)}})
	var ids []string
	egress := 0
	for _, r := range must(t, listed, err).SecurityGroupRules {
		if !*r.IsEgress {
			ids = append(ids, *r.SecurityGroupRuleId)
			continue
		}
		if egress++; *r.FromPort != -1 || aws.ToString(r.CidrIpv4) != "0.0.0.0/0" && aws.ToString(r.CidrIpv6) != "::/0" {
			t.Errorf("egress %+v", r)
		}
	}
	if egress != 2 {
		t.Errorf("%d egress rules, want one for IPv4 and one for IPv6", egress)
	}
	revoked, err := c.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &g, SecurityGroupRuleIds: ids})
	if n := len(must(t, revoked, err).RevokedSecurityGroupRules); n != 2 || len(c.ingressRules(g)) != 0 {
		t.Errorf("%d rules revoked, want 2; remaining rules: %v", n, c.ingressRules(g))
	}
	_, err = c.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &g, SecurityGroupRuleIds: ids})
	checkCode(t, "InvalidSecurityGroupRuleId.NotFound", err)

	// In the default VPC, a request to revoke an unknown rule is not an error. The response contains the permission of this
	// rule.
	made, err := c.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("d"), Description: aws.String("x")})
	d := *must(t, made, err).GroupId
	checkCode(t, "", c.allowIngress(d, tcpPermission(80, "10.0.0.0/8")))
	out, err := c.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &d, IpPermissions: []types.IpPermission{tcpPermission(80, "10.0.0.0/8"), tcpPermission(82, "10.0.0.0/8")}})
	if n := len(must(t, out, err).UnknownIpPermissions); n != 1 || len(c.ingressRules(d)) != 0 {
		t.Errorf("%d unknown permissions, want 1; remaining rules: %v", n, c.ingressRules(d))
	}

	all := types.IpPermission{IpProtocol: aws.String("-1"), IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}}
	_, err = c.RevokeSecurityGroupEgress(ctx, &ec2.RevokeSecurityGroupEgressInput{GroupId: &g, IpPermissions: []types.IpPermission{all}})
	checkCode(t, "", err)
	_, err = c.AuthorizeSecurityGroupEgress(ctx, &ec2.AuthorizeSecurityGroupEgressInput{GroupId: &g, IpPermissions: []types.IpPermission{all}})
	checkCode(t, "", err)
}

func TestRuleDescriptions(t *testing.T) {
	c := newHarness(t)
	g := c.createSecurityGroup(c.createVPC("10.0.0.0/16"), "g")
	checkCode(t, "", c.allowIngress(g, tcpPermission(80, "10.0.0.0/8")))
	perm := tcpPermission(80, "10.0.0.0/8")
	perm.IpRanges[0].Description = aws.String("office")
	update := func(p types.IpPermission) error {
		_, err := c.UpdateSecurityGroupRuleDescriptionsIngress(t.Context(), &ec2.UpdateSecurityGroupRuleDescriptionsIngressInput{GroupId: &g, IpPermissions: []types.IpPermission{p}})
		return err
	}
	checkCode(t, "", update(perm))
	if diff := cmp.Diff([]string{"tcp 80-80 10.0.0.0/8 office"}, c.ingressRules(g)); diff != "" {
		t.Error(diff)
	}
	checkCode(t, "InvalidPermission.NotFound", update(tcpPermission(81, "10.0.0.0/8")))
}

func TestDeleteSecurityGroup(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	subnet := c.createSubnet(vpc, "10.0.0.0/24", "us-west-2a")
	del := func(id string) error {
		_, err := c.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
		return err
	}
	a, b, self := c.createSecurityGroup(vpc, "a"), c.createSecurityGroup(vpc, "b"), c.createSecurityGroup(vpc, "self")
	checkCode(t, "", c.allowIngress(b, securityGroupPermission(80, a)))
	checkCode(t, "DependencyViolation", del(a))
	checkCode(t, "", c.revokeIngress(b, securityGroupPermission(80, a)))
	checkCode(t, "", del(a))
	checkCode(t, "InvalidGroup.NotFound", del(a))
	checkCode(t, "", c.allowIngress(self, securityGroupPermission(80, self)))
	checkCode(t, "", del(self))

	i := c.launchInstances(subnet, 1, b)[0]
	checkCode(t, "DependencyViolation", del(b))
	_, err := c.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}})
	checkCode(t, "", err)
	checkCode(t, "", del(b))

	groups, err := c.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{newFilter("group-name", "default"), newFilter("vpc-id", vpc)}})
	checkCode(t, "CannotDelete", del(*must(t, groups, err).SecurityGroups[0].GroupId))
}

func TestENIBlocksDeletionOfItsSecurityGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHarness(t)
		vpc := c.createVPC("10.0.0.0/16")
		subnet, g := c.createSubnet(vpc, "10.0.0.0/24", "us-west-2a"), c.createSecurityGroup(vpc, "g")
		c.withPartition(func(p *store.Partition) {
			eni, err := p.CreateServiceENI("ELB app/a/1", "amazon-elb", subnet, []string{g})
			if err != nil {
				t.Fatal(err)
			}
			p.DeleteServiceENI(eni.ID, 30*time.Second)
		})
		del := func() error {
			_, err := c.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &g})
			return err
		}
		time.Sleep(29 * time.Second)
		checkCode(t, "DependencyViolation", del())
		time.Sleep(time.Second)
		checkCode(t, "", del())
	})
}

func TestSecurityGroupFilters(t *testing.T) {
	c := newHarness(t)
	vpc := c.createVPC("10.0.0.0/16")
	a, b := c.createSecurityGroup(vpc, "web-a", "team", "x", "env", "test"), c.createSecurityGroup(vpc, "web-b", "team", "y")
	checkCode(t, "", c.allowIngress(a, tcpPermission(80, "10.0.0.0/8"), securityGroupPermission(81, b)))
	cases := map[string]struct {
		filters []types.Filter
		want    []string
	}{
		"name with wildcard":         {[]types.Filter{newFilter("group-name", "web-*")}, []string{a, b}},
		"tag":                        {[]types.Filter{newFilter("tag:team", "x")}, []string{a}},
		"tag, either value":          {[]types.Filter{newFilter("tag:team", "x", "y")}, []string{a, b}},
		"tag, case matters":          {[]types.Filter{newFilter("tag:Team", "x")}, nil},
		"key":                        {[]types.Filter{newFilter("tag-key", "env")}, []string{a}},
		"both":                       {[]types.Filter{newFilter("tag:team", "*"), newFilter("tag:env", "test")}, []string{a}},
		"peer block":                 {[]types.Filter{newFilter("ip-permission.cidr", "10.0.0.0/8")}, []string{a}},
		"peer security group":        {[]types.Filter{newFilter("ip-permission.group-id", b)}, []string{a}},
		"escaped character":          {[]types.Filter{newFilter("group-name", `\web-?`)}, []string{a, b}},
		"escaped wildcard":           {[]types.Filter{newFilter("group-name", `web-\*`)}, nil},
		"many wildcards":             {[]types.Filter{newFilter("group-name", strings.Repeat("*", 100)+strings.Repeat("?*", 6)+"x")}, nil},
		"one character":              {[]types.Filter{newFilter("group-name", "web-?")}, []string{a, b}},
		"VPC and security group IDs": {[]types.Filter{newFilter("vpc-id", vpc), newFilter("group-id", a, b)}, []string{a, b}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := c.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: tc.filters})
			var got []string
			for _, g := range must(t, out, err).SecurityGroups {
				got = append(got, *g.GroupId)
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(tc.want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
