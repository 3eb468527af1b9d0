package cloud_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// taggingDelay is the propagation delay of the Resource Groups Tagging API in these tests.
const taggingDelay = 5 * time.Minute

// newTaggingServiceHarness returns a harness whose Cloud finds resources by the Resource Groups Tagging API, which shows
// changes only after taggingDelay.
func newTaggingServiceHarness(t *testing.T, edit ...func(*cloud.Config)) *harness {
	t.Helper()
	r := newHarness(t, append(edit, func(c *cloud.Config) { c.TaggingAPI = true })...)
	r.em.Faults().Add(fault.Rule{Service: "tagging", Action: fault.Action{Stale: taggingDelay}})
	return r
}

// takeMutatingCalls returns the mutating operations that were called since the call counts were last reset, and resets them.
func (r *harness) takeMutatingCalls() string {
	var out []string
	for _, e := range r.em.Calls().Entries() {
		if e.Mutating {
			out = append(out, e.Operation)
		}
	}
	r.em.Calls().Reset()
	return strings.Join(out, " ")
}

// TestNewResourcesMissingInTaggingServiceAreKnown checks that a resource that was just created is neither created again nor
// treated as deleted while the Resource Groups Tagging API does not show it yet. This also holds after a restart of the
// controller.
func TestNewResourcesMissingInTaggingServiceAreKnown(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, 4 * time.Minute, taggingDelay + time.Second, time.Hour} {
		t.Run(after.String(), func(t *testing.T) {
			r := newTaggingServiceHarness(t)
			if err := r.converge(fullStack()); err != nil {
				t.Fatal(err)
			}
			r.clock.Advance(after)
			r.takeMutatingCalls()
			r.checkNoSteps(fullStack())
			r.restart()
			r.checkNoSteps(fullStack())
			for range 5 {
				r.clock.Advance(6 * time.Minute)
				r.checkNoSteps(fullStack())
			}
			if err := r.converge(changedStack()); err != nil {
				t.Fatal(err)
			}
			r.takeMutatingCalls()
			r.restart()
			if err := r.converge(changedStack()); err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(r.takeMutatingCalls(), "AddTags", ""); strings.ReplaceAll(strings.TrimSpace(got), "RemoveTags", "") != "" {
				t.Errorf("a restart after a change makes the calls %s", got)
			}
			r.restart()
			if err := r.converge(deletedStack(webStack)); err != nil {
				t.Fatal(err)
			}
			r.checkCounts(0, 0)
		})
	}
}

// TestNewResourcesWithoutVisibleTagsAreKnown checks that a resource that was just created stays known, with its tags, if
// DescribeTags does not show it yet.
func TestNewResourcesWithoutVisibleTagsAreKnown(t *testing.T) {
	r := newHarness(t)
	if err := r.converge(fullStack()); err != nil {
		t.Fatal(err)
	}
	count := func() (lbs, groups int) {
		_, have, _ := r.makePlan(fullStack())
		return len(have.LoadBalancers), len(have.TargetGroups)
	}
	lbs, groups := count()
	r.clock.Advance(2 * time.Second)
	r.em.Faults().Add(fault.Rule{Operation: "DescribeTags", Action: fault.Action{Error: &store.Error{Code: "LoadBalancerNotFound", Message: "not found"}}})
	for _, c := range r.cloud.Checks() {
		if c.Key == "tags" {
			t.Error("the tags of new resources are verified")
		}
	}
	must(r.cloud.Observe(r.ctx, webStack, []model.Question{model.AskComparison{TagsSince: r.clock.Now()}}))(t)
	if gotLBs, gotGroups := count(); gotLBs != lbs || gotGroups != groups {
		t.Errorf("%d load balancers and %d target groups are known, want %d and %d", gotLBs, gotGroups, lbs, groups)
	}
}

// TestDeletedResourcesInTaggingServiceAreIgnored checks that the controller makes no mutating call for a deleted resource
// that the Resource Groups Tagging API still returns. It still finds the resources of an existing stack.
func TestDeletedResourcesInTaggingServiceAreIgnored(t *testing.T) {
	r := newTaggingServiceHarness(t)
	if err := r.converge(fullStack()); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Hour)
	if err := r.converge(deletedStack(webStack)); err != nil {
		t.Fatal(err)
	}
	r.takeMutatingCalls()
	for range 3 {
		r.restart()
		r.checkNoSteps(deletedStack(webStack))
		r.clock.Advance(2 * time.Minute)
	}
	if got := r.takeMutatingCalls(); got != "" {
		t.Errorf("mutating calls for deleted resources: %s", got)
	}
	// The Resource Groups Tagging API returns a deleted stack and an existing one. The existing one is found.
	other := desiredStack(model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "other"})
	if err := r.converge(other); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Hour)
	r.restart()
	r.takeMutatingCalls()
	r.checkNoSteps(other)
	if got := r.takeMutatingCalls(); got != "" {
		t.Errorf("mutating calls for existing resources: %s", got)
	}
}

