package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

const (
	region  = "us-west-2"
	cluster = "rig"
)

// harness is a test harness with an emulator, a VPC in it, and the Cloud under test.
type harness struct {
	t     testing.TB
	ctx   context.Context
	em    *emulator.Emulator
	clock *store.ManualClock
	cfg   cloud.Config
	cloud *cloud.Cloud

	elb *elb.Client
	ec2 *ec2.Client

	vpc               string
	publicSubnets     []string // subnets in Availability Zones a and b
	privateSubnets    []string
	nodeSecurityGroup string // security group of the nodes
}

// newHarness returns a harness with a manual clock. edit changes the configuration of the Cloud. The calls that create the
// network are not counted.
func newHarness(t testing.TB, edit ...func(*cloud.Config)) *harness {
	t.Helper()
	clock := store.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r := newHarnessOn(t, clock, append([]func(*cloud.Config){func(c *cloud.Config) { c.Clock = awsClock{clock} }}, edit...)...)
	r.clock = clock
	return r
}

// awsClock adapts the clock of the emulator to clock.PassiveClock, which the controller uses.
type awsClock struct{ store.Clock }

// Since implements clock.PassiveClock.
func (c awsClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// newHarnessOn returns a harness with the given clock. If it is nil, the time is that of package time.
func newHarnessOn(t testing.TB, clock store.Clock, edit ...func(*cloud.Config)) *harness {
	t.Helper()
	o := emulator.Options{Clock: clock, Seed: 7}
	awsmodel.Watch(t, &o)
	em := emulator.New(o)
	cfg := aws.Config{
		Region: region, HTTPClient: em.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", ""),
	}
	r := &harness{t: t, ctx: t.Context(), em: em, elb: elb.NewFromConfig(cfg), ec2: ec2.NewFromConfig(cfg)}
	r.createNetwork()
	r.cfg = cloud.Config{
		Cluster: cluster, Region: region, VPC: r.vpc, Credentials: cfg.Credentials, HTTP: em.Client(),
		SubnetDiscoveryByReachability: true, RuleTags: true, MaxAttempts: 1, TokenBuckets: []ratelimit.TokenBucket{}, Version: "test",
	}
	for _, e := range edit {
		e(&r.cfg)
	}
	r.restart()
	em.Calls().Reset()
	return r
}

// restart replaces the Cloud by a new one with an empty inventory, as after a restart of the controller.
func (r *harness) restart() {
	r.t.Helper()
	c, err := cloud.New(r.ctx, r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.cloud = c
}

func (r *harness) createNetwork() {
	t := r.t
	vpc := must(r.ec2.CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), AmazonProvidedIpv6CidrBlock: aws.Bool(true)}))(t)
	r.vpc = *vpc.Vpc.VpcId
	igw := must(r.ec2.CreateInternetGateway(r.ctx, &ec2.CreateInternetGatewayInput{}))(t)
	must(r.ec2.AttachInternetGateway(r.ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: igw.InternetGateway.InternetGatewayId, VpcId: &r.vpc}))(t)
	table := must(r.ec2.CreateRouteTable(r.ctx, &ec2.CreateRouteTableInput{VpcId: &r.vpc}))(t)
	must(r.ec2.CreateRoute(r.ctx, &ec2.CreateRouteInput{
		RouteTableId: table.RouteTable.RouteTableId, GatewayId: igw.InternetGateway.InternetGatewayId, DestinationCidrBlock: aws.String("0.0.0.0/0"),
	}))(t)
	for i, zone := range []string{"a", "b"} {
		p := r.createSubnet(zone, fmt.Sprintf("10.0.%d.0/20", 16*i), "public", "kubernetes.io/role/elb")
		must(r.ec2.AssociateRouteTable(r.ctx, &ec2.AssociateRouteTableInput{RouteTableId: table.RouteTable.RouteTableId, SubnetId: &p}))(t)
		r.publicSubnets = append(r.publicSubnets, p)
		r.privateSubnets = append(r.privateSubnets, r.createSubnet(zone, fmt.Sprintf("10.0.%d.0/20", 128+16*i), "private", "kubernetes.io/role/internal-elb"))
	}
	slices.Sort(r.publicSubnets)
	r.nodeSecurityGroup = *must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("nodes"), Description: aws.String("nodes"), VpcId: &r.vpc,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: []ec2types.Tag{
			{Key: aws.String("kubernetes.io/cluster/" + cluster), Value: aws.String("owned")}, {Key: aws.String("Name"), Value: aws.String("nodes-sg")},
		}}},
	}))(t).GroupId
}

