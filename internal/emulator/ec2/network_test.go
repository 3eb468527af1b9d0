package ec2_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestNewAccountHasADefaultVPC(t *testing.T) {
	c := newHarness(t)
	vpcs, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []types.Filter{newFilter("is-default", "true")}})
	vpc := must(t, vpcs, err).Vpcs[0]
	if *vpc.CidrBlock != "172.31.0.0/16" {
		t.Errorf("CIDR block %s of the default VPC", *vpc.CidrBlock)
	}
	subnets, err := c.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{newFilter("default-for-az", "true")}})
	zones := map[string]bool{}
	for _, s := range must(t, subnets, err).Subnets {
		zones[*s.AvailabilityZone] = true
		if *s.AvailableIpAddressCount != 4091 {
			t.Errorf("%d free addresses in a /20", *s.AvailableIpAddressCount)
		}
	}
	if len(zones) != 3 {
		t.Errorf("zones %v", zones)
	}
	tables, err := c.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{Filters: []types.Filter{newFilter("association.main", "true")}})
	if routes := must(t, tables, err).RouteTables[0].Routes; len(routes) != 2 {
		t.Errorf("routes %+v", routes)
	}
}

func TestVPCAndSubnets(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	out, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{vpc}})
	v := must(t, out, err).Vpcs[0]
	if len(v.Ipv6CidrBlockAssociationSet) != 1 || v.State != types.VpcStateAvailable || *v.OwnerId != "111122223333" {
		t.Errorf("%+v", v)
	}
	create := func(block, zone string) error {
		_, err := c.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: &vpc, CidrBlock: &block, AvailabilityZone: &zone})
		return err
	}
	checkCode(t, "", create("10.0.0.0/24", "us-west-2a"))
	checkCode(t, "InvalidSubnet.Conflict", create("10.0.0.128/25", "us-west-2b"))
	checkCode(t, "InvalidSubnet.Range", create("10.1.0.0/24", "us-west-2a"))
	checkCode(t, "InvalidSubnet.Range", create("10.0.1.0/29", "us-west-2a"))
	checkCode(t, "InvalidParameterValue", create("10.0.1.0/24", "us-west-2z"))
	checkCode(t, "InvalidParameterValue", create("nonsense", "us-west-2a"))

	_, err = c.AssociateVpcCidrBlock(ctx, &ec2.AssociateVpcCidrBlockInput{VpcId: &vpc, CidrBlock: aws.String("10.1.0.0/16")})
	checkCode(t, "", err)
	checkCode(t, "", create("10.1.0.0/24", "us-west-2a"))

	six := *v.Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock
	id := c.createSubnet(vpc, "10.0.2.0/24", "us-west-2b", "Name", "two")
	_, err = c.AssociateSubnetCidrBlock(ctx, &ec2.AssociateSubnetCidrBlockInput{SubnetId: &id, Ipv6CidrBlock: &six})
	checkCode(t, "InvalidSubnet.Range", err) // the block is a /56
	sixtyFour := six[:len(six)-len("/56")] + "/64"
	_, err = c.AssociateSubnetCidrBlock(ctx, &ec2.AssociateSubnetCidrBlockInput{SubnetId: &id, Ipv6CidrBlock: &sixtyFour})
	checkCode(t, "", err)
	_, err = c.ModifySubnetAttribute(ctx, &ec2.ModifySubnetAttributeInput{SubnetId: &id, MapPublicIpOnLaunch: &types.AttributeBooleanValue{Value: aws.Bool(true)}})
	checkCode(t, "", err)
	subnets, err := c.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []types.Filter{newFilter("tag:Name", "t?o"), newFilter("vpc-id", vpc)}})
	s := must(t, subnets, err).Subnets[0]
	if *s.SubnetId != id || !*s.MapPublicIpOnLaunch || *s.AvailabilityZoneId != "usw2-az2" || *s.Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock != sixtyFour {
		t.Errorf("%+v", s)
	}

	eni, err := c.CreateNetworkInterface(ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: &id, Ipv6AddressCount: aws.Int32(1)})
	first := must(t, eni, err).NetworkInterface
	more, err := c.AssignIpv6Addresses(ctx, &ec2.AssignIpv6AddressesInput{NetworkInterfaceId: first.NetworkInterfaceId, Ipv6AddressCount: aws.Int32(2)})
	if n := len(must(t, more, err).AssignedIpv6Addresses); n != 2 || len(first.Ipv6Addresses) != 1 {
		t.Errorf("IPv6: %d at creation, %d later", len(first.Ipv6Addresses), n)
	}
	blocks, err := c.AssignPrivateIpAddresses(ctx, &ec2.AssignPrivateIpAddressesInput{NetworkInterfaceId: first.NetworkInterfaceId, Ipv4PrefixCount: aws.Int32(1)})
	if b := must(t, blocks, err).AssignedIpv4Prefixes; len(b) != 1 || *b[0].Ipv4Prefix != "10.0.2.16/28" {
		t.Errorf("prefixes %+v", b)
	}
	_, err = c.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &id})
	checkCode(t, "DependencyViolation", err)
	_, err = c.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: first.NetworkInterfaceId})
	checkCode(t, "", err)
	_, err = c.ModifyVpcAttribute(ctx, &ec2.ModifyVpcAttributeInput{VpcId: &vpc, EnableDnsHostnames: &types.AttributeBooleanValue{Value: aws.Bool(true)}})
	checkCode(t, "", err)

	_, err = c.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: &vpc})
	checkCode(t, "DependencyViolation", err)
	empty := c.createVPC("10.9.0.0/16")
	ipv6Block := func(id string) string {
		out, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{id}})
		return *must(t, out, err).Vpcs[0].Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock
	}
	last := c.createVPC("10.10.0.0/16")
	_, err = c.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: &empty})
	checkCode(t, "", err)
	if next := c.createVPC("10.11.0.0/16"); ipv6Block(next) == ipv6Block(last) {
		t.Errorf("two VPCs have the IPv6 block %s", ipv6Block(next))
	}
	_, err = c.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &id})
	checkCode(t, "", err)
}

