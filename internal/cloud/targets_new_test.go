package cloud_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

func TestTargetsOfNewTargetGroupAreNotRead(t *testing.T) {
	r := newHarness(t)
	p, _, _ := r.makePlan(desiredStack(webStack))
	if err := r.apply(p); err != nil {
		t.Fatal(err)
	}
	arn := r.groupARN("api")
	r.takeCallCounts()
	if got := r.targetStates(arn, time.Hour); len(got) != 0 {
		t.Errorf("targets of a new group: %v", got)
	}
	if got := r.takeCallCounts(); got != "" {
		t.Errorf("calls:\n%s", got)
	}
	if err := r.cloud.TargetGroupsOf(bindings.Account{}).Register(r.ctx, arn, bindings.CallPriority{}, []bindings.Target{{ID: "10.0.128.10", Port: 8080}}); err != nil {
		t.Fatal(err)
	}
	if got := r.targetStates(arn, time.Hour); got["10.0.128.10"] != "initial" {
		t.Errorf("after registering: %v", got)
	}
	r.targetStates(arn, 0)
	if got := r.takeCallCounts(); got != "DescribeTargetHealth 1\nRegisterTargets 1" {
		t.Errorf("calls:\n%s", got)
	}
}

// TestReplacementOfTargetGroupIsFoundByName checks that the controller finds the new target group if another client
// replaces a target group by one with the same name. It finds it when the cached answer is too old, or when AWS reports that
// the old target group does not exist.
func TestReplacementOfTargetGroupIsFoundByName(t *testing.T) {
	r := newHarness(t)
	groups := r.cloud.TargetGroupsOf(bindings.Account{})
	arns := map[string]bool{}
	makeOne := func() string {
		t.Helper()
		out := must(r.elb.CreateTargetGroup(r.ctx, &elb.CreateTargetGroupInput{
			Name: aws.String("pods"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), TargetType: elbtypes.TargetTypeEnumIp, VpcId: &r.vpc,
		}))(t)
		arn := aws.ToString(out.TargetGroups[0].TargetGroupArn)
		if arns[arn] {
			t.Fatal("the same ARN again")
		}
		arns[arn] = true
		return arn
	}
	named := func(age time.Duration) string {
		t.Helper()
		return must(groups.TargetGroup(r.ctx, "", "pods", age))(t).ARN
	}
	first := makeOne()
	if got := named(time.Hour); got != first {
		t.Fatal(got)
	}
	must(r.elb.DeleteTargetGroup(r.ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: &first}))(t)
	second := makeOne()
	r.clock.Advance(6 * time.Second)
	if got := named(5 * time.Second); got != second {
		t.Errorf("with maximum age 5 s: got %s", got)
	}
	must(r.elb.DeleteTargetGroup(r.ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: &second}))(t)
	third := makeOne()
	if got := named(time.Hour); got != second {
		t.Errorf("with maximum age 1 h: got %s", got)
	}
	if _, err := groups.TargetHealth(r.ctx, second, 0); err == nil {
		t.Fatal("no error")
	}
	if got := named(time.Hour); got != third {
		t.Errorf("after AWS reported that it does not exist: got %s", got)
	}
}
