package cloud_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func (r *harness) readFacts(qs ...model.Question) observed.Facts {
	r.t.Helper()
	have, err := r.cloud.Observe(r.ctx, webStack, qs)
	if err != nil {
		r.t.Fatal(err)
	}
	return have.Facts
}

func namedSubnetsQuestion(refs ...string) model.AskSubnets {
	return model.AskSubnets{Refs: strings.Join(refs, ","), Choice: model.SubnetsNamed{Refs: refs}}
}

func subnetIDs(a observed.SubnetAnswer) []string {
	var out []string
	for _, s := range a.Candidates {
		out = append(out, s.ID)
	}
	slices.Sort(out)
	return out
}

func TestSubnetsBySchemeTagAndName(t *testing.T) {
	r := newHarness(t)
	slices.Sort(r.privateSubnets)
	tagged := func(k string, vs ...string) model.AskSubnets {
		return model.AskSubnets{Tags: k + strings.Join(vs, "|"), Choice: model.SubnetsTagged{Tags: map[string][]string{k: vs}}}
	}
	discover := func(s model.Scheme) model.AskSubnets {
		return model.AskSubnets{Discover: s, Choice: model.SubnetsDiscovered{}}
	}
	cases := map[string]struct {
		q       model.AskSubnets
		want    []string
		missing []string
	}{
		"public by role":       {q: discover(model.InternetFacing), want: r.publicSubnets},
		"internal by role":     {q: discover(model.Internal), want: r.privateSubnets},
		"by tag":               {q: tagged("Name", "public-a", "public-b"), want: r.publicSubnets},
		"by tag with wildcard": {q: tagged("Name", "priv*"), want: r.privateSubnets},
		"by tag's presence":    {q: tagged("kubernetes.io/role/elb"), want: r.publicSubnets},
		"by id and name":       {q: namedSubnetsQuestion(r.publicSubnets[0], "private-a"), want: nil},
		"by id with wildcard":  {q: namedSubnetsQuestion(r.publicSubnets[0][:len(r.publicSubnets[0])-1]+"*", r.publicSubnets[1]), want: r.publicSubnets[1:], missing: []string{r.publicSubnets[0][:len(r.publicSubnets[0])-1] + "*"}},
		"missing":              {q: namedSubnetsQuestion("subnet-1", "unknown", r.publicSubnets[0]), want: r.publicSubnets[:1], missing: []string{"subnet-1", "unknown"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := r.readFacts(c.q).Subnets[c.q.Key()]
			if c.want == nil {
				if len(a.Candidates) != 2 || len(a.Missing) != 0 {
					t.Errorf("got %v", a)
				}
				return
			}
			if diff := cmp.Diff(c.want, subnetIDs(a)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(c.missing, a.Missing); diff != "" {
				t.Errorf("missing: -want +got:\n%s", diff)
			}
		})
	}
	s := r.readFacts(discover(model.InternetFacing)).Subnets[discover(model.InternetFacing).Key()].Candidates[0]
	if s.Zone == "" || s.ZoneType != "availability-zone" || s.FreeIPs < 4000 || len(s.IPv6CIDRs) != 1 {
		t.Errorf("subnet %+v", s)
	}
	if n := r.em.Calls().Count("DescribeAvailabilityZones"); n != 1 {
		t.Errorf("zones were read %d times", n)
	}
}

func TestSubnetsByReachability(t *testing.T) {
	r := newHarness(t)
	slices.Sort(r.privateSubnets)
	for _, s := range slices.Concat(r.publicSubnets, r.privateSubnets) {
		must(r.ec2.DeleteTags(r.ctx, &ec2.DeleteTagsInput{Resources: []string{s}, Tags: []ec2types.Tag{{Key: aws.String("kubernetes.io/role/elb")}, {Key: aws.String("kubernetes.io/role/internal-elb")}}}))(t)
	}
	for scheme, want := range map[model.Scheme][]string{model.InternetFacing: r.publicSubnets, model.Internal: r.privateSubnets} {
		q := model.AskSubnets{Discover: scheme, Choice: model.SubnetsDiscovered{}}
		a := r.readFacts(q).Subnets[q.Key()]
		if diff := cmp.Diff(want, subnetIDs(a)); diff != "" || !a.ByReachability {
			t.Errorf("%s (%v): -want +got:\n%s", scheme, a.ByReachability, diff)
		}
	}
}

// TestMissingSubnetIsReadAgain checks that subnets are read again if a subnet was missing, because a user may create it.
func TestMissingSubnetIsReadAgain(t *testing.T) {
	r := newHarness(t)
	r.readFacts(namedSubnetsQuestion("public-a"))
	r.clock.Advance(20 * time.Second)
	if a := r.readFacts(namedSubnetsQuestion("late")).Subnets[namedSubnetsQuestion("late").Key()]; len(a.Missing) != 1 {
		t.Fatalf("got %v", a)
	}
	r.createSubnet("a", "10.0.64.0/20", "late", "x")
	r.clock.Advance(31 * time.Second)
	if a := r.readFacts(namedSubnetsQuestion("late-a")).Subnets[namedSubnetsQuestion("late-a").Key()]; len(a.Missing) != 0 {
		t.Errorf("got %v", a)
	}
}

func TestSecurityGroupsByIDAndName(t *testing.T) {
	r := newHarness(t)
	q := model.AskNamedSecurityGroups{List: []string{r.nodeSecurityGroup, "nodes-sg", "sg-123", "unknown"}}
	want := observed.SecurityGroupAnswer{ByID: []string{r.nodeSecurityGroup}, ByName: map[string][]string{"nodes-sg": {r.nodeSecurityGroup}}, Missing: []string{"sg-123", "unknown"}}
	if diff := cmp.Diff(want, r.readFacts(q).SecurityGroups[q.Key()]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.em.Calls().Reset()
	r.readFacts(q)
	if n := r.em.Calls().Total(); n != 0 {
		t.Errorf("second read: %d calls, want 0", n)
	}
}

func TestWildcardInSecurityGroupNameMatchesOneName(t *testing.T) {
	r := newHarness(t)
	for i, name := range []string{"web-one", "web-one", "web-two"} {
		must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{
			GroupName: aws.String(name + strconv.Itoa(i)), Description: aws.String("x"), VpcId: &r.vpc,
			TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: aws.String(name)}}}},
		}))(t)
	}
	q := model.AskNamedSecurityGroups{List: []string{"web-o*", "web-*"}}
	got := r.readFacts(q).SecurityGroups[q.Key()]
	if len(got.ByName["web-o*"]) != 2 || !slices.Equal(got.Missing, []string{"web-*"}) {
		t.Errorf("got %v", got)
	}
}

