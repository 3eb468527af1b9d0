package ec2

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// CreateInternetGateway creates an internet gateway that is not attached to a VPC.
func (s *networks) CreateInternetGateway(c *store.Call, in *ec2.CreateInternetGatewayInput) (*ec2.CreateInternetGatewayOutput, error) {
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeInternetGateway)
	if err != nil {
		return nil, err
	}
	g := &store.InternetGateway{ID: s.store.NewID("igw-")}
	c.Partition.InternetGateways[g.ID] = g
	c.Partition.AddTags(g.ID, tags)
	return &ec2.CreateInternetGatewayOutput{InternetGateway: new(s.describeGateway(c.Partition, g))}, nil
}

// AttachInternetGateway attaches an internet gateway to a VPC. A VPC can have only one internet gateway.
func (s *networks) AttachInternetGateway(c *store.Call, in *ec2.AttachInternetGatewayInput) (*ec2.AttachInternetGatewayOutput, error) {
	g, err := findResource(kindGateway, c.Partition.InternetGateways, in.InternetGatewayId)
	if err != nil {
		return nil, err
	}
	v, err := findResource(kindVPC, c.Partition.VPCs, in.VpcId)
	if err != nil {
		return nil, err
	}
	if g.VPCID != "" {
		return nil, store.Errorf(store.UnprovenSource, "Resource.AlreadyAssociated", "resource %s is already attached to network %s", g.ID, g.VPCID)
	}
	if c.Partition.HasInternetGateway(v.ID) {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Network %s already has an internet gateway attached", v.ID)
	}
	g.VPCID = v.ID
	return &ec2.AttachInternetGatewayOutput{}, nil
}

// DetachInternetGateway detaches an internet gateway from its VPC.
func (s *networks) DetachInternetGateway(c *store.Call, in *ec2.DetachInternetGatewayInput) (*ec2.DetachInternetGatewayOutput, error) {
	g, err := findResource(kindGateway, c.Partition.InternetGateways, in.InternetGatewayId)
	if err != nil {
		return nil, err
	}
	if g.VPCID == "" || g.VPCID != aws.ToString(in.VpcId) {
		return nil, store.Errorf(store.UnprovenSource, "Gateway.NotAttached", "resource %s is not attached to network %s", g.ID, aws.ToString(in.VpcId))
	}
	g.VPCID = ""
	return &ec2.DetachInternetGatewayOutput{}, nil
}

// DeleteInternetGateway deletes an internet gateway that is not attached to a VPC.
func (s *networks) DeleteInternetGateway(c *store.Call, in *ec2.DeleteInternetGatewayInput) (*ec2.DeleteInternetGatewayOutput, error) {
	g, err := findResource(kindGateway, c.Partition.InternetGateways, in.InternetGatewayId)
	if err != nil {
		return nil, err
	}
	if g.VPCID != "" {
		return nil, store.Errorf(store.UnprovenSource, "DependencyViolation", "The internetGateway '%s' has dependencies and cannot be deleted.", g.ID)
	}
	delete(c.Partition.InternetGateways, g.ID)
	delete(c.Partition.Tags, g.ID)
	return &ec2.DeleteInternetGatewayOutput{}, nil
}

