package ec2

import (
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// CreateSubnet creates a subnet within the CIDR blocks of its VPC.
func (s *networks) CreateSubnet(c *store.Call, in *ec2.CreateSubnetInput) (*ec2.CreateSubnetOutput, error) {
	p := c.Partition
	v, err := findResource(kindVPC, p.VPCs, in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeSubnet)
	if err != nil {
		return nil, err
	}
	z, err := findZone(p, in.AvailabilityZone, in.AvailabilityZoneId)
	if err != nil {
		return nil, err
	}
	sub := &store.Subnet{VPCID: v.ID, Zone: z.Name, ZoneID: z.ID, OutpostARN: aws.ToString(in.OutpostArn)}
	if !aws.ToBool(in.Ipv6Native) {
		if sub.CIDR, err = readSubnetBlock(p, v, in.CidrBlock); err != nil {
			return nil, err
		}
	} else if in.CidrBlock != nil || in.Ipv6CidrBlock == nil {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterCombination", "An IPv6-only subnet needs an IPv6 CIDR block and no IPv4 CIDR block")
	}
	if in.Ipv6CidrBlock != nil {
		block, err := readSubnetIPv6Block(p, v, *in.Ipv6CidrBlock)
		if err != nil {
			return nil, err
		}
		sub.IPv6 = []store.CIDRAssociation{{ID: s.store.NewID("subnet-cidr-assoc-"), Block: block}}
	}
	sub.ID = s.store.NewID("subnet-")
	p.Subnets[sub.ID] = sub
	p.AddTags(sub.ID, tags)
	return &ec2.CreateSubnetOutput{Subnet: s.describeSubnet(p, sub)}, nil
}

// findZone returns the Availability Zone with a name or an ID. If both are nil, it returns the first zone.
func findZone(p *store.Partition, name, id *string) (*store.Zone, *store.Error) {
	if name == nil && id == nil {
		return p.Zones[0], nil
	}
	for _, z := range p.Zones {
		if name != nil && z.Name == *name || id != nil && z.ID == *id {
			return z, nil
		}
	}
	return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter availabilityZone is invalid.", aws.ToString(name)+aws.ToString(id))
}

// readSubnetBlock parses the IPv4 CIDR block of a subnet. The block must be a /16 to /28 of the VPC that does not overlap
// the block of another subnet.
func readSubnetBlock(p *store.Partition, v *store.VPC, text *string) (netip.Prefix, *store.Error) {
	if aws.ToString(text) == "" {
		return netip.Prefix{}, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter cidrBlock")
	}
	block, parse := netip.ParsePrefix(*text)
	if parse != nil || !block.Addr().Is4() {
		return netip.Prefix{}, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter cidrBlock is invalid. This is not a valid CIDR block.", *text)
	}
	block = block.Masked()
	if block.Bits() < 16 || block.Bits() > 28 || !v.Contains(block) {
		return netip.Prefix{}, store.Errorf(store.UnprovenSource, "InvalidSubnet.Range", "The CIDR '%s' is invalid.", *text)
	}
	for _, other := range p.Subnets {
		if other.VPCID == v.ID && other.CIDR.IsValid() && other.CIDR.Overlaps(block) {
			return netip.Prefix{}, store.Errorf(store.ReportSource("kubernetes/kops#2376"), "InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", *text)
		}
	}
	return block, nil
}

// readSubnetIPv6Block parses the IPv6 CIDR block of a subnet. The block must be a /64 of the VPC that does not overlap the
// block of another subnet.
func readSubnetIPv6Block(p *store.Partition, v *store.VPC, text string) (netip.Prefix, *store.Error) {
	block, parse := netip.ParsePrefix(text)
	if parse != nil || !block.Addr().Is6() {
		return netip.Prefix{}, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter ipv6CidrBlock is invalid. This is not a valid CIDR block.", text)
	}
	block = block.Masked()
	if block.Bits() != 64 || !v.Contains(block) {
		return netip.Prefix{}, store.Errorf(store.UnprovenSource, "InvalidSubnet.Range", "The CIDR '%s' is invalid.", text)
	}
	for _, other := range p.Subnets {
		for _, a := range other.IPv6 {
			if other.VPCID == v.ID && a.Block.Overlaps(block) {
				return netip.Prefix{}, store.Errorf(store.ReportSource("kubernetes/kops#2376"), "InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", text)
			}
		}
	}
	return block, nil
}

// AssociateSubnetCidrBlock adds an IPv6 CIDR block to a subnet that has none.
func (s *networks) AssociateSubnetCidrBlock(c *store.Call, in *ec2.AssociateSubnetCidrBlockInput) (*ec2.AssociateSubnetCidrBlockOutput, error) {
	p := c.Partition
	sub, err := findResource(kindSubnet, p.Subnets, in.SubnetId)
	if err != nil {
		return nil, err
	}
	if len(sub.IPv6) > 0 {
		return nil, store.Errorf(store.UnprovenSource, "InvalidSubnet.Conflict", "The subnet '%s' already has an IPv6 CIDR block", sub.ID)
	}
	block, err := readSubnetIPv6Block(p, p.VPCs[sub.VPCID], aws.ToString(in.Ipv6CidrBlock))
	if err != nil {
		return nil, err
	}
	sub.IPv6 = []store.CIDRAssociation{{ID: s.store.NewID("subnet-cidr-assoc-"), Block: block}}
	return &ec2.AssociateSubnetCidrBlockOutput{
		SubnetId: aws.String(sub.ID), Ipv6CidrBlockAssociation: &subnetIPv6Associations(sub)[0],
	}, nil
}

// ModifySubnetAttribute sets attributes of a subnet.
func (s *networks) ModifySubnetAttribute(c *store.Call, in *ec2.ModifySubnetAttributeInput) (*ec2.ModifySubnetAttributeOutput, error) {
	sub, err := findResource(kindSubnet, c.Partition.Subnets, in.SubnetId)
	if err != nil {
		return nil, err
	}
	if in.MapPublicIpOnLaunch != nil {
		sub.PublicIP = aws.ToBool(in.MapPublicIpOnLaunch.Value)
	}
	if in.AssignIpv6AddressOnCreation != nil {
		sub.AssignIPv6 = aws.ToBool(in.AssignIpv6AddressOnCreation.Value)
	}
	return &ec2.ModifySubnetAttributeOutput{}, nil
}

// DeleteSubnet deletes a subnet without ENIs.
func (s *networks) DeleteSubnet(c *store.Call, in *ec2.DeleteSubnetInput) (*ec2.DeleteSubnetOutput, error) {
	p := c.Partition
	sub, err := findResource(kindSubnet, p.Subnets, in.SubnetId)
	if err != nil {
		return nil, err
	}
	for _, eni := range p.NetworkInterfaces {
		if eni.SubnetID == sub.ID {
			return nil, store.Errorf(store.UnprovenSource, "DependencyViolation", "The subnet '%s' has dependencies and cannot be deleted.", sub.ID)
		}
	}
	for _, t := range p.RouteTables {
		t.Associations = withoutMatching(t.Associations, func(a store.RouteTableAssociation) bool { return a.SubnetID == sub.ID })
	}
	delete(p.Subnets, sub.ID)
	delete(p.Tags, sub.ID)
	return &ec2.DeleteSubnetOutput{}, nil
}

// DescribeSubnets lists subnets.
func (s *networks) DescribeSubnets(c *store.Call, in *ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
	p := c.Partition
	type sub = store.Subnet
	ipv6 := func(field func(store.CIDRAssociation) string) func(*sub) []string {
		return func(x *sub) []string {
			var out []string
			for _, a := range x.IPv6 {
				out = append(out, field(a))
			}
			return out
		}
	}
	cidr := func(x *sub) []string {
		if x.IsIPv6Native() {
			return nil
		}
		return textValue(x.CIDR.String())
	}
	zone := func(x *sub) []string { return textValue(x.Zone) }
	zoneID := func(x *sub) []string { return textValue(x.ZoneID) }
	items, next, err := describe(s.core, c, kindSubnet, p.Subnets, describeQuery{in.SubnetIds, in.Filters, in.MaxResults, in.NextToken}, filters[*sub]{
		"subnet-id":               func(x *sub) []string { return textValue(x.ID) },
		"subnet-arn":              func(x *sub) []string { return textValue(p.ARN("ec2", "subnet/"+x.ID)) },
		"vpc-id":                  func(x *sub) []string { return textValue(x.VPCID) },
		"availability-zone":       zone,
		"availabilityZone":        zone,
		"availability-zone-id":    zoneID,
		"availabilityZoneId":      zoneID,
		"cidr-block":              cidr,
		"cidr":                    cidr,
		"cidrBlock":               cidr,
		"state":                   func(*sub) []string { return textValue("available") },
		"outpost-arn":             func(x *sub) []string { return textValue(x.OutpostARN) },
		"map-public-ip-on-launch": func(x *sub) []string { return boolValue(x.PublicIP) },
		"default-for-az":          func(x *sub) []string { return boolValue(x.IsDefault) },
		"defaultForAz":            func(x *sub) []string { return boolValue(x.IsDefault) },
		"owner-id":                func(*sub) []string { return textValue(c.Account) },
		"ipv6-native":             func(x *sub) []string { return boolValue(x.IsIPv6Native()) },
		"ipv6-cidr-block-association.ipv6-cidr-block": ipv6(func(a store.CIDRAssociation) string { return a.Block.String() }),
		"ipv6-cidr-block-association.association-id":  ipv6(func(a store.CIDRAssociation) string { return a.ID }),
		"ipv6-cidr-block-association.state":           ipv6(func(store.CIDRAssociation) string { return "associated" }),
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSubnetsOutput{NextToken: next, Subnets: []types.Subnet{}}
	for _, x := range items {
		out.Subnets = append(out.Subnets, *s.describeSubnet(p, x))
	}
	return out, nil
}

func (s *networks) describeSubnet(p *store.Partition, x *store.Subnet) *types.Subnet {
	out := &types.Subnet{
		SubnetId: aws.String(x.ID), VpcId: aws.String(x.VPCID),
		AvailabilityZone: aws.String(x.Zone), AvailabilityZoneId: aws.String(x.ZoneID),
		AvailableIpAddressCount: aws.Int32(int32(p.CountFreeIPv4(x))), State: types.SubnetStateAvailable,
		MapPublicIpOnLaunch: aws.Bool(x.PublicIP), AssignIpv6AddressOnCreation: aws.Bool(x.AssignIPv6),
		DefaultForAz: aws.Bool(x.IsDefault), Ipv6Native: aws.Bool(x.IsIPv6Native()), EnableDns64: aws.Bool(false),
		OwnerId: aws.String(p.Account), SubnetArn: aws.String(p.ARN("ec2", "subnet/"+x.ID)),
		Ipv6CidrBlockAssociationSet: subnetIPv6Associations(x), Tags: s.tagList(p, x.ID),
	}
	if !x.IsIPv6Native() {
		out.CidrBlock = aws.String(x.CIDR.String())
	}
	if x.OutpostARN != "" {
		out.OutpostArn = aws.String(x.OutpostARN)
	}
	return out
}

func subnetIPv6Associations(x *store.Subnet) []types.SubnetIpv6CidrBlockAssociation {
	var out []types.SubnetIpv6CidrBlockAssociation
	for _, a := range x.IPv6 {
		out = append(out, types.SubnetIpv6CidrBlockAssociation{
			AssociationId: aws.String(a.ID), Ipv6CidrBlock: aws.String(a.Block.String()),
			Ipv6CidrBlockState: &types.SubnetCidrBlockState{State: types.SubnetCidrBlockStateCodeAssociated},
		})
	}
	return out
}

// withoutMatching returns a copy of list without the items for which drop returns true.
func withoutMatching[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}
