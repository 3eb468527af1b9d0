package globalaccelerator_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// region is the region of the endpoints. It is not the region of the Global Accelerator API.
const region = "eu-west-1"

// harness has an emulator with a VPC, subnets and an instance in one region, and SDK clients that call the emulator in
// memory.
type harness struct {
	t     *testing.T
	ctx   context.Context
	em    *emulator.Emulator
	clock *store.ManualClock
	cfg   aws.Config // for the region of the Global Accelerator API

	ga  *ga.Client
	elb *elb.Client
	ec2 *ec2.Client

	vpc, securityGroupID string
	subnets              []string
	instance             string
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	clock := store.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o := emulator.Options{Clock: clock, Seed: 7}
	awsmodel.WatchAnswers(t, &o)
	r := &harness{t: t, ctx: t.Context(), em: emulator.New(o), clock: clock}
	t.Cleanup(func() {
		r.em.Store().Lock()
		defer r.em.Store().Unlock()
		for _, broken := range r.em.Store().CheckInvariants() {
			t.Error("the state is broken: ", broken)
		}
	})
	r.connect()
	r.vpc = *must(r.ec2.CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), AmazonProvidedIpv6CidrBlock: aws.Bool(true)}))(t).Vpc.VpcId
	igw := must(r.ec2.CreateInternetGateway(r.ctx, &ec2.CreateInternetGatewayInput{}))(t)
	must(r.ec2.AttachInternetGateway(r.ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: igw.InternetGateway.InternetGatewayId, VpcId: &r.vpc}))(t)
	block := *must(r.ec2.DescribeVpcs(r.ctx, &ec2.DescribeVpcsInput{VpcIds: []string{r.vpc}}))(t).Vpcs[0].Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock
	for i, zone := range []string{"a", "b"} {
		v6 := block[:len(block)-len("00::/56")] + []string{"00::/64", "01::/64"}[i]
		s := must(r.ec2.CreateSubnet(r.ctx, &ec2.CreateSubnetInput{
			VpcId: &r.vpc, CidrBlock: aws.String([]string{"10.0.0.0/20", "10.0.16.0/20"}[i]), Ipv6CidrBlock: &v6, AvailabilityZone: aws.String(region + zone),
		}))(t)
		r.subnets = append(r.subnets, *s.Subnet.SubnetId)
	}
	r.securityGroupID = *must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("web"), Description: aws.String("web"), VpcId: &r.vpc}))(t).GroupId
	run := must(r.ec2.RunInstances(r.ctx, &ec2.RunInstancesInput{ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &r.subnets[0]}))(t)
	r.instance = *run.Instances[0].InstanceId
	return r
}

