// Package secondregion creates a VPC in a second region of a local world's AWS, with a load balancer and an echo server as
// its target. The region has no cluster. GlobalAccelerators refer to the load balancer by its ARN.
package secondregion

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/awsclient"
	"github.com/fulcrum-lb/fulcrum/local/echo"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

const (
	// resourceName is the name of the VPC, the load balancer, the target group and the security group.
	resourceName = "elsewhere"
	// echoPort is the port of the echo server.
	echoPort = 8080
	// activeLimit is how long Start waits for a healthy target, and Close for the deletion of the target group.
	activeLimit = time.Minute
)

// Region is a region with a load balancer that has an HTTP listener on port 80.
type Region struct {
	// ARN and DNSName identify the load balancer.
	ARN, DNSName string

	cidr        netip.Prefix
	region      string
	ec2         *ec2.Client
	elb         *elb.Client
	server      *echo.Server
	targetGroup *string // ARN of the target group
}

// Start creates the load balancer in a region, and starts an echo server as its target, which responds like a pod of app. It
// waits until the target is healthy. It reuses the VPC of an earlier call, because Close does not delete the VPC.
func Start(ctx context.Context, w *world.World, region, app string) (*Region, error) {
	cfg := awsclient.Config(w.AWSEndpoint(), region)
	r := &Region{cidr: w.Layout().SecondRegionRange(), region: region, ec2: ec2.NewFromConfig(cfg), elb: elb.NewFromConfig(cfg)}
	at := r.address(63, 1)
	r.server = echo.New(echo.Config{
		Address: at,
		Identity: func() echo.Identity {
			return echo.Identity{Pod: app + "-" + region, App: app, Node: region, Address: at.String()}
		},
		Protocol: func(int) echo.Protocol { return echo.HTTP },
	})
	if err := errors.Join(r.server.Listen(echoPort), r.createLoadBalancer(ctx, at)); err != nil {
		return nil, errors.Join(fmt.Errorf("set up region %s: %w", region, err), r.Close(ctx))
	}
	return r, nil
}

// address returns an address of the VPC. third is added to the third byte of the VPC's range; last is the last byte.
func (r *Region) address(third, last byte) netip.Addr {
	a := r.cidr.Addr().As4()
	return netip.AddrFrom4([4]byte{a[0], a[1], a[2] + third, last})
}

func (r *Region) createLoadBalancer(ctx context.Context, target netip.Addr) error {
	vpc, subnets, sg, err := r.findOrCreateVPC(ctx)
	if err != nil {
		return err
	}
	lb, err := r.elb.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{Name: aws.String(resourceName), Subnets: subnets, SecurityGroups: []string{sg}})
	if err != nil {
		return err
	}
	r.ARN, r.DNSName = aws.ToString(lb.LoadBalancers[0].LoadBalancerArn), aws.ToString(lb.LoadBalancers[0].DNSName)
	group, err := r.elb.CreateTargetGroup(ctx, &elb.CreateTargetGroupInput{
		Name: aws.String(resourceName), Protocol: types.ProtocolEnumHttp, Port: aws.Int32(echoPort), VpcId: aws.String(vpc), TargetType: types.TargetTypeEnumIp,
		HealthCheckIntervalSeconds: aws.Int32(5), HealthCheckTimeoutSeconds: aws.Int32(2), HealthyThresholdCount: aws.Int32(2),
	})
	if err != nil {
		return err
	}
	r.targetGroup = group.TargetGroups[0].TargetGroupArn
	if _, err := r.elb.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: r.targetGroup, Targets: []types.TargetDescription{{Id: aws.String(target.String())}}}); err != nil {
		return err
	}
	if _, err := r.elb.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: &r.ARN, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80),
		DefaultActions: []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: r.targetGroup}},
	}); err != nil {
		return err
	}
	return await.Success(ctx, activeLimit, r.checkTargetHealth)
}

func (r *Region) checkTargetHealth(ctx context.Context) error {
	health, err := r.elb.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: r.targetGroup})
	if err != nil {
		return err
	}
	for _, h := range health.TargetHealthDescriptions {
		if h.TargetHealth.State != types.TargetHealthStateEnumHealthy {
			return fmt.Errorf("the target of the load balancer in %s is %s", r.region, h.TargetHealth.State)
		}
	}
	return nil
}

// findOrCreateVPC returns the IDs of the VPC, its subnets and a security group that allows HTTP from all addresses. It
// creates them if the VPC does not exist.
func (r *Region) findOrCreateVPC(ctx context.Context) (vpc string, subnets []string, sg string, err error) {
	named := []ec2types.Filter{{Name: aws.String("tag:Name"), Values: []string{resourceName}}}
	vpcs, err := r.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: named})
	if err != nil {
		return "", nil, "", err
	}
	if len(vpcs.Vpcs) == 0 {
		return r.createVPC(ctx)
	}
	vpc = aws.ToString(vpcs.Vpcs[0].VpcId)
	in := []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{vpc}}}
	found, err := r.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: in})
	if err != nil {
		return "", nil, "", err
	}
	for _, s := range found.Subnets {
		subnets = append(subnets, aws.ToString(s.SubnetId))
	}
	groups, err := r.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: append(in, ec2types.Filter{Name: aws.String("group-name"), Values: []string{resourceName}})})
	if err != nil {
		return "", nil, "", err
	}
	if len(groups.SecurityGroups) != 1 {
		return "", nil, "", fmt.Errorf("the VPC has %d security groups with the name %s, want 1", len(groups.SecurityGroups), resourceName)
	}
	return vpc, subnets, aws.ToString(groups.SecurityGroups[0].GroupId), nil
}

func (r *Region) createVPC(ctx context.Context) (vpc string, subnets []string, sg string, err error) {
	fail := func(err error) (string, []string, string, error) { return "", nil, "", err }
	tags := []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeVpc, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: aws.String(resourceName)}}}}
	made, err := r.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String(r.cidr.String()), TagSpecifications: tags})
	if err != nil {
		return fail(err)
	}
	vpc = aws.ToString(made.Vpc.VpcId)
	igw, err := r.ec2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})
	if err != nil {
		return fail(err)
	}
	if _, err := r.ec2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: igw.InternetGateway.InternetGatewayId, VpcId: &vpc}); err != nil {
		return fail(err)
	}
	for i, zone := range []string{"a", "b"} {
		s, err := r.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{
			VpcId: &vpc, CidrBlock: aws.String(netip.PrefixFrom(r.address(byte(i), 0), 24).String()), AvailabilityZone: aws.String(r.region + zone),
		})
		if err != nil {
			return fail(err)
		}
		subnets = append(subnets, aws.ToString(s.Subnet.SubnetId))
	}
	group, err := r.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String(resourceName), Description: aws.String(resourceName), VpcId: &vpc})
	if err != nil {
		return fail(err)
	}
	_, err = r.ec2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: group.GroupId, IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80), CidrIp: aws.String("0.0.0.0/0"),
	})
	return vpc, subnets, aws.ToString(group.GroupId), err
}

// Close deletes the load balancer and its target group, and stops the echo server.
func (r *Region) Close(ctx context.Context) error {
	r.server.Shutdown(ctx)
	var errs []error
	if r.ARN != "" {
		_, err := r.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: &r.ARN})
		errs = append(errs, err)
	}
	if r.targetGroup != nil {
		errs = append(errs, await.Success(ctx, activeLimit, func(ctx context.Context) error {
			_, err := r.elb.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: r.targetGroup})
			return err
		}))
	}
	return errors.Join(errs...)
}
