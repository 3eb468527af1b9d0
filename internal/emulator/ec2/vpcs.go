package ec2

import (
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// CreateVpc creates a VPC with its main route table and default security group.
func (s *networks) CreateVpc(c *store.Call, in *ec2.CreateVpcInput) (*ec2.CreateVpcOutput, error) {
	block, err := readVPCBlock(in.CidrBlock)
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeVpc)
	if err != nil {
		return nil, err
	}
	v := c.Partition.CreateVPC(block)
	if in.InstanceTenancy != "" {
		v.Tenancy = string(in.InstanceTenancy)
	}
	if aws.ToBool(in.AmazonProvidedIpv6CidrBlock) {
		s.addIPv6Block(c.Partition, v)
	}
	c.Partition.AddTags(v.ID, tags)
	return &ec2.CreateVpcOutput{Vpc: s.describeVPC(c.Partition, v)}, nil
}

// readVPCBlock parses the IPv4 CIDR block of a VPC, which must be a /16 to /28.
func readVPCBlock(text *string) (netip.Prefix, *store.Error) {
	if aws.ToString(text) == "" {
		return netip.Prefix{}, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter CidrBlock")
	}
	block, err := netip.ParsePrefix(*text)
	if err != nil || !block.Addr().Is4() {
		return netip.Prefix{}, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter cidrBlock is invalid. This is not a valid CIDR block.", *text)
	}
	if block.Bits() < 16 || block.Bits() > 28 {
		return netip.Prefix{}, store.Errorf(store.UnprovenSource, "InvalidVpc.Range", "The CIDR '%s' is invalid.", *text)
	}
	return block.Masked(), nil
}

// addIPv6Block adds an IPv6 /56 block, as Amazon provides it, to a VPC and its route tables. No other VPC of the partition
// has the block.
func (s *networks) addIPv6Block(p *store.Partition, v *store.VPC) {
	used := map[netip.Prefix]bool{}
	for _, other := range p.VPCs {
		for _, a := range other.IPv6 {
			used[a.Block] = true
		}
	}
	block := numberedIPv6Block(0)
	for n := 1; used[block]; n++ {
		block = numberedIPv6Block(n)
	}
	v.IPv6 = append(v.IPv6, store.CIDRAssociation{ID: s.store.NewID("vpc-cidr-assoc-"), Block: block})
	addLocalRoute(p, v, block)
}

// numberedIPv6Block returns the IPv6 /56 block with number n. Different numbers have different blocks.
func numberedIPv6Block(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x26, 0x00, 0x1f, 0x13, byte(n >> 8), byte(n), 0x0a}), 56)
}

// addLocalRoute adds a local route for a new CIDR block of a VPC to all route tables of the VPC.
func addLocalRoute(p *store.Partition, v *store.VPC, block netip.Prefix) {
	for _, t := range p.RouteTables {
		if t.VPCID == v.ID {
			t.Routes = append(t.Routes, store.Route{Destination: block, Gateway: "local", Origin: "CreateRouteTable"})
		}
	}
}

// AssociateVpcCidrBlock adds a CIDR block to a VPC.
func (s *networks) AssociateVpcCidrBlock(c *store.Call, in *ec2.AssociateVpcCidrBlockInput) (*ec2.AssociateVpcCidrBlockOutput, error) {
	v, err := findResource(kindVPC, c.Partition.VPCs, in.VpcId)
	if err != nil {
		return nil, err
	}
	out := &ec2.AssociateVpcCidrBlockOutput{VpcId: aws.String(v.ID)}
	if aws.ToBool(in.AmazonProvidedIpv6CidrBlock) {
		s.addIPv6Block(c.Partition, v)
		a := ipv6Associations(v, c.Region)
		out.Ipv6CidrBlockAssociation = &a[len(a)-1]
		return out, nil
	}
	block, err := readVPCBlock(in.CidrBlock)
	if err != nil {
		return nil, err
	}
	for _, a := range v.CIDRs {
		if a.Block.Overlaps(block) {
			return nil, store.Errorf(store.UnprovenSource, "InvalidVpc.Range", "The CIDR '%s' conflicts with an existing CIDR of the VPC", block)
		}
	}
	v.CIDRs = append(v.CIDRs, store.CIDRAssociation{ID: s.store.NewID("vpc-cidr-assoc-"), Block: block})
	addLocalRoute(c.Partition, v, block)
	a := cidrAssociations(v)
	out.CidrBlockAssociation = &a[len(a)-1]
	return out, nil
}

// ModifyVpcAttribute sets the DNS attributes of a VPC.
func (s *networks) ModifyVpcAttribute(c *store.Call, in *ec2.ModifyVpcAttributeInput) (*ec2.ModifyVpcAttributeOutput, error) {
	v, err := findResource(kindVPC, c.Partition.VPCs, in.VpcId)
	if err != nil {
		return nil, err
	}
	if in.EnableDnsHostnames != nil {
		v.DNSHostnames = aws.ToBool(in.EnableDnsHostnames.Value)
	}
	if in.EnableDnsSupport != nil {
		v.DNSSupport = aws.ToBool(in.EnableDnsSupport.Value)
	}
	return &ec2.ModifyVpcAttributeOutput{}, nil
}

