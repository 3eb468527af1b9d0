package cloud_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// groupARN returns the ARN in AWS of the target group of webStack that has the given ID.
func (r *harness) groupARN(id string) string {
	r.t.Helper()
	_, have, _ := r.makePlan(desiredStack(webStack))
	for _, g := range have.TargetGroups {
		if g.ResourceID == id {
			return g.ARN
		}
	}
	r.t.Fatalf("no target group %s", id)
	return ""
}

func (r *harness) targetStates(arn string, age time.Duration) map[string]string {
	r.t.Helper()
	h, err := r.cloud.TargetGroupsOf(bindings.Account{}).TargetHealth(r.ctx, arn, age)
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]string{}
	for _, x := range h.Targets {
		out[x.ID] = x.State
	}
	return out
}

func TestCachedTargetsIncludeOwnWrites(t *testing.T) {
	r := newHarness(t)
	r.checkConverges(desiredStack(webStack))
	arn := r.groupARN("api")
	r.takeCallCounts()
	if got := r.targetStates(arn, time.Minute); len(got) != 0 {
		t.Fatalf("got %v", got)
	}
	if err := r.cloud.TargetGroupsOf(bindings.Account{}).Register(r.ctx, arn, bindings.CallPriority{}, []bindings.Target{{ID: "10.0.128.10", Port: 8080}, {ID: "10.0.128.11", Port: 8080}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"10.0.128.10": "initial", "10.0.128.11": "initial"}, r.targetStates(arn, time.Minute)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := r.takeCallCounts(); got != "DescribeTargetHealth 1\nRegisterTargets 1" {
		t.Errorf("calls:\n%s", got)
	}
	r.clock.Advance(10 * time.Second)
	if diff := cmp.Diff(map[string]string{"10.0.128.10": "healthy", "10.0.128.11": "healthy"}, r.targetStates(arn, time.Second)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	h := must(r.cloud.TargetGroupsOf(bindings.Account{}).TargetHealth(r.ctx, arn, time.Hour))(t)
	i := slices.IndexFunc(h.Targets, func(x *observed.Target) bool { return x.ID == "10.0.128.10" })
	if err := r.cloud.TargetGroupsOf(bindings.Account{}).Deregister(r.ctx, arn, bindings.CallPriority{}, h.Targets[i:i+1]); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"10.0.128.10": "draining", "10.0.128.11": "healthy"}
	if diff := cmp.Diff(want, r.targetStates(arn, time.Hour)); diff != "" {
		t.Errorf("cached: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, r.targetStates(arn, 0)); diff != "" {
		t.Errorf("in AWS: -want +got:\n%s", diff)
	}
}

func TestTargetGroupIsReadByARNOrName(t *testing.T) {
	r := newHarness(t)
	r.checkConverges(desiredStack(webStack))
	arn := r.groupARN("api")
	want := bindings.TargetGroup{ARN: arn, Type: model.IPTargets, Protocol: "HTTP", AddressType: model.IPv4, VPC: r.vpc}
	for _, q := range [][2]string{{arn, ""}, {"", "k8s-web-api"}} {
		got, err := r.cloud.TargetGroupsOf(bindings.Account{}).TargetGroup(r.ctx, q[0], q[1], time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	_, err := r.cloud.TargetGroupsOf(bindings.Account{}).TargetGroup(r.ctx, "", "nobody", time.Minute)
	if r.cloud.Class(err) != failure.Gone {
		t.Errorf("got %v", err)
	}
	ranges := must(r.cloud.VPCRanges(r.ctx, r.vpc))(t)
	if len(ranges) != 2 || ranges[0] != "10.0.0.0/16" {
		t.Errorf("got %v", ranges)
	}
	if _, err := r.cloud.VPCRanges(r.ctx, "vpc-00000000000000001"); r.cloud.Class(err) != failure.Gone {
		t.Errorf("got %v", err)
	}
}

func TestENIsOfInstancesAndAddresses(t *testing.T) {
	r := newHarness(t)
	run := must(r.ec2.RunInstances(r.ctx, &ec2.RunInstancesInput{
		ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &r.privateSubnets[0],
		SecurityGroupIds: []string{r.nodeSecurityGroup}, InstanceType: ec2types.InstanceTypeM5Large,
	}))(t)
	id, eni := *run.Instances[0].InstanceId, *run.Instances[0].NetworkInterfaces[0].NetworkInterfaceId
	own := *run.Instances[0].PrivateIpAddress
	r.em.Calls().Reset()
	q := bindings.ENIQuery{Instances: []string{id, "i-00000000000000001"}, IDs: []string{eni}, Addresses: []string{own, "10.0.0.99"}}
	got := must(r.cloud.ENIs(r.ctx, q))(t)
	want := network.ENI{ID: eni, Addresses: []string{own}, SecurityGroups: []network.ENISecurityGroup{{ID: r.nodeSecurityGroup}}}
	if diff := cmp.Diff(bindings.ENIs{
		ByInstance: map[string][]network.ENI{id: {want}}, ByID: map[string]network.ENI{eni: want}, ByAddress: map[string]network.ENI{own: want},
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.takeCallCounts()
	// A new pod has a secondary private IP address on the ENI.
	must(r.ec2.AssignPrivateIpAddresses(r.ctx, &ec2.AssignPrivateIpAddressesInput{NetworkInterfaceId: &eni, PrivateIpAddresses: []string{"10.0.128.77"}}))(t)
	r.takeCallCounts()
	r.clock.Advance(5 * time.Second)
	q = bindings.ENIQuery{Instances: []string{id}}
	must(r.cloud.ENIs(r.ctx, q))(t)
	if got := r.takeCallCounts(); got != "" {
		t.Errorf("calls for cached ENIs:\n%s", got)
	}
	q.ExpectedAddresses = map[string][]string{id: {"10.0.128.77"}}
	got = must(r.cloud.ENIs(r.ctx, q))(t)
	if _, ok := network.ENIWithAddress("10.0.128.77", got.ByInstance[id]); !ok {
		t.Errorf("the new address is not seen: %v", got)
	}
	if got := r.takeCallCounts(); got != "DescribeInstances 1" {
		t.Errorf("calls:\n%s", got)
	}
}

func TestEndpointRulesAreChangedAndCached(t *testing.T) {
	r := newHarness(t)
	extra := *must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("extra"), Description: aws.String("x"), VpcId: &r.vpc}))(t).GroupId
	one := model.IngressRule{Protocol: "tcp", From: 80, To: 80, CIDR: "10.0.0.0/8", Description: network.SharedRuleDescription}
	two := model.IngressRule{Protocol: "tcp", From: 80, To: 90, Group: extra, Description: network.SharedRuleDescription}
	rules := func() map[string][]model.IngressRule {
		out := map[string][]model.IngressRule{}
		for _, g := range must(r.cloud.EndpointSecurityGroups(r.ctx, []string{extra, "sg-00000000000000001"}, 0))(t) {
			out[g.ID] = g.Ingress
		}
		return out
	}
	r.takeCallCounts()
	if diff := cmp.Diff(map[string][]model.IngressRule{r.nodeSecurityGroup: nil, extra: nil}, rules()); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if err := r.cloud.ChangeEndpointRules(r.ctx, r.nodeSecurityGroup, []model.IngressRule{two, one}, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.cloud.ChangeEndpointRules(r.ctx, extra, []model.IngressRule{one}, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.cloud.ChangeEndpointRules(r.ctx, r.nodeSecurityGroup, nil, []model.IngressRule{one}); err != nil {
		t.Fatal(err)
	}
	want := map[string][]model.IngressRule{r.nodeSecurityGroup: {two}, extra: {one}}
	if diff := cmp.Diff(want, rules()); diff != "" {
		t.Errorf("cached: -want +got:\n%s", diff)
	}
	if got := r.takeCallCounts(); got != "AuthorizeSecurityGroupIngress 2\nDescribeSecurityGroups 2\nRevokeSecurityGroupIngress 1" {
		t.Errorf("calls:\n%s", got)
	}
	// The rule already exists in AWS, so the call fails with a conflict and the security group is read again.
	err := r.cloud.ChangeEndpointRules(r.ctx, r.nodeSecurityGroup, []model.IngressRule{two}, nil)
	if r.cloud.Class(err) != failure.Conflict {
		t.Errorf("got %v", err)
	}
	r.takeCallCounts()
	if diff := cmp.Diff(want, rules()); diff != "" {
		t.Errorf("in AWS: -want +got:\n%s", diff)
	}
	if got := r.takeCallCounts(); got == "" {
		t.Error("the security group was not read again")
	}
}

// TestRuleWithMissingSourceHidesNoSecurityGroup checks that a security group without the tag of the cluster is still known
// after AWS has refused a rule because the source of the rule does not exist. It also checks that a security group that does
// not exist itself is not known.
func TestRuleWithMissingSourceHidesNoSecurityGroup(t *testing.T) {
	r := newHarness(t)
	pods := *must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("pods"), Description: aws.String("x"), VpcId: &r.vpc}))(t).GroupId
	known := func() (ids []string) {
		for _, g := range must(r.cloud.EndpointSecurityGroups(r.ctx, []string{pods}, 0))(t) {
			ids = append(ids, g.ID)
		}
		return ids
	}
	change := func() {
		err := r.cloud.ChangeEndpointRules(r.ctx, pods, []model.IngressRule{{Protocol: "tcp", From: 80, To: 80, Group: "sg-00000000000000001"}}, nil)
		if r.cloud.Class(err) != failure.Gone {
			t.Errorf("got %v", err)
		}
	}
	known()
	change()
	if got := known(); !slices.Contains(got, pods) {
		t.Errorf("after a refused rule only %v are known", got)
	}
	must(r.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: &pods}))(t)
	change()
	if got := known(); slices.Contains(got, pods) {
		t.Error("the deleted security group is known")
	}
}

// TestARNAndNameOfTargetGroupsShareNoCacheEntry checks that the refusal of an invalid ARN does not reach a lookup by name, or
// with the credentials of an IAM role, whose parts make the same text.
func TestARNAndNameOfTargetGroupsShareNoCacheEntry(t *testing.T) {
	r := newHarness(t)
	r.checkConverges(desiredStack(webStack))
	account, other := r.createTargetGroupInOtherAccount()
	own := r.cloud.TargetGroupsOf(bindings.Account{})
	for _, invalid := range []string{"name k8s-web-api", account.Role + " " + account.ExternalID.Reveal() + " " + other} {
		if _, err := own.TargetGroup(r.ctx, invalid, "", time.Minute); err == nil {
			t.Fatalf("no error for ARN %q", invalid)
		}
	}
	must(own.TargetGroup(r.ctx, "", "k8s-web-api", time.Minute))(t)
	must(r.cloud.TargetGroupsOf(account).TargetGroup(r.ctx, other, "", time.Minute))(t)
}
