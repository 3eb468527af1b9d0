package harness

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	waftypes "github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// Account is the AWS account of a harness. AccessKey is an access key ID with all permissions in this account.
// ControllerKey is an access key ID with the permissions of the IAM policies of the harness.
const (
	Account       = "123456789012"
	AccessKey     = "AKIA" + Account
	ControllerKey = AccessKey + "FULCRUM"
)

// Seeded has the IDs of the AWS resources that exist before the first start of the controller. Templates of test
// objects use it as data.
type Seeded struct {
	VPC string
	// Public and Private are the IDs of the subnets, in the order of their Availability Zones.
	Public, Private []string
	// NodeSG and ExtraSG are the IDs of security groups "nodes" and "extra".
	NodeSG, ExtraSG string
	// Certs has certificate ARNs by domain. The domains are "example.com" and "app.test". Each certificate also has the
	// wildcard name of its domain.
	Certs map[string]string
	// WebACL is the ARN of a web ACL, PrefixList is the ID of a prefix list, and EIPs are allocation IDs of Elastic IP
	// addresses.
	WebACL     string
	PrefixList string
	EIPs       []string
	// TargetGroups has the ARNs of target groups that no controller manages, by name.
	TargetGroups map[string]string
	// Instances are the EC2 instances of the nodes, one in each private subnet.
	Instances []Instance
}

// Instance is the EC2 instance of a node, with its ID, Availability Zone and private IP address.
type Instance struct {
	ID, Zone, Address string
}

// AWSConfig returns the configuration for SDK clients that call the emulator with AccessKey, in the region of RegionOf.
func AWSConfig(em *emulator.Emulator) aws.Config {
	return aws.Config{
		Region: RegionOf(em), HTTPClient: em.Client(),
		Credentials: credentials.NewStaticCredentialsProvider(AccessKey, "secret", ""),
	}
}

// RegionOf returns the region of the seeded resources. In partition "aws" it is Region, and in other partitions their
// home region.
func RegionOf(em *emulator.Emulator) string {
	if home := em.Store().AWSPartition(); home.Name != "aws" {
		return home.Home
	}
	return Region
}

// Seed creates the resources of Seeded with calls to the emulator.
func Seed(ctx context.Context, em *emulator.Emulator) (Seeded, error) {
	cfg := AWSConfig(em)
	s := seeder{cfg: cfg, ec2: ec2.NewFromConfig(cfg), shield: em.Store().AWSPartition().Shield, out: Seeded{
		Certs: map[string]string{}, TargetGroups: map[string]string{},
	}}
	err := runSeedSteps(ctx, []seedStep{
		{"VPC", s.createVPC},
		{"subnets", s.createSubnets},
		{"internet gateway", s.createInternetGateway},
		{"security group of nodes", s.createNodeSecurityGroup},
		{"extra security group", s.createExtraSecurityGroup},
		{"instances", s.createInstances},
		{"prefix list", s.createPrefixList},
		{"addresses", s.allocateAddresses},
		{"certificates", s.importCertificates},
		{"web ACL", s.createWebACL},
		{"target group", s.createTargetGroup},
		{"subscription", s.createShieldSubscription},
	})
	return s.out, err
}

// SeedAddons creates further resources to which test objects refer, and returns network with their IDs: a security group,
// a prefix list, Elastic IP addresses, a web ACL, a target group and a Shield subscription. network must contain the ID
// of the VPC.
func SeedAddons(ctx context.Context, cfg aws.Config, network Seeded) (Seeded, error) {
	network.TargetGroups = map[string]string{}
	s := seeder{cfg: cfg, ec2: ec2.NewFromConfig(cfg), shield: true, out: network}
	err := runSeedSteps(ctx, []seedStep{
		{"extra security group", s.createExtraSecurityGroup},
		{"prefix list", s.createPrefixList},
		{"addresses", s.allocateAddresses},
		{"web ACL", s.createWebACL},
		{"target group", s.createTargetGroup},
		{"subscription", s.createShieldSubscription},
	})
	return s.out, err
}

type seedStep struct {
	name   string
	create func(context.Context) error
}

func runSeedSteps(ctx context.Context, steps []seedStep) error {
	for _, step := range steps {
		if err := step.create(ctx); err != nil {
			return fmt.Errorf("seed %s: %w", step.name, err)
		}
	}
	return nil
}

type seeder struct {
	cfg  aws.Config
	ec2  *ec2.Client
	ipv6 string // IPv6 CIDR block of the VPC
	// shield reports whether the partition has Shield.
	shield bool
	out    Seeded
}

func (s *seeder) createWebACL(ctx context.Context) error {
	out, err := wafv2.NewFromConfig(s.cfg).CreateWebACL(ctx, &wafv2.CreateWebACLInput{
		Name: aws.String("rig"), Scope: waftypes.ScopeRegional,
		DefaultAction:    &waftypes.DefaultAction{Allow: &waftypes.AllowAction{}},
		VisibilityConfig: &waftypes.VisibilityConfig{MetricName: aws.String("rig")},
	})
	if err != nil {
		return err
	}
	s.out.WebACL = aws.ToString(out.Summary.ARN)
	return nil
}

func (s *seeder) createTargetGroup(ctx context.Context) error {
	out, err := elasticloadbalancingv2.NewFromConfig(s.cfg).CreateTargetGroup(ctx, &elasticloadbalancingv2.CreateTargetGroupInput{
		Name: aws.String("external"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80),
		TargetType: elbtypes.TargetTypeEnumIp, VpcId: aws.String(s.out.VPC),
	})
	if err != nil {
		return err
	}
	s.out.TargetGroups["external"] = aws.ToString(out.TargetGroups[0].TargetGroupArn)
	return nil
}

func (s *seeder) createShieldSubscription(ctx context.Context) error {
	if !s.shield {
		return nil
	}
	_, err := shield.NewFromConfig(s.cfg).CreateSubscription(ctx, &shield.CreateSubscriptionInput{})
	return err
}