// TestStackConvergesWithOldTagsAndLostAnswers checks that a stack converges while the Resource Groups Tagging API returns
// old tags. In run n, the answer to call n is lost and the controller restarts.
func TestStackConvergesWithOldTagsAndLostAnswers(t *testing.T) {
	for n, hit := 1, true; hit; n++ {
		r := newTaggingServiceHarness(t)
		hit = false
		r.em.Faults().SetHook(func(c fault.Call) fault.Action {
			if c.Sequence == n {
				hit = true
				r.restart()
				return fault.Action{Lose: true}
			}
			return fault.Action{}
		})
		for i, want := range []model.Stack{fullStack(), changedStack()} {
			if err := r.converge(want); err != nil {
				t.Fatalf("call %d, state %d: %v", n, i, err)
			}
		}
		r.checkCounts(1, 2)
		if err := r.converge(deletedStack(webStack)); err != nil {
			t.Fatalf("call %d, deletion: %v", n, err)
		}
		r.checkCounts(0, 0)
	}
}

// TestTagsChangedOutsideAreRestored checks that tags that another user changed in AWS are restored once the Resource Groups
// Tagging API shows the change.
func TestTagsChangedOutsideAreRestored(t *testing.T) {
	r := newTaggingServiceHarness(t)
	if err := r.converge(fullStack()); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Hour)
	r.checkNoSteps(fullStack())
	_, have, _ := r.makePlan(fullStack())
	must(r.elb.AddTags(r.ctx, &elb.AddTagsInput{ResourceArns: []string{have.LoadBalancers[0].ARN}, Tags: []elbtypes.Tag{{Key: aws.String("team"), Value: aws.String("red")}}}))(t)
	r.clock.Advance(time.Hour)
	r.takeMutatingCalls()
	if err := r.converge(fullStack()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("AddTags", r.takeMutatingCalls()); diff != "" {
		t.Error(diff)
	}
}

// TestResourcesOfOtherVPCInTaggingServiceAreIgnored checks that the controller does not change the resources of a cluster
// with the same name in another VPC, because that is another cluster.
func TestResourcesOfOtherVPCInTaggingServiceAreIgnored(t *testing.T) {
	r := newTaggingServiceHarness(t)
	vpc := *must(r.ec2.CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")}))(t).Vpc.VpcId
	tags := []elbtypes.Tag{
		{Key: aws.String("elbv2.k8s.aws/cluster"), Value: aws.String(cluster)},
		{Key: aws.String("ingress.k8s.aws/stack"), Value: aws.String("shop/web")},
		{Key: aws.String("ingress.k8s.aws/resource"), Value: aws.String("api")},
	}
	must(r.elb.CreateTargetGroup(r.ctx, &elb.CreateTargetGroupInput{
		Name: aws.String("theirs"), VpcId: &vpc, TargetType: elbtypes.TargetTypeEnumIp, Protocol: "HTTP", Port: aws.Int32(80), Tags: tags,
	}))(t)
	r.clock.Advance(time.Hour)
	if err := r.converge(deletedStack(webStack)); err != nil {
		t.Fatal(err)
	}
	r.checkCounts(0, 1)
	_, have, _ := r.makePlan(deletedStack(webStack))
	if len(have.TargetGroups) > 0 {
		t.Errorf("target groups of another VPC in the stack: %+v", have.TargetGroups)
	}
}

// TestTaggingServiceSavesCalls checks that the controller does not call DescribeTags for load balancers and target groups if
// the Resource Groups Tagging API returns their current tags, even if other owners have many of them.
func TestTaggingServiceSavesCalls(t *testing.T) {
	r := newTaggingServiceHarness(t)
	for i := range 30 {
		name := fmt.Sprintf("theirs-%d", i)
		lb := must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: &name, Subnets: r.publicSubnets}))(t).LoadBalancers[0]
		g := must(r.elb.CreateTargetGroup(r.ctx, &elb.CreateTargetGroupInput{
			Name: &name, VpcId: &r.vpc, TargetType: elbtypes.TargetTypeEnumIp, Protocol: "HTTP", Port: aws.Int32(80),
		}))(t).TargetGroups[0]
		must(r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: "HTTP",
			DefaultActions: []elbtypes.Action{{Type: "forward", TargetGroupArn: g.TargetGroupArn}}}))(t)
	}
	if err := r.converge(desiredStack(webStack)); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Hour)
	r.restart()
	r.takeCallCounts()
	r.checkNoSteps(desiredStack(webStack))
	expect := strings.Join([]string{
		"DescribeListeners 1", "DescribeLoadBalancers 1", "DescribeRules 1", "DescribeSecurityGroups 1",
		"DescribeTags 1", // for listeners and rules
		"DescribeTargetGroups 1", "GetResources 2",
	}, "\n")
	if diff := cmp.Diff(expect, r.takeCallCounts()); diff != "" {
		t.Errorf("calls after a restart (-want +got):\n%s", diff)
	}
}