// TestSharedSecurityGroupInUseIsPreferred checks which security group is used if several have the tags of the shared backend
// security group: the one that load balancers use, or else the first by ID.
func TestSharedSecurityGroupInUseIsPreferred(t *testing.T) {
	r := newHarness(t)
	var groups []string
	for i := range 3 {
		groups = append(groups, *must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{
			GroupName: aws.String("traffic" + strconv.Itoa(i)), Description: aws.String("x"), VpcId: &r.vpc,
			TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: []ec2types.Tag{
				{Key: aws.String("elbv2.k8s.aws/cluster"), Value: aws.String(cluster)}, {Key: aws.String("elbv2.k8s.aws/resource"), Value: aws.String("backend-sg")},
			}}},
		}))(t).GroupId)
	}
	slices.Sort(groups)
	if g := r.readFacts(model.AskBackendSecurityGroup{}).BackendSecurityGroup; g.ID != groups[0] {
		t.Errorf("no load balancer has a security group: got %s, want %s", g.ID, groups[0])
	}
	must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("old"), Subnets: r.publicSubnets, SecurityGroups: []string{groups[2]},
		Tags: []elbtypes.Tag{{Key: aws.String("elbv2.k8s.aws/cluster"), Value: aws.String(cluster)}},
	}))(t)
	r.restart()
	if f := r.readFacts(model.AskBackendSecurityGroup{}); f.BackendSecurityGroup.ID != groups[2] || f.BackendSecurityGroupUsers != 1 {
		t.Errorf("a load balancer has a security group: got %s with %d users, want %s", f.BackendSecurityGroup.ID, f.BackendSecurityGroupUsers, groups[2])
	}
}