func TestRequestErrorCodes(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	ghost := "0123456789abcdef0"
	cases := map[string]struct {
		err  func() error
		want string
	}{
		"subnet": {func() error {
			_, err := c.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-" + ghost}})
			return err
		}, "InvalidSubnetID.NotFound"},
		"subnet malformed": {func() error {
			_, err := c.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-xyz"}})
			return err
		}, "InvalidSubnetID.Malformed"},
		"group": {func() error {
			_, err := c.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{"sg-" + ghost}})
			return err
		}, "InvalidGroup.NotFound"},
		"group malformed": {func() error {
			_, err := c.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{"group"}})
			return err
		}, "InvalidGroupId.Malformed"},
		"vpc": {func() error {
			_, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-" + ghost}})
			return err
		}, "InvalidVpcID.NotFound"},
		"instance": {func() error {
			_, err := c.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{"i-" + ghost}})
			return err
		}, "InvalidInstanceID.NotFound"},
		"interface": {func() error {
			_, err := c.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: []string{"eni-" + ghost}})
			return err
		}, "InvalidNetworkInterfaceID.NotFound"},
		"route table": {func() error {
			_, err := c.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{RouteTableIds: []string{"rtb-" + ghost}})
			return err
		}, "InvalidRouteTableID.NotFound"},
		"gateway": {func() error {
			_, err := c.DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{InternetGatewayIds: []string{"igw-" + ghost}})
			return err
		}, "InvalidInternetGatewayID.NotFound"},
		"prefix list": {func() error {
			_, err := c.DescribeManagedPrefixLists(ctx, &ec2.DescribeManagedPrefixListsInput{PrefixListIds: []string{"pl-" + ghost}})
			return err
		}, "InvalidPrefixListID.NotFound"},
		"address": {func() error {
			_, err := c.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{"eipalloc-" + ghost}})
			return err
		}, "InvalidAllocationID.NotFound"},
		"MaxResults with identifiers": {func() error {
			_, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-" + ghost}, MaxResults: aws.Int32(5)})
			return err
		}, "InvalidParameterCombination"},
		"MaxResults too small": {func() error {
			_, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{MaxResults: aws.Int32(4)})
			return err
		}, "InvalidParameterValue"},
		"invalid token": {func() error {
			_, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{MaxResults: aws.Int32(5), NextToken: aws.String("%")})
			return err
		}, "InvalidNextToken"},
		"unknown filter": {func() error {
			_, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: []types.Filter{newFilter("colour", "red")}})
			return err
		}, "InvalidParameterValue"},
		"dry run": {func() error {
			_, err := c.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), DryRun: aws.Bool(true)})
			return err
		}, "DryRunOperation"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { checkCode(t, tc.want, tc.err()) })
	}
}

func TestDescribeIsPaginated(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	var want []string
	for i := range 7 {
		want = append(want, c.createSecurityGroup(vpc, string(rune('a'+i))))
	}
	list := func(asked *int32) (got []string, calls int) {
		pages := ec2.NewDescribeSecurityGroupsPaginator(c, &ec2.DescribeSecurityGroupsInput{
			MaxResults: asked, Filters: []types.Filter{newFilter("vpc-id", vpc), newFilter("description", "a group")},
		})
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			must(t, out, err)
			for _, g := range out.SecurityGroups {
				got = append(got, *g.GroupId)
			}
			calls++
		}
		slices.Sort(got)
		return got, calls
	}
	slices.Sort(want)
	for asked, wantCalls := range map[int32]int{0: 1, 5: 2, 1000: 1} {
		size := &asked
		if asked == 0 {
			size = nil
		}
		got, calls := list(size)
		if diff := cmp.Diff(want, got); diff != "" || calls != wantCalls {
			t.Errorf("pages of %d: %d calls\n%s", asked, calls, diff)
		}
	}
	c.withPartition(func(p *store.Partition) { p.Store().Config.PageSize = 2 })
	if got, calls := list(nil); calls != 4 || !cmp.Equal(want, got) {
		t.Errorf("small pages: %d calls, %v", calls, got)
	}
}

