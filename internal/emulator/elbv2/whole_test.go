package elbv2_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

func TestStateIsExportedAndRestored(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createALB("app"), r.createTargetGroup("web")
	cert := r.importCertificate(false, "example.com")
	l := r.createHTTPSListener(lb.LoadBalancerArn, 443, cert, redirectToHostActions())
	rule := must(r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{
		ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Conditions: append(hostConditions("a.com"), pathConditions("/a")...),
		Actions: append(oidcActions(1, aws.String("s")), ordered(forwardActions(g.TargetGroupArn), 2)...), Tags: []types.Tag{newTag("a", "1")},
	}))(t).Rules[0]
	if err := r.registerTargets(g, targetWithID("10.0.0.50")); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Minute)
	w := r.em.Store()
	w.Lock()
	before := must(w.Export())(t)
	w.Reset()
	if err := w.Restore(before); err != nil {
		t.Fatal(err)
	}
	after := must(w.Export())(t)
	w.Unlock()
	if d := cmp.Diff(string(before), string(after)); d != "" {
		t.Errorf("the state changed (-before +after):\n%s", d)
	}
	got := must(r.elb.DescribeRules(r.ctx, &elb.DescribeRulesInput{RuleArns: []string{*rule.RuleArn}}))(t).Rules[0]
	if d := cmp.Diff(rule.Actions, got.Actions, ignoreUnexportedFields()); d != "" {
		t.Errorf("actions (-before +after):\n%s", d)
	}
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "healthy "})
	r.checkState()
}

func redirectToHostActions() []types.Action {
	return redirectActions(types.RedirectActionConfig{Host: aws.String("other.example.com"), StatusCode: "HTTP_302"})
}

// TestWaitersWorkInVirtualTime checks that the waiters of the SDK work with the emulator. It runs in a synctest bubble,
// where waiting takes no real time.
func TestWaitersWorkInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		em := emulator.New(emulator.Options{Seed: 1})
		em.Store().Config.ELB.ProvisioningDelay = 3 * time.Minute
		em.Store().Config.ELB.RegistrationDelayALB = time.Minute
		cfg := aws.Config{Region: region, HTTPClient: em.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")}
		client := elb.NewFromConfig(cfg)
		var subnets []string
		var vpc string
		for _, s := range must(ec2.NewFromConfig(cfg).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}))(t).Subnets {
			subnets, vpc = append(subnets, *s.SubnetId), *s.VpcId
		}
		start := time.Now()
		lb := must(client.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: aws.String("app"), Subnets: subnets}))(t).LoadBalancers[0]
		g := must(client.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{
			Name: aws.String("web"), Protocol: "HTTP", Port: aws.Int32(80), VpcId: &vpc, TargetType: "ip",
		}))(t).TargetGroups[0]
		must(client.CreateListener(t.Context(), &elb.CreateListenerInput{
			LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: "HTTP", DefaultActions: forwardActions(g.TargetGroupArn),
		}))(t)
		must(client.RegisterTargets(t.Context(), &elb.RegisterTargetsInput{TargetGroupArn: g.TargetGroupArn, Targets: []types.TargetDescription{targetWithID("172.31.0.50")}}))(t)
		active := elb.NewLoadBalancerAvailableWaiter(client)
		if err := active.Wait(t.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{*lb.LoadBalancerArn}}, 10*time.Minute); err != nil {
			t.Fatal(err)
		}
		inService := elb.NewTargetInServiceWaiter(client)
		if err := inService.Wait(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn}, 10*time.Minute); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < 4*time.Minute || waited > 10*time.Minute {
			t.Errorf("the target is in service after %s, want 4 to 10 minutes", waited)
		}
	})
}