func TestTargetGroupIsFoundByNameOrARN(t *testing.T) {
	r := newHarness(t)
	in := &elb.CreateTargetGroupInput{Name: aws.String("external"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: &r.vpc, TargetType: elbtypes.TargetTypeEnumIp}
	arn := *must(r.elb.CreateTargetGroup(r.ctx, in))(t).TargetGroups[0].TargetGroupArn
	r.em.Calls().Reset()
	gone, mangled := arn[:len(arn)-16]+"0123456789abcdef", "arn:aws:elsewhere"
	got := r.readFacts(model.AskTargetGroup{Ref: "external"}, model.AskTargetGroup{Ref: "unknown"}, model.AskTargetGroup{Ref: arn},
		model.AskTargetGroup{Ref: gone}, model.AskTargetGroup{Ref: mangled}).TargetGroups
	if diff := cmp.Diff(map[string]string{"external": arn, "unknown": "", arn: arn, gone: "", mangled: ""}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := r.em.Calls().Count("DescribeTargetGroups"); n != 4 {
		t.Errorf("%d calls, want the list and one for each that is not in it", n)
	}
}

func TestResourcesOfOtherOwnersAreNotAdopted(t *testing.T) {
	r := newHarness(t)
	must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("k8s-shop-web"), Subnets: r.publicSubnets, SecurityGroups: []string{r.nodeSecurityGroup}}))(t)
	p, _, _ := r.makePlan(desiredStack(webStack))
	err := r.apply(p)
	var reason interface{ Reason() finding.Reason }
	if !asReason(err, &reason) || reason.Reason() != finding.NameTaken || r.cloud.Class(err) != failure.Invalid {
		t.Errorf("got %v", err)
	}
}

// TestTargetGroupOfAnotherOwnerIsNotAdopted checks that the controller does not adopt a target group with the tags of
// another owner. For a name that exists, CreateTargetGroup of AWS returns the existing target group if its settings are the
// same. The emulator also compares the tags, so this test changes the tags after the call.
func TestTargetGroupOfAnotherOwnerIsNotAdopted(t *testing.T) {
	var r *harness
	named := false
	r = newHarness(t, func(c *cloud.Config) {
		c.CallRecorder = &callRecorder{afterAttempt: func(call cloud.Call) {
			if !named || call.Operation != "CreateTargetGroup" {
				return
			}
			for _, g := range must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{}))(t).TargetGroups {
				must(r.elb.AddTags(r.ctx, &elb.AddTagsInput{ResourceArns: []string{*g.TargetGroupArn}, Tags: []elbtypes.Tag{
					{Key: aws.String("elbv2.k8s.aws/cluster"), Value: aws.String("other")},
				}}))(t)
			}
		}}
	})
	p, _, _ := r.makePlan(desiredStack(webStack))
	makeGroup := func(c *cloud.Cloud) error {
		i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { _, is := s.Do.(plan.CreateTargetGroup); return is })
		_, err := c.Apply(r.ctx, p.Stack, p.Steps[i], plan.KnownIDs{})
		return err
	}
	r.clock.Advance(2 * time.Minute)
	other, err := cloud.New(r.ctx, r.cfg)
	if err == nil {
		err = makeGroup(other)
	}
	if err != nil {
		t.Fatal(err)
	}
	named = true
	err = makeGroup(r.cloud)
	var reason interface{ Reason() finding.Reason }
	if !asReason(err, &reason) || reason.Reason() != finding.NameTaken || r.cloud.Class(err) != failure.Invalid {
		t.Errorf("got %v", err)
	}
	if _, have, _ := r.makePlan(desiredStack(webStack)); len(have.TargetGroups) != 0 {
		t.Errorf("target groups of another owner in the stack: %+v", have.TargetGroups)
	}
}

func TestLoadBalancersOfOtherVPCsAndClustersAreIgnored(t *testing.T) {
	r := newHarness(t)
	r.checkConverges(desiredStack(webStack))
	r.cfg.Cluster = "other"
	r.restart()
	have, err := r.cloud.Observe(r.ctx, webStack, nil)
	if err != nil || len(have.LoadBalancers)+len(have.TargetGroups)+len(have.SecurityGroups) != 0 {
		t.Errorf("another cluster sees %+v, %v", have, err)
	}
	r.cfg.Cluster, r.cfg.VPC = cluster, "vpc-123"
	r.restart()
	have, err = r.cloud.Observe(r.ctx, webStack, nil)
	if err != nil || len(have.LoadBalancers)+len(have.TargetGroups)+len(have.SecurityGroups) != 0 {
		t.Errorf("another VPC sees %+v, %v", have, err)
	}
}