func TestDescribeZonesAndRegions(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	c.withPartition(func(p *store.Partition) {
		p.Zones = append(p.Zones, &store.Zone{
			Name: "us-west-2-lax-1a", ID: "usw2-lax1-az1", Type: "local-zone", Group: "us-west-2-lax-1",
			BorderGroup: "us-west-2-lax-1", Parent: "us-west-2a", OptIn: "not-opted-in", State: "available",
		})
	})
	cases := map[string]struct {
		in   ec2.DescribeAvailabilityZonesInput
		want []string
		code string
	}{
		"opted in":                  {ec2.DescribeAvailabilityZonesInput{}, []string{"us-west-2a", "us-west-2b", "us-west-2c"}, ""},
		"all":                       {ec2.DescribeAvailabilityZonesInput{AllAvailabilityZones: aws.Bool(true)}, []string{"us-west-2-lax-1a", "us-west-2a", "us-west-2b", "us-west-2c"}, ""},
		"by id":                     {ec2.DescribeAvailabilityZonesInput{ZoneIds: []string{"usw2-az2"}}, []string{"us-west-2b"}, ""},
		"by name":                   {ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"us-west-2c"}}, []string{"us-west-2c"}, ""},
		"by type":                   {ec2.DescribeAvailabilityZonesInput{AllAvailabilityZones: aws.Bool(true), Filters: []types.Filter{newFilter("zone-type", "local-zone")}}, []string{"us-west-2-lax-1a"}, ""},
		"unknown zone":              {ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"us-west-2x"}}, nil, "InvalidParameterValue"},
		"zone that is not opted in": {ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"us-west-2-lax-1a"}}, nil, "InvalidParameterValue"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := c.DescribeAvailabilityZones(ctx, &tc.in)
			checkCode(t, tc.code, err)
			if err != nil {
				return
			}
			var got []string
			for _, z := range out.AvailabilityZones {
				got = append(got, *z.ZoneName)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	regions, err := c.DescribeRegions(ctx, nil, func(o *ec2.Options) { o.Region = "eu-west-3" })
	var got []string
	for _, r := range must(t, regions, err).Regions {
		got = append(got, *r.RegionName)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"eu-west-3", "us-east-1", "us-west-2"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRouteTablesAndInternetGateways(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	subnet := c.createSubnet(vpc, "10.0.0.0/24", "us-west-2a")
	gw, err := c.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{TagSpecifications: tagSpecifications(types.ResourceTypeInternetGateway, "Name", "out")})
	igw := *must(t, gw, err).InternetGateway.InternetGatewayId
	table, err := c.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &vpc})
	rtb := *must(t, table, err).RouteTable.RouteTableId
	route := func(to string) error {
		_, err := c.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: &rtb, DestinationCidrBlock: &to, GatewayId: &igw})
		return err
	}
	checkCode(t, "InvalidParameterValue", route("0.0.0.0/0")) // the gateway is not attached yet
	_, err = c.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: &igw, VpcId: &vpc})
	checkCode(t, "", err)
	_, err = c.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: &igw, VpcId: &vpc})
	checkCode(t, "Resource.AlreadyAssociated", err)
	checkCode(t, "", route("0.0.0.0/0"))
	checkCode(t, "RouteAlreadyExists", route("0.0.0.0/0"))
	toList := &ec2.CreateRouteInput{RouteTableId: &rtb, DestinationPrefixListId: aws.String("pl-0123456789abcdef0"), GatewayId: &igw}
	_, err = c.CreateRoute(ctx, toList)
	checkCode(t, "", err)
	_, err = c.CreateRoute(ctx, toList)
	if checkCode(t, "RouteAlreadyExists", err); err != nil && !strings.Contains(err.Error(), "identified by pl-0123456789abcdef0 already") {
		t.Error(err)
	}
	for value, want := range map[string]int{"0.0.0.0/0": 1, "invalid Prefix": 0, "*:*": 0} {
		out, err := c.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{
			RouteTableIds: []string{rtb}, Filters: []types.Filter{newFilter("route.destination-cidr-block", value)},
		})
		if n := len(must(t, out, err).RouteTables); n != want {
			t.Errorf("route.destination-cidr-block=%s: found %d route tables, want %d", value, n, want)
		}
	}

	bySubnet := []types.Filter{newFilter("association.subnet-id", subnet)}
	out, err := c.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: bySubnet})
	if n := len(must(t, out, err).RouteTables); n != 0 {
		t.Errorf("a subnet without an explicit association is associated with %d route tables", n)
	}
	assoc, err := c.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: &rtb, SubnetId: &subnet})
	association := must(t, assoc, err).AssociationId
	out, err = c.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: append(bySubnet, newFilter("route.gateway-id", igw))})
	if got := must(t, out, err).RouteTables; len(got) != 1 || *got[0].RouteTableId != rtb || len(got[0].Routes) != 4 {
		t.Errorf("%+v", got)
	}
	_, err = c.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: &rtb})
	checkCode(t, "DependencyViolation", err)
	_, err = c.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: association})
	checkCode(t, "", err)
	_, err = c.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: &rtb})
	checkCode(t, "", err)

	gateways, err := c.DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{Filters: []types.Filter{newFilter("attachment.vpc-id", vpc)}})
	if g := must(t, gateways, err).InternetGateways; len(g) != 1 || g[0].Attachments[0].State != "available" {
		t.Errorf("%+v", g)
	}
	_, err = c.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &igw})
	checkCode(t, "DependencyViolation", err)
	_, err = c.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: &igw, VpcId: &vpc})
	checkCode(t, "", err)
	_, err = c.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &igw})
	checkCode(t, "", err)
}