func (r *harness) createSubnet(zone, cidr, name, role string) string {
	vpc := must(r.ec2.DescribeVpcs(r.ctx, &ec2.DescribeVpcsInput{VpcIds: []string{r.vpc}}))(r.t).Vpcs[0]
	six := strings.Replace(*vpc.Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock, "00::/56", fmt.Sprintf("%02x::/64", len(r.publicSubnets)*2+len(r.privateSubnets)), 1)
	out := must(r.ec2.CreateSubnet(r.ctx, &ec2.CreateSubnetInput{
		VpcId: &r.vpc, Ipv6CidrBlock: &six, CidrBlock: &cidr, AvailabilityZone: aws.String(region + zone),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSubnet, Tags: []ec2types.Tag{
			{Key: aws.String("Name"), Value: aws.String(name + "-" + zone)}, {Key: aws.String(role), Value: aws.String("1")},
		}}},
	}))(r.t)
	return *out.Subnet.SubnetId
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// planOptions returns the plan options of the harness.
func (r *harness) planOptions() plan.Options {
	return plan.Options{Cluster: cluster, VPC: r.vpc, RuleTags: true, SubnetClusterCheck: true}
}

// makePlan observes AWS and makes a plan until the plan has no open questions. It returns the plan, the observed state and
// the findings.
func (r *harness) makePlan(want model.Stack) (plan.Plan, observed.Stack, finding.List) {
	r.t.Helper()
	questions := want.Questions()
	for range 5 {
		have, err := r.cloud.Observe(r.ctx, want.ID, questions)
		if err != nil {
			r.t.Fatalf("observe: %v", err)
		}
		p, found := planner.Make(want, have, r.planOptions(), plan.Memory{})
		if err := r.cloud.CheckIndexes(); err != nil {
			r.t.Fatal(err)
		}
		if len(p.Questions) == 0 {
			return p, have, found
		}
		questions = append(questions, p.Questions...)
	}
	r.t.Fatal("the plan still has questions after 5 rounds")
	return plan.Plan{}, observed.Stack{}, nil
}

// apply applies the steps of a plan that change AWS and do not wait. It stops at the first error and returns it.
func (r *harness) apply(p plan.Plan) error {
	known := maps.Clone(p.KnownIDs)
	for _, s := range p.Steps {
		if plan.WritesToKubernetes(s.Do) || s.Waits() {
			continue
		}
		res, err := r.cloud.Apply(r.ctx, p.Stack, s, known)
		if err != nil {
			return err
		}
		if res.ID != "" {
			known[s.Address] = res.ID
		}
	}
	return nil
}

// checkConverges applies a desired state. It checks that a new plan has no steps, both with the inventory and after AWS was
// read again, and that the inventory matches AWS.
func (r *harness) checkConverges(want model.Stack) {
	r.t.Helper()
	p, _, found := r.makePlan(want)
	if len(found) > 0 {
		r.t.Fatalf("findings: %v", found)
	}
	if err := r.apply(p); err != nil {
		r.t.Fatal(err)
	}
	r.checkNoSteps(want)
	remembered := r.observe(want)
	r.cloud.Forget()
	r.checkNoSteps(want)
	if diff := cmp.Diff(r.observe(want), remembered, equateEmpty, cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".State"
	}, cmp.Ignore()), ignoreMissingAttributes); diff != "" {
		r.t.Errorf("the inventory differs from AWS (-AWS +inventory):\n%s", diff)
	}
}

// ignoreMissingAttributes treats attributes as equal if they were not read on one side.
var ignoreMissingAttributes = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Attributes" }, cmp.Comparer(func(a, b map[string]string) bool {
	return a == nil || b == nil || maps.Equal(a, b)
}))

var equateEmpty = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() != ".Attributes" }, cmpopts.EquateEmpty())