// DeleteVpc deletes a VPC that contains only its main route table and its default security group.
func (s *networks) DeleteVpc(c *store.Call, in *ec2.DeleteVpcInput) (*ec2.DeleteVpcOutput, error) {
	p := c.Partition
	v, err := findResource(kindVPC, p.VPCs, in.VpcId)
	if err != nil {
		return nil, err
	}
	used := p.HasInternetGateway(v.ID)
	for _, sub := range p.Subnets {
		used = used || sub.VPCID == v.ID
	}
	for _, g := range p.SecurityGroups {
		used = used || g.VPCID == v.ID && g.Name != "default"
	}
	main := p.MainRouteTable(v.ID)
	for _, t := range p.RouteTables {
		used = used || t.VPCID == v.ID && t != main
	}
	if used {
		return nil, store.Errorf(store.UnprovenSource, "DependencyViolation", "The vpc '%s' has dependencies and cannot be deleted.", v.ID)
	}
	if g := p.DefaultSecurityGroup(v.ID); g != nil {
		delete(p.SecurityGroups, g.ID)
		delete(p.Tags, g.ID)
	}
	if main != nil {
		delete(p.RouteTables, main.ID)
		delete(p.Tags, main.ID)
	}
	delete(p.VPCs, v.ID)
	delete(p.Tags, v.ID)
	return &ec2.DeleteVpcOutput{}, nil
}

// DescribeVpcs lists VPCs.
func (s *networks) DescribeVpcs(c *store.Call, in *ec2.DescribeVpcsInput) (*ec2.DescribeVpcsOutput, error) {
	blocks := func(list []store.CIDRAssociation, field func(store.CIDRAssociation) string) []string {
		var out []string
		for _, a := range list {
			out = append(out, field(a))
		}
		return out
	}
	block := func(a store.CIDRAssociation) string { return a.Block.String() }
	id := func(a store.CIDRAssociation) string { return a.ID }
	state := func(store.CIDRAssociation) string { return "associated" }
	items, next, err := describe(s.core, c, kindVPC, c.Partition.VPCs, describeQuery{in.VpcIds, in.Filters, in.MaxResults, in.NextToken}, filters[*store.VPC]{
		"vpc-id":                                func(v *store.VPC) []string { return textValue(v.ID) },
		"cidr":                                  func(v *store.VPC) []string { return textValue(v.CIDRs[0].Block.String()) },
		"is-default":                            func(v *store.VPC) []string { return boolValue(v.IsDefault) },
		"isDefault":                             func(v *store.VPC) []string { return boolValue(v.IsDefault) },
		"owner-id":                              func(*store.VPC) []string { return textValue(c.Account) },
		"state":                                 func(*store.VPC) []string { return textValue("available") },
		"cidr-block-association.cidr-block":     func(v *store.VPC) []string { return blocks(v.CIDRs, block) },
		"cidr-block-association.association-id": func(v *store.VPC) []string { return blocks(v.CIDRs, id) },
		"cidr-block-association.state":          func(v *store.VPC) []string { return blocks(v.CIDRs, state) },
		"ipv6-cidr-block-association.ipv6-cidr-block": func(v *store.VPC) []string { return blocks(v.IPv6, block) },
		"ipv6-cidr-block-association.association-id":  func(v *store.VPC) []string { return blocks(v.IPv6, id) },
		"ipv6-cidr-block-association.state":           func(v *store.VPC) []string { return blocks(v.IPv6, state) },
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcsOutput{NextToken: next, Vpcs: []types.Vpc{}}
	for _, v := range items {
		out.Vpcs = append(out.Vpcs, *s.describeVPC(c.Partition, v))
	}
	return out, nil
}

func (s *networks) describeVPC(p *store.Partition, v *store.VPC) *types.Vpc {
	return &types.Vpc{
		VpcId: aws.String(v.ID), CidrBlock: aws.String(v.CIDRs[0].Block.String()),
		CidrBlockAssociationSet: cidrAssociations(v), Ipv6CidrBlockAssociationSet: ipv6Associations(v, p.Region),
		DhcpOptionsId: aws.String("default"), InstanceTenancy: types.Tenancy(v.Tenancy),
		IsDefault: aws.Bool(v.IsDefault), OwnerId: aws.String(p.Account),
		State: types.VpcStateAvailable, Tags: s.tagList(p, v.ID),
	}
}

func cidrAssociations(v *store.VPC) []types.VpcCidrBlockAssociation {
	var out []types.VpcCidrBlockAssociation
	for _, a := range v.CIDRs {
		out = append(out, types.VpcCidrBlockAssociation{
			AssociationId: aws.String(a.ID), CidrBlock: aws.String(a.Block.String()),
			CidrBlockState: &types.VpcCidrBlockState{State: types.VpcCidrBlockStateCodeAssociated},
		})
	}
	return out
}

func ipv6Associations(v *store.VPC, region string) []types.VpcIpv6CidrBlockAssociation {
	var out []types.VpcIpv6CidrBlockAssociation
	for _, a := range v.IPv6 {
		out = append(out, types.VpcIpv6CidrBlockAssociation{
			AssociationId: aws.String(a.ID), Ipv6CidrBlock: aws.String(a.Block.String()),
			Ipv6CidrBlockState: &types.VpcCidrBlockState{State: types.VpcCidrBlockStateCodeAssociated},
			Ipv6Pool:           aws.String("Amazon"), NetworkBorderGroup: aws.String(region),
		})
	}
	return out
}