// DescribeInternetGateways lists internet gateways.
func (s *networks) DescribeInternetGateways(c *store.Call, in *ec2.DescribeInternetGatewaysInput) (*ec2.DescribeInternetGatewaysOutput, error) {
	type igw = store.InternetGateway
	items, next, err := describe(s.core, c, kindGateway, c.Partition.InternetGateways, describeQuery{in.InternetGatewayIds, in.Filters, in.MaxResults, in.NextToken}, filters[*igw]{
		"internet-gateway-id": func(g *igw) []string { return textValue(g.ID) },
		"attachment.vpc-id":   func(g *igw) []string { return textValue(g.VPCID) },
		"attachment.state": func(g *igw) []string {
			if g.VPCID == "" {
				return nil
			}
			return textValue("available")
		},
		"owner-id": func(*igw) []string { return textValue(c.Account) },
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeInternetGatewaysOutput{NextToken: next, InternetGateways: []types.InternetGateway{}}
	for _, g := range items {
		out.InternetGateways = append(out.InternetGateways, s.describeGateway(c.Partition, g))
	}
	return out, nil
}

func (s *networks) describeGateway(p *store.Partition, g *store.InternetGateway) types.InternetGateway {
	out := types.InternetGateway{InternetGatewayId: aws.String(g.ID), OwnerId: aws.String(p.Account), Tags: s.tagList(p, g.ID)}
	if g.VPCID != "" {
		// The API returns the state "available" for an attached internet gateway, although the SDK has no constant for it.
		out.Attachments = []types.InternetGatewayAttachment{{VpcId: aws.String(g.VPCID), State: "available"}}
	}
	return out
}

// CreateRouteTable creates a route table with the local routes of its VPC.
func (s *networks) CreateRouteTable(c *store.Call, in *ec2.CreateRouteTableInput) (*ec2.CreateRouteTableOutput, error) {
	if t := resourceByToken(c, c.Partition.RouteTables, in.ClientToken); t != nil {
		return &ec2.CreateRouteTableOutput{RouteTable: new(s.describeRouteTable(c.Partition, t)), ClientToken: in.ClientToken}, nil
	}
	v, err := findResource(kindVPC, c.Partition.VPCs, in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeRouteTable)
	if err != nil {
		return nil, err
	}
	t := &store.RouteTable{ID: s.store.NewID("rtb-"), VPCID: v.ID}
	for _, a := range slices.Concat(v.CIDRs, v.IPv6) {
		t.Routes = append(t.Routes, store.Route{Destination: a.Block, Gateway: "local", Origin: "CreateRouteTable"})
	}
	c.Partition.RouteTables[t.ID] = t
	c.Partition.AddTags(t.ID, tags)
	recordToken(c, in.ClientToken, t.ID)
	return &ec2.CreateRouteTableOutput{RouteTable: new(s.describeRouteTable(c.Partition, t)), ClientToken: in.ClientToken}, nil
}

// CreateRoute adds a route to a route table.
func (s *networks) CreateRoute(c *store.Call, in *ec2.CreateRouteInput) (*ec2.CreateRouteOutput, error) {
	p := c.Partition
	t, err := findResource(kindRouteTable, p.RouteTables, in.RouteTableId)
	if err != nil {
		return nil, err
	}
	r := store.Route{
		PrefixList: aws.ToString(in.DestinationPrefixListId),
		NATGateway: aws.ToString(in.NatGatewayId), Interface: aws.ToString(in.NetworkInterfaceId),
		Peering: aws.ToString(in.VpcPeeringConnectionId), TransitGateway: aws.ToString(in.TransitGatewayId),
		EgressOnly: aws.ToString(in.EgressOnlyInternetGatewayId), Gateway: aws.ToString(in.GatewayId), Origin: "CreateRoute",
	}
	for _, text := range []*string{in.DestinationCidrBlock, in.DestinationIpv6CidrBlock} {
		if text == nil {
			continue
		}
		block, parse := netip.ParsePrefix(*text)
		if parse != nil {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter destinationCidrBlock is invalid. This is not a valid CIDR block.", *text)
		}
		r.Destination = block.Masked()
	}
	if !r.Destination.IsValid() && r.PrefixList == "" {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter destinationCidrBlock or destinationIpv6CidrBlock or destinationPrefixListId")
	}
	if targets := withoutMatching([]string{r.Gateway, r.NATGateway, r.Interface, r.Peering, r.TransitGateway, r.EgressOnly}, func(s string) bool { return s == "" }); len(targets) != 1 {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterCombination", "Exactly one of the route's targets must be given")
	}
	if r.Gateway != "" {
		g, err := findResource(kindGateway, p.InternetGateways, in.GatewayId)
		if err != nil {
			return nil, err
		}
		if g.VPCID != t.VPCID {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "route table %s and network gateway %s belong to different networks", t.ID, g.ID)
		}
	}
	if slices.ContainsFunc(t.Routes, func(have store.Route) bool {
		return have.Destination == r.Destination && have.PrefixList == r.PrefixList
	}) {
		return nil, store.Errorf(store.UnprovenSource, "RouteAlreadyExists", "The route identified by %s already exists.", cmp.Or(r.PrefixList, r.Destination.String()))
	}
	t.Routes = append(t.Routes, r)
	return &ec2.CreateRouteOutput{Return: aws.Bool(true)}, nil
}

// AssociateRouteTable associates a route table with a subnet.
func (s *networks) AssociateRouteTable(c *store.Call, in *ec2.AssociateRouteTableInput) (*ec2.AssociateRouteTableOutput, error) {
	p := c.Partition
	t, err := findResource(kindRouteTable, p.RouteTables, in.RouteTableId)
	if err != nil {
		return nil, err
	}
	sub, err := findResource(kindSubnet, p.Subnets, in.SubnetId)
	if err != nil {
		return nil, err
	}
	if sub.VPCID != t.VPCID {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Route table %s and subnet %s belong to different networks", t.ID, sub.ID)
	}
	for _, other := range p.RouteTables {
		for _, a := range other.Associations {
			if a.SubnetID != sub.ID {
				continue
			}
			if other == t {
				return &ec2.AssociateRouteTableOutput{AssociationId: aws.String(a.ID), AssociationState: associatedState()}, nil
			}
			return nil, store.Errorf(store.UnprovenSource, "Resource.AlreadyAssociated", "the specified association for route table %s conflicts with an existing association", t.ID)
		}
	}
	a := store.RouteTableAssociation{ID: s.store.NewID("rtbassoc-"), SubnetID: sub.ID}
	t.Associations = append(t.Associations, a)
	return &ec2.AssociateRouteTableOutput{AssociationId: aws.String(a.ID), AssociationState: associatedState()}, nil
}

func associatedState() *types.RouteTableAssociationState {
	return &types.RouteTableAssociationState{State: types.RouteTableAssociationStateCodeAssociated}
}

// DisassociateRouteTable removes the association of a subnet with a route table. The subnet then uses the main route table.
func (s *networks) DisassociateRouteTable(c *store.Call, in *ec2.DisassociateRouteTableInput) (*ec2.DisassociateRouteTableOutput, error) {
	id := aws.ToString(in.AssociationId)
	for _, t := range c.Partition.RouteTables {
		for _, a := range t.Associations {
			if a.ID != id {
				continue
			}
			if a.Main {
				return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "cannot disassociate the main route table association %s", id)
			}
			t.Associations = withoutMatching(t.Associations, func(x store.RouteTableAssociation) bool { return x.ID == id })
			return &ec2.DisassociateRouteTableOutput{}, nil
		}
	}
	return nil, store.Errorf(store.UnprovenSource, "InvalidAssociationID.NotFound", "The association ID '%s' does not exist", id)
}