func TestPrefixListsAndAddresses(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	made, err := c.CreateManagedPrefixList(ctx, &ec2.CreateManagedPrefixListInput{
		PrefixListName: aws.String("office"), AddressFamily: aws.String("IPv4"), MaxEntries: aws.Int32(2),
		Entries: []types.AddPrefixListEntry{{Cidr: aws.String("203.0.113.0/24"), Description: aws.String("desk")}},
	})
	list := must(t, made, err).PrefixList
	if list.State != types.PrefixListStateCreateComplete {
		t.Errorf("state %s", list.State)
	}
	entries, err := c.GetManagedPrefixListEntries(ctx, &ec2.GetManagedPrefixListEntriesInput{PrefixListId: list.PrefixListId})
	if e := must(t, entries, err).Entries; len(e) != 1 || *e[0].Cidr != "203.0.113.0/24" || *e[0].Description != "desk" {
		t.Errorf("%+v", e)
	}
	found, err := c.DescribeManagedPrefixLists(ctx, &ec2.DescribeManagedPrefixListsInput{Filters: []types.Filter{newFilter("prefix-list-name", "off*")}})
	if n := len(must(t, found, err).PrefixLists); n != 1 {
		t.Errorf("found %d prefix lists, want 1", n)
	}

	a, err := c.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	allocation := must(t, a, err).AllocationId
	addresses, err := c.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{Filters: []types.Filter{newFilter("public-ip", *a.PublicIp)}})
	if got := must(t, addresses, err).Addresses; len(got) != 1 || *got[0].AllocationId != *allocation || got[0].AssociationId != nil {
		t.Errorf("%+v", got)
	}
	subnets, err := c.DescribeSubnets(ctx, nil)
	subnet := *must(t, subnets, err).Subnets[0].SubnetId
	c.withPartition(func(p *store.Partition) {
		eni, err := p.CreateServiceENI("ELB net/a/1", "amazon-elb", subnet, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.AssociateAddress(*allocation, eni.ID); err != nil {
			t.Fatal(err)
		}
	})
	_, err = c.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: allocation})
	checkCode(t, "InvalidIPAddress.InUse", err)
	c.withPartition(func(p *store.Partition) { p.DeleteServiceENI(p.Addresses[*allocation].InterfaceID, 0) })
	_, err = c.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: allocation})
	checkCode(t, "", err)
	_, err = c.DeleteManagedPrefixList(ctx, &ec2.DeleteManagedPrefixListInput{PrefixListId: list.PrefixListId})
	checkCode(t, "", err)

	pool, err := c.CreateIpamPool(ctx, &ec2.CreateIpamPoolInput{IpamScopeId: aws.String("ipam-scope-1"), AddressFamily: types.AddressFamilyIpv4})
	id := *must(t, pool, err).IpamPool.IpamPoolId
	pools, err := c.DescribeIpamPools(ctx, &ec2.DescribeIpamPoolsInput{IpamPoolIds: []string{id}})
	if n := len(must(t, pools, err).IpamPools); n != 1 {
		t.Errorf("%d pools", n)
	}
	coip, err := c.DescribeCoipPools(ctx, &ec2.DescribeCoipPoolsInput{})
	if n := len(must(t, coip, err).CoipPools); n != 0 {
		t.Errorf("%d customer-owned pools", n)
	}
}
