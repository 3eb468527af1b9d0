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

// Account is the AWS account of a harness. AccessKey has all permissions in it; ControllerKey has the permissions of
// the IAM policies of the harness.
const (
	Account       = "123456789012"
	AccessKey     = "AKIA" + Account
	ControllerKey = AccessKey + "FULCRUM"
)

// Seeded has the IDs of the AWS resources that exist before objects are applied. Templates of test objects use it as
// data.
type Seeded struct {
	VPC string
	// Public and Private are subnet ids in zone order.
	Public, Private []string
	// NodeSG and ExtraSG are the security groups "nodes" and "extra".
	NodeSG, ExtraSG string
	// Certs are certificate ARNs by domain: "example.com" and "app.test", each with its wildcard.
	Certs map[string]string
	// WebACL is an ARN, PrefixList an id, EIPs are allocation ids.
	WebACL     string
	PrefixList string
	EIPs       []string
	// TargetGroups are ARNs of target groups without a controller, by name.
	TargetGroups map[string]string
	// Instances are the nodes, one in each private subnet.
	Instances []Instance
}

// Instance is a node.
type Instance struct {
	ID, Zone, Address string
}

// AWSConfig returns the configuration for SDK clients of the emulator, with AccessKey.
func AWSConfig(em *emulator.Emulator) aws.Config {
	return aws.Config{
		Region: RegionOf(em), HTTPClient: em.Client(),
		Credentials: credentials.NewStaticCredentialsProvider(AccessKey, "secret", ""),
	}
}

// RegionOf returns the region of the seeded resources: Region, or the first region of another partition.
func RegionOf(em *emulator.Emulator) string {
	if home := em.Store().AWSPartition(); home.Name != "aws" {
		return home.Home
	}
	return Region
}

// Seed creates the resources of Seeded through the API.
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

// SeedAddons adds to a network the other resources to which test objects refer: security group, web ACL, prefix list,
// addresses and target group.
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
	ipv6 string // the VPC's block
	// shield is set if the partition has Shield.
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