func (r *harness) observe(want model.Stack) observed.Stack {
	r.t.Helper()
	_, have, _ := r.makePlan(want)
	have.Facts = observed.Facts{BackendSecurityGroup: have.Facts.BackendSecurityGroup}
	return have
}

func (r *harness) checkNoSteps(want model.Stack) {
	r.t.Helper()
	p, _, _ := r.makePlan(want)
	for _, s := range p.Steps {
		if !plan.WritesToKubernetes(s.Do) {
			r.t.Errorf("step that is left: %s (%s) %v", s.ID, s.Why, s.Changes)
		}
	}
}

// takeCallCounts returns the number of calls of each operation as text, and resets the counts.
func (r *harness) takeCallCounts() string {
	var out []string
	for op, n := range r.em.Calls().Counts() {
		_, name, _ := strings.Cut(op, ":")
		out = append(out, fmt.Sprintf("%s %d", name, n))
	}
	r.em.Calls().Reset()
	slices.Sort(out)
	return strings.Join(out, "\n")
}

var webStack = model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}

// desiredStack returns the desired state of a load balancer with one HTTP listener and two target groups.
func desiredStack(id model.StackID, edit ...func(*model.Stack)) model.Stack {
	member := finding.Ref{Kind: "Ingress", Namespace: id.Namespace, Name: id.Name}
	s := model.Stack{
		ID: id, Members: []model.Member{{Ref: member, Claimed: true, Finalizer: "ingress.k8s.aws/resources"}},
		LoadBalancer: &model.LoadBalancer{
			Name: "k8s-" + id.Namespace + "-" + id.Name, Scheme: model.InternetFacing, AddressType: model.IPv4, Subnets: model.SubnetsDiscovered{},
			SecurityGroups: model.SecurityGroupsManaged{Group: model.SecurityGroup{
				Name: "k8s-" + id.Namespace + "-" + id.Name + "-sg", Description: "managed",
				Ingress: []model.IngressRule{{Protocol: "tcp", From: 80, To: 80, CIDR: "0.0.0.0/0"}, {Protocol: "tcp", From: 80, To: 80, CIDR: "::/0"}},
			}},
			Tags: map[string]string{"team": "blue"},
			Listeners: []model.Listener{{
				Port: 80, Members: []finding.Ref{member}, Default: []model.Action{model.FixedResponse{Status: "404", ContentType: "text/plain"}},
				Rules: []model.Rule{forwardRule(member, "/a", "api"), forwardRule(member, "/b", "shop")},
			}},
		},
		TargetGroups: []model.TargetGroup{targetGroup(id, member, "api"), targetGroup(id, member, "shop")},
	}
	for _, e := range edit {
		e(&s)
	}
	return s
}

func forwardRule(member finding.Ref, path, service string) model.Rule {
	return model.Rule{
		Member: member, Conditions: []model.Condition{model.PathPattern{Values: []string{path}}},
		Actions: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: service}}}}},
	}
}

func targetGroup(id model.StackID, member finding.Ref, name string) model.TargetGroup {
	return model.TargetGroup{
		ID: name, Name: "k8s-" + id.Name + "-" + name, Type: model.IPTargets, Port: 8080, Protocol: "HTTP", ProtocolVersion: "HTTP1",
		AddressType: model.IPv4, Members: []finding.Ref{member},
		HealthCheck: model.HealthCheck{
			Port: "traffic-port", Protocol: "HTTP", Path: "/", HTTPCodes: "200", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2,
		},
	}
}

// deletedStack returns the desired state of a stack whose only member is being deleted.
func deletedStack(id model.StackID) model.Stack {
	return model.Stack{ID: id, Leaving: []model.Member{{
		Ref: finding.Ref{Kind: "Ingress", Namespace: id.Namespace, Name: id.Name}, Finalizer: "ingress.k8s.aws/resources", Claimed: true, Deleting: true,
	}}}
}

func asPostponed(err error, target *interface{ RetryAfter() time.Duration }) bool {
	return errors.As(err, target)
}

func asReason(err error, target *interface{ Reason() finding.Reason }) bool {
	return errors.As(err, target)
}