// connect creates the clients. They do not retry.
func (r *harness) connect() {
	r.cfg = aws.Config{
		Region: store.AcceleratorRegion, HTTPClient: r.em.Client(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", ""),
	}
	regional := r.cfg.Copy()
	regional.Region = region
	r.ga, r.elb, r.ec2 = ga.NewFromConfig(r.cfg), elb.NewFromConfig(regional), ec2.NewFromConfig(regional)
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// errorOnly discards the result of a call and returns its error.
func errorOnly[T any](_ T, err error) error { return err }

func errorCode(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (r *harness) checkError(code1 string, err error) {
	r.t.Helper()
	if errorCode(err) != code1 {
		r.t.Errorf("want error %q, got %v", code1, err)
	}
}

// configure changes the configuration of the emulator.
func (r *harness) configure(change func(*store.Config)) {
	r.em.Store().Lock()
	defer r.em.Store().Unlock()
	change(&r.em.Store().Config)
}

func (r *harness) createAccelerator(edit ...func(*ga.CreateAcceleratorInput)) *types.Accelerator {
	r.t.Helper()
	in := &ga.CreateAcceleratorInput{Name: aws.String("web")}
	for _, e := range edit {
		e(in)
	}
	return must(r.ga.CreateAccelerator(r.ctx, in))(r.t).Accelerator
}

func portRanges(list ...int32) []types.PortRange {
	var out []types.PortRange
	for i := 0; i < len(list); i += 2 {
		out = append(out, types.PortRange{FromPort: &list[i], ToPort: &list[i+1]})
	}
	return out
}

func (r *harness) createListener(a *types.Accelerator, list ...int32) *types.Listener {
	r.t.Helper()
	return must(r.ga.CreateListener(r.ctx, &ga.CreateListenerInput{AcceleratorArn: a.AcceleratorArn, Protocol: "TCP", PortRanges: portRanges(list...)}))(r.t).Listener
}

func (r *harness) createEndpointGroup(l *types.Listener, ids ...string) *types.EndpointGroup {
	r.t.Helper()
	in := &ga.CreateEndpointGroupInput{ListenerArn: l.ListenerArn, EndpointGroupRegion: aws.String(region), EndpointConfigurations: endpointConfigurations(ids...)}
	return must(r.ga.CreateEndpointGroup(r.ctx, in))(r.t).EndpointGroup
}

func endpointConfigurations(ids ...string) []types.EndpointConfiguration {
	var out []types.EndpointConfiguration
	for _, id := range ids {
		out = append(out, types.EndpointConfiguration{EndpointId: aws.String(id)})
	}
	return out
}

// createLoadBalancer creates a load balancer and waits until it is active.
func (r *harness) createLoadBalancer(name string, edit ...func(*elb.CreateLoadBalancerInput)) string {
	r.t.Helper()
	in := &elb.CreateLoadBalancerInput{Name: &name, Subnets: r.subnets}
	for _, e := range edit {
		e(in)
	}
	arn := *must(r.elb.CreateLoadBalancer(r.ctx, in))(r.t).LoadBalancers[0].LoadBalancerArn
	r.clock.Advance(time.Minute)
	return arn
}

func asNetwork(in *elb.CreateLoadBalancerInput)   { in.Type = "network" }
func asInternal(in *elb.CreateLoadBalancerInput)  { in.Scheme = "internal" }
func asDualStack(in *elb.CreateLoadBalancerInput) { in.IpAddressType = "dualstack" }

func (r *harness) withSecurityGroup(in *elb.CreateLoadBalancerInput) {
	in.SecurityGroups = []string{r.securityGroupID}
}

// createForwardingListener adds a listener that forwards to a new target group, and returns the ARN of the target group.
func (r *harness) createForwardingListener(lb string, protocol elbtypes.ProtocolEnum, port int32, edit ...func(*elb.CreateTargetGroupInput)) string {
	r.t.Helper()
	targets := protocol
	if protocol == "TLS" {
		targets = "TCP"
	}
	name := lb[len(lb)-16:] + "-" + string(protocol)
	in := &elb.CreateTargetGroupInput{Name: &name, Protocol: targets, Port: aws.Int32(80), VpcId: &r.vpc, TargetType: "instance"}
	for _, e := range edit {
		e(in)
	}
	arn := must(r.elb.CreateTargetGroup(r.ctx, in))(r.t).TargetGroups[0].TargetGroupArn
	must(r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
		LoadBalancerArn: &lb, Protocol: protocol, Port: &port, DefaultActions: []elbtypes.Action{{Type: "forward", TargetGroupArn: arn}},
	}))(r.t)
	return *arn
}

func (r *harness) registerTarget(group, id string) {
	r.t.Helper()
	must(r.elb.RegisterTargets(r.ctx, &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: []elbtypes.TargetDescription{{Id: &id}}}))(r.t)
}

// endpointHealth returns the health state of an endpoint.
func (r *harness) endpointHealth(group *string, id string) types.HealthState {
	r.t.Helper()
	for _, e := range must(r.ga.DescribeEndpointGroup(r.ctx, &ga.DescribeEndpointGroupInput{EndpointGroupArn: group}))(r.t).EndpointGroup.EndpointDescriptions {
		if *e.EndpointId == id {
			return e.HealthState
		}
	}
	r.t.Fatalf("there is no endpoint %s", id)
	return ""
}

func (r *harness) acceleratorStatus(arn *string) types.AcceleratorStatus {
	r.t.Helper()
	return must(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: arn}))(r.t).Accelerator.Status
}

// disableAccelerator disables an accelerator and waits until the change is deployed.
func (r *harness) disableAccelerator(arn *string) {
	r.t.Helper()
	must(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: arn, Enabled: aws.Bool(false)}))(r.t)
	r.clock.Advance(time.Minute)
}

// comparePorts compares port ranges by their first port. The service returns port ranges in any order.
func comparePorts(a, b types.PortRange) int { return cmp.Compare(*a.FromPort, *b.FromPort) }
