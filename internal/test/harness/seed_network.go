package harness

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// zoneLetters are the last letters of the Availability Zones that have subnets, in order.
var zoneLetters = []string{"a", "b", "c"}

// tagSpecifications returns the tags of a new resource. pairs are alternating keys and values.
func tagSpecifications(of types.ResourceType, pairs ...string) []types.TagSpecification {
	spec := types.TagSpecification{ResourceType: of}
	for i := 0; i+1 < len(pairs); i += 2 {
		spec.Tags = append(spec.Tags, types.Tag{Key: aws.String(pairs[i]), Value: aws.String(pairs[i+1])})
	}
	return []types.TagSpecification{spec}
}

const clusterTag = "kubernetes.io/cluster/" + ClusterName

func (s *seeder) createVPC(ctx context.Context) error {
	out, err := s.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{
		CidrBlock: aws.String("10.0.0.0/16"), AmazonProvidedIpv6CidrBlock: aws.Bool(true),
		TagSpecifications: tagSpecifications(types.ResourceTypeVpc, "Name", ClusterName, clusterTag, "owned"),
	})
	if err != nil {
		return err
	}
	s.out.VPC = aws.ToString(out.Vpc.VpcId)
	if len(out.Vpc.Ipv6CidrBlockAssociationSet) == 0 {
		return fmt.Errorf("the VPC has no IPv6 block")
	}
	s.ipv6 = aws.ToString(out.Vpc.Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock)
	return nil
}

func (s *seeder) createSubnets(ctx context.Context) error {
	block, err := netip.ParsePrefix(s.ipv6)
	if err != nil {
		return err
	}
	for _, side := range []struct {
		name, role string
		first      int // third byte of the first subnet's addresses
		ids        *[]string
	}{
		{"public", "kubernetes.io/role/elb", 0, &s.out.Public},
		{"private", "kubernetes.io/role/internal-elb", 128, &s.out.Private},
	} {
		for i, letter := range zoneLetters {
			zone := s.cfg.Region + letter
			third := side.first + 16*i
			v6 := block.Addr().As16()
			v6[7] = byte(third) // a /64 of the VPC's /56
			out, err := s.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{
				VpcId: aws.String(s.out.VPC), AvailabilityZone: aws.String(zone),
				CidrBlock:     aws.String(fmt.Sprintf("10.0.%d.0/20", third)),
				Ipv6CidrBlock: aws.String(netip.PrefixFrom(netip.AddrFrom16(v6), 64).String()),
				TagSpecifications: tagSpecifications(types.ResourceTypeSubnet,
					"Name", side.name+"-"+zone, side.role, "1", clusterTag, "shared"),
			})
			if err != nil {
				return fmt.Errorf("%s-%s: %w", side.name, zone, err)
			}
			*side.ids = append(*side.ids, aws.ToString(out.Subnet.SubnetId))
		}
	}
	return nil
}

// createInternetGateway creates an internet gateway, and a route table with a route to it for the public subnets. The
// private subnets keep the main route table.
func (s *seeder) createInternetGateway(ctx context.Context) error {
	igw, err := s.ec2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})
	if err != nil {
		return err
	}
	id := igw.InternetGateway.InternetGatewayId
	if _, err := s.ec2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: id, VpcId: aws.String(s.out.VPC)}); err != nil {
		return err
	}
	table, err := s.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: aws.String(s.out.VPC)})
	if err != nil {
		return err
	}
	tableID := table.RouteTable.RouteTableId
	if _, err := s.ec2.CreateRoute(ctx, &ec2.CreateRouteInput{
		RouteTableId: tableID, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: id,
	}); err != nil {
		return err
	}
	for _, subnet := range s.out.Public {
		if _, err := s.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: tableID, SubnetId: aws.String(subnet)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *seeder) createNodeSecurityGroup(ctx context.Context) (err error) {
	s.out.NodeSG, err = s.createSecurityGroup(ctx, "nodes", clusterTag, "owned")
	return err
}

func (s *seeder) createExtraSecurityGroup(ctx context.Context) (err error) {
	s.out.ExtraSG, err = s.createSecurityGroup(ctx, "extra", "Name", "extra-sg")
	return err
}

func (s *seeder) createSecurityGroup(ctx context.Context, name, key, value string) (string, error) {
	out, err := s.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String(name), Description: aws.String(name), VpcId: aws.String(s.out.VPC),
		TagSpecifications: tagSpecifications(types.ResourceTypeSecurityGroup, key, value),
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.GroupId), nil
}

func (s *seeder) createPrefixList(ctx context.Context) error {
	out, err := s.ec2.CreateManagedPrefixList(ctx, &ec2.CreateManagedPrefixListInput{
		PrefixListName: aws.String("rig"), AddressFamily: aws.String("IPv4"), MaxEntries: aws.Int32(5),
		Entries: []types.AddPrefixListEntry{{Cidr: aws.String("203.0.113.0/24")}},
	})
	if err != nil {
		return err
	}
	s.out.PrefixList = aws.ToString(out.PrefixList.PrefixListId)
	return nil
}

func (s *seeder) allocateAddresses(ctx context.Context) error {
	for range 3 {
		out, err := s.ec2.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
		if err != nil {
			return err
		}
		s.out.EIPs = append(s.out.EIPs, aws.ToString(out.AllocationId))
	}
	return nil
}
