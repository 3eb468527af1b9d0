package cloud_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestCreateMakesFewReadsAndRecordsItsWrites(t *testing.T) {
	r := newHarness(t)
	want := desiredStack(webStack)
	p, _, found := r.makePlan(want)
	if len(found) > 0 {
		t.Fatalf("findings: %v", found)
	}
	if err := r.apply(p); err != nil {
		t.Fatal(err)
	}
	expect := strings.Join([]string{
		"AuthorizeSecurityGroupIngress 1", "CreateListener 1", "CreateLoadBalancer 1", "CreateRule 2", "CreateSecurityGroup 1", "CreateTargetGroup 2",
		"DescribeAvailabilityZones 1", "DescribeLoadBalancers 1", "DescribeSecurityGroups 1", "DescribeSubnets 1", "DescribeTargetGroups 1",
	}, "\n")
	if diff := cmp.Diff(expect, r.takeCallCounts()); diff != "" {
		t.Errorf("calls of the first creation (-want +got):\n%s", diff)
	}
	r.checkNoSteps(want)
	if got := r.takeCallCounts(); got != "" {
		t.Errorf("a plan after our own writes makes calls:\n%s", got)
	}
	// A plan for a second stack makes no read call.
	p, _, _ = r.makePlan(desiredStack(model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "second"}))
	if got := r.takeCallCounts(); got != "" {
		t.Errorf("a plan of a second stack makes calls:\n%s", got)
	}
	if err := r.apply(p); err != nil {
		t.Fatal(err)
	}
	if n := r.em.Calls().Total(); n != 8 {
		t.Errorf("applying the second stack made %d calls, want 8:\n%s", n, r.takeCallCounts())
	}
}

func TestUnchangedStackMakesNoCallsWithinTheRefreshPeriod(t *testing.T) {
	r := newHarness(t)
	r.checkConverges(desiredStack(webStack))
	r.takeCallCounts()
	for range 8 {
		r.clock.Advance(time.Minute)
		r.checkNoSteps(desiredStack(webStack))
	}
	if got := r.takeCallCounts(); got != "" {
		t.Errorf("calls:\n%s", got)
	}
	r.clock.Advance(5 * time.Minute)
	r.checkNoSteps(desiredStack(webStack))
	expect := strings.Join([]string{
		"DescribeListeners 1", "DescribeLoadBalancers 1", "DescribeRules 1", "DescribeSecurityGroups 1", "DescribeTags 1", "DescribeTargetGroups 1",
	}, "\n")
	if diff := cmp.Diff(expect, r.takeCallCounts()); diff != "" {
		t.Errorf("calls after the period (-want +got):\n%s", diff)
	}
}

func TestDeletionLeavesNoResources(t *testing.T) {
	r := newHarness(t)
	r.checkConverges(desiredStack(webStack))
	for range 10 {
		p, _, _ := r.makePlan(deletedStack(webStack))
		_ = r.apply(p) // fails with "in use" while ENIs still exist
		r.clock.Advance(10 * time.Second)
	}
	r.cloud.Forget()
	_, have, _ := r.makePlan(deletedStack(webStack))
	if n := len(have.LoadBalancers) + len(have.TargetGroups) + len(have.SecurityGroups); n != 0 {
		t.Errorf("resources that still exist: %+v", have)
	}
}
