// Package vpc creates the network of a local world in AWS: a VPC with public and private subnets in three availability
// zones, instances for the nodes, and certificates. It runs once for each local world.
package vpc

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/local/layout"
)

// Certificate is a certificate that Setup imports into ACM.
type Certificate struct {
	Domain           string
	Cert, Key, Chain []byte // PEM
}

// Setup creates the resources of layout l in AWS, and imports the certificates into ACM. It writes the IDs of the resources,
// the addresses of the nodes and the ARNs of the certificates into l.
func Setup(ctx context.Context, cfg aws.Config, l *layout.Layout, certificates []Certificate) error {
	s := setup{ec2: ec2.NewFromConfig(cfg), acm: acm.NewFromConfig(cfg), layout: l}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"VPC", s.createVPC},
		{"subnets", s.createSubnets},
		{"internet gateway", s.createInternetGateway},
		{"security group", s.createSecurityGroup},
		{"instances", s.createInstances},
	} {
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("set up AWS: %s: %w", step.name, err)
		}
	}
	l.Certificates = map[string]string{}
	for _, c := range certificates {
		out, err := s.acm.ImportCertificate(ctx, &acm.ImportCertificateInput{
			Certificate:      c.Cert,
			PrivateKey:       c.Key,
			CertificateChain: c.Chain,
			Tags:             []acmtypes.Tag{{Key: aws.String("Name"), Value: aws.String(c.Domain)}},
		})
		if err != nil {
			return fmt.Errorf("set up AWS: certificate of %s: %w", c.Domain, err)
		}
		l.Certificates[c.Domain] = aws.ToString(out.CertificateArn)
	}
	return nil
}

type setup struct {
	ec2    *ec2.Client
	acm    *acm.Client
	layout *layout.Layout
}

// clusterTag returns the tag kubernetes.io/cluster/CLUSTER; value is "owned" or "shared".
func (s *setup) clusterTag(value string) types.Tag {
	return types.Tag{Key: aws.String("kubernetes.io/cluster/" + s.layout.Cluster), Value: aws.String(value)}
}

func nameTag(name string) types.Tag {
	return types.Tag{Key: aws.String("Name"), Value: aws.String(name)}
}

func tagSpecs(of types.ResourceType, t ...types.Tag) []types.TagSpecification {
	return []types.TagSpecification{{ResourceType: of, Tags: t}}
}

func (s *setup) createVPC(ctx context.Context) error {
	out, err := s.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{
		CidrBlock:         aws.String(s.layout.CIDR.String()),
		TagSpecifications: tagSpecs(types.ResourceTypeVpc, nameTag(s.layout.Cluster), s.clusterTag("owned")),
	})
	if err != nil {
		return err
	}
	s.layout.VPC = aws.ToString(out.Vpc.VpcId)
	return nil
}

func (s *setup) createSubnets(ctx context.Context) error {
	for _, kind := range []struct {
		subnets []layout.Subnet
		role    string
	}{
		{s.layout.PublicSubnets, "kubernetes.io/role/elb"},
		{s.layout.PrivateSubnets, "kubernetes.io/role/internal-elb"},
	} {
		for i := range kind.subnets {
			sub := &kind.subnets[i]
			out, err := s.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{
				VpcId:            aws.String(s.layout.VPC),
				CidrBlock:        aws.String(sub.CIDR.String()),
				AvailabilityZone: aws.String(sub.Zone),
				TagSpecifications: tagSpecs(types.ResourceTypeSubnet, nameTag(sub.Name),
					types.Tag{Key: aws.String(kind.role), Value: aws.String("1")}, s.clusterTag("shared")),
			})
			if err != nil {
				return fmt.Errorf("%s: %w", sub.Name, err)
			}
			sub.ID = aws.ToString(out.Subnet.SubnetId)
		}
	}
	return nil
}

// createInternetGateway creates an internet gateway and a route table with a route to it for the public subnets. The private
// subnets use the main route table of the VPC.
func (s *setup) createInternetGateway(ctx context.Context) error {
	igw, err := s.ec2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{
		TagSpecifications: tagSpecs(types.ResourceTypeInternetGateway, nameTag(s.layout.Cluster)),
	})
	if err != nil {
		return err
	}
	id := igw.InternetGateway.InternetGatewayId
	if _, err := s.ec2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{
		InternetGatewayId: id, VpcId: aws.String(s.layout.VPC),
	}); err != nil {
		return err
	}
	table, err := s.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{
		VpcId:             aws.String(s.layout.VPC),
		TagSpecifications: tagSpecs(types.ResourceTypeRouteTable, nameTag("public")),
	})
	if err != nil {
		return err
	}
	if _, err := s.ec2.CreateRoute(ctx, &ec2.CreateRouteInput{
		RouteTableId:         table.RouteTable.RouteTableId,
		DestinationCidrBlock: aws.String("0.0.0.0/0"),
		GatewayId:            id,
	}); err != nil {
		return err
	}
	for _, sub := range s.layout.PublicSubnets {
		if _, err := s.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{
			RouteTableId: table.RouteTable.RouteTableId, SubnetId: aws.String(sub.ID),
		}); err != nil {
			return fmt.Errorf("associate %s: %w", sub.Name, err)
		}
	}
	return nil
}

func (s *setup) createSecurityGroup(ctx context.Context) error {
	out, err := s.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName:         aws.String("nodes"),
		Description:       aws.String("nodes"),
		VpcId:             aws.String(s.layout.VPC),
		TagSpecifications: tagSpecs(types.ResourceTypeSecurityGroup, nameTag("nodes"), s.clusterTag("owned")),
	})
	if err != nil {
		return err
	}
	s.layout.NodeSecurityGroup = aws.ToString(out.GroupId)
	return nil
}

func (s *setup) createInstances(ctx context.Context) error {
	images, err := s.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{})
	if err != nil {
		return fmt.Errorf("find an image: %w", err)
	}
	if len(images.Images) == 0 {
		return fmt.Errorf("find an image: there is none")
	}
	for i := range s.layout.Nodes {
		n := &s.layout.Nodes[i]
		out, err := s.ec2.RunInstances(ctx, &ec2.RunInstancesInput{
			ImageId:           images.Images[0].ImageId,
			InstanceType:      types.InstanceTypeM5Large,
			MinCount:          aws.Int32(1),
			MaxCount:          aws.Int32(1),
			SubnetId:          aws.String(s.layout.PrivateSubnets[n.Subnet].ID),
			SecurityGroupIds:  []string{s.layout.NodeSecurityGroup},
			TagSpecifications: tagSpecs(types.ResourceTypeInstance, nameTag(n.Name), s.clusterTag("owned")),
		})
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		if len(out.Instances) != 1 || len(out.Instances[0].NetworkInterfaces) == 0 {
			return fmt.Errorf("%s: RunInstances returned no instance with an ENI", n.Name)
		}
		instance := out.Instances[0]
		n.Instance = aws.ToString(instance.InstanceId)
		n.ENI = aws.ToString(instance.NetworkInterfaces[0].NetworkInterfaceId)
		if n.Address, err = netip.ParseAddr(aws.ToString(instance.PrivateIpAddress)); err != nil {
			return fmt.Errorf("%s: private address: %w", n.Name, err)
		}
	}
	return nil
}