// DeleteRouteTable deletes a route table without associations.
func (s *networks) DeleteRouteTable(c *store.Call, in *ec2.DeleteRouteTableInput) (*ec2.DeleteRouteTableOutput, error) {
	t, err := findResource(kindRouteTable, c.Partition.RouteTables, in.RouteTableId)
	if err != nil {
		return nil, err
	}
	if len(t.Associations) > 0 {
		return nil, store.Errorf(store.UnprovenSource, "DependencyViolation", "The routeTable '%s' has dependencies and cannot be deleted.", t.ID)
	}
	delete(c.Partition.RouteTables, t.ID)
	delete(c.Partition.Tags, t.ID)
	return &ec2.DeleteRouteTableOutput{}, nil
}

// DescribeRouteTables lists route tables with their explicit associations. A subnet without an explicit association uses the
// main route table, but is not in its associations.
func (s *networks) DescribeRouteTables(c *store.Call, in *ec2.DescribeRouteTablesInput) (*ec2.DescribeRouteTablesOutput, error) {
	type table = store.RouteTable
	assoc := func(field func(store.RouteTableAssociation) []string) func(*table) []string {
		return func(t *table) (out []string) {
			for _, a := range t.Associations {
				out = append(out, field(a)...)
			}
			return out
		}
	}
	route := func(field func(store.Route) string) func(*table) []string {
		return func(t *table) (out []string) {
			for _, r := range t.Routes {
				out = append(out, textValue(field(r))...)
			}
			return out
		}
	}
	items, next, err := describe(s.core, c, kindRouteTable, c.Partition.RouteTables, describeQuery{in.RouteTableIds, in.Filters, in.MaxResults, in.NextToken}, filters[*table]{
		"vpc-id":                                 func(t *table) []string { return textValue(t.VPCID) },
		"route-table-id":                         func(t *table) []string { return textValue(t.ID) },
		"owner-id":                               func(*table) []string { return textValue(c.Account) },
		"association.subnet-id":                  assoc(func(a store.RouteTableAssociation) []string { return textValue(a.SubnetID) }),
		"association.main":                       assoc(func(a store.RouteTableAssociation) []string { return boolValue(a.Main) }),
		"association.route-table-association-id": assoc(func(a store.RouteTableAssociation) []string { return textValue(a.ID) }),
		"association.route-table-id": func(t *table) []string {
			if len(t.Associations) == 0 {
				return nil
			}
			return textValue(t.ID)
		},
		"route.gateway-id":     route(func(r store.Route) string { return r.Gateway }),
		"route.nat-gateway-id": route(func(r store.Route) string { return r.NATGateway }),
		"route.destination-cidr-block": route(func(r store.Route) string {
			if !r.Destination.IsValid() || !r.Destination.Addr().Is4() {
				return "" // a route to a prefix list, or to an IPv6 block
			}
			return r.Destination.String()
		}),
		"route.origin": route(func(r store.Route) string { return r.Origin }),
		"route.state":  route(func(store.Route) string { return "active" }),
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeRouteTablesOutput{NextToken: next, RouteTables: []types.RouteTable{}}
	for _, t := range items {
		out.RouteTables = append(out.RouteTables, s.describeRouteTable(c.Partition, t))
	}
	return out, nil
}

func (s *networks) describeRouteTable(p *store.Partition, t *store.RouteTable) types.RouteTable {
	out := types.RouteTable{RouteTableId: aws.String(t.ID), VpcId: aws.String(t.VPCID), OwnerId: aws.String(p.Account), Tags: s.tagList(p, t.ID)}
	for _, r := range t.Routes {
		line := types.Route{
			GatewayId: store.StringOrNil(r.Gateway), NatGatewayId: store.StringOrNil(r.NATGateway), NetworkInterfaceId: store.StringOrNil(r.Interface),
			VpcPeeringConnectionId: store.StringOrNil(r.Peering), TransitGatewayId: store.StringOrNil(r.TransitGateway),
			EgressOnlyInternetGatewayId: store.StringOrNil(r.EgressOnly), DestinationPrefixListId: store.StringOrNil(r.PrefixList),
			Origin: types.RouteOrigin(r.Origin), State: types.RouteStateActive,
		}
		switch {
		case !r.Destination.IsValid():
		case r.Destination.Addr().Is4():
			line.DestinationCidrBlock = aws.String(r.Destination.String())
		default:
			line.DestinationIpv6CidrBlock = aws.String(r.Destination.String())
		}
		out.Routes = append(out.Routes, line)
	}
	for _, a := range t.Associations {
		out.Associations = append(out.Associations, types.RouteTableAssociation{
			RouteTableAssociationId: aws.String(a.ID), RouteTableId: aws.String(t.ID), Main: aws.Bool(a.Main),
			SubnetId: store.StringOrNil(a.SubnetID), AssociationState: associatedState(),
		})
	}
	return out
}
