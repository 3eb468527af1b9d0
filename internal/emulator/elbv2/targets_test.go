package elbv2_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func (r *harness) registerTargets(g types.TargetGroup, targets ...types.TargetDescription) error {
	_, err := r.elb.RegisterTargets(r.ctx, &elb.RegisterTargetsInput{TargetGroupArn: g.TargetGroupArn, Targets: targets})
	return err
}

func (r *harness) deregisterTargets(g types.TargetGroup, targets ...types.TargetDescription) {
	r.t.Helper()
	must(r.elb.DeregisterTargets(r.ctx, &elb.DeregisterTargetsInput{TargetGroupArn: g.TargetGroupArn, Targets: targets}))(r.t)
}

func targetWithID(id string) types.TargetDescription { return types.TargetDescription{Id: &id} }

func targetAt(id string, port int32) types.TargetDescription {
	return types.TargetDescription{Id: &id, Port: &port}
}

// targetHealth maps "id:port" of each target to "state reason". asked are the targets in the request; without them, all
// targets are returned.
func (r *harness) targetHealth(g types.TargetGroup, asked ...types.TargetDescription) map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for _, d := range must(r.elb.DescribeTargetHealth(r.ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn, Targets: asked}))(r.t).TargetHealthDescriptions {
		out[fmt.Sprintf("%s:%d", *d.Target.Id, aws.ToInt32(d.Target.Port))] = fmt.Sprintf("%s %s", d.TargetHealth.State, d.TargetHealth.Reason)
	}
	return out
}

// checkHealth checks the health of all registered targets of a target group. want is a result of targetHealth.
func (r *harness) checkHealth(g types.TargetGroup, want map[string]string) {
	r.t.Helper()
	if d := cmp.Diff(want, r.targetHealth(g)); d != "" {
		r.t.Errorf("health (-want +got):\n%s", d)
	}
}

func TestTargetLifecycle(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createALB("app"), r.createTargetGroup("web")
	r.clock.Advance(time.Minute)
	if err := r.registerTargets(g, targetWithID("10.0.0.50")); err != nil {
		t.Fatal(err)
	}
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "unused Target.NotInUse"})
	l := r.createListener(lb.LoadBalancerArn, 80, forwardActions(g.TargetGroupArn))
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "initial Elb.RegistrationInProgress"})
	r.clock.Advance(200 * time.Millisecond)
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "initial Elb.InitialHealthChecking"})
	r.clock.Advance(time.Second)
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "healthy "})

	r.em.Store().ReportHealth(store.HealthReport{TargetGroup: *g.TargetGroupArn, Target: "10.0.0.50", Port: 80, Verdict: store.TargetHealthResult{
		State: types.TargetHealthStateEnumUnhealthy, Reason: types.TargetHealthReasonEnumTimeout, Description: "Request timed out",
	}})
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "unhealthy Target.Timeout"})

	r.deregisterTargets(g, targetWithID("10.0.0.50"), targetWithID("10.0.0.99"))
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "draining Target.DeregistrationInProgress"})
	r.clock.Advance(299 * time.Second)
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "draining Target.DeregistrationInProgress"})
	if err := r.registerTargets(g, targetWithID("10.0.0.50")); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(10 * time.Second)
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "healthy "})
	r.deregisterTargets(g, targetWithID("10.0.0.50"))
	r.clock.Advance(300 * time.Second)
	r.checkHealth(g, map[string]string{})
	got := r.targetHealth(g, targetWithID("10.0.0.50"))
	if d := cmp.Diff(map[string]string{"10.0.0.50:80": "unused Target.NotRegistered"}, got); d != "" {
		t.Errorf("target in the request (-want +got):\n%s", d)
	}
	must(r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: l.ListenerArn}))(t)
	r.checkState()
}

func TestTargetsOutsideOfEnabledZones(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createALB("app"), r.createTargetGroup("web", withTargetType("instance")) // the ALB is in zones a and b
	r.createListener(lb.LoadBalancerArn, 80, forwardActions(g.TargetGroupArn))
	if err := r.registerTargets(g, targetWithID(r.instances[0]), targetAt(r.instances[0], 81), targetWithID(r.instances[2])); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Minute)
	r.checkHealth(g, map[string]string{
		r.instances[0] + ":80": "healthy ", r.instances[0] + ":81": "healthy ", r.instances[2] + ":80": "unused Target.NotInUse",
	})
	must(r.ec2.StopInstances(r.ctx, &ec2.StopInstancesInput{InstanceIds: []string{r.instances[0]}}))(t)
	r.clock.Advance(time.Minute)
	if got := r.targetHealth(g)[r.instances[0]+":80"]; got != "unused Target.InvalidState" {
		t.Errorf("stopped instance is %s", got)
	}
}

func TestRegisterTargetsRefusals(t *testing.T) {
	r := newHarness(t)
	ip, instance, fn := r.createTargetGroup("ip"), r.createTargetGroup("instance", withTargetType("instance")), r.createTargetGroup("fn", asLambda)
	behind := r.createTargetGroup("alb", withProtocol("TCP"), withTargetType("alb"))
	app := r.createALB("app")
	must(r.ec2.StopInstances(r.ctx, &ec2.StopInstancesInput{InstanceIds: r.instances[2:]}))(t)
	r.clock.Advance(time.Minute)
	in := func(id, zone string) types.TargetDescription {
		return types.TargetDescription{Id: &id, AvailabilityZone: &zone}
	}
	const function = "arn:aws:lambda:us-west-2:123456789012:function:"
	tests := map[string]struct {
		group         types.TargetGroup
		targets       []types.TargetDescription
		code, message string
	}{
		"malformed instance":                 {instance, []types.TargetDescription{targetWithID("x")}, "ValidationError", "Instance ID 'x' is not valid"},
		"unknown instance":                   {instance, []types.TargetDescription{targetWithID("i-0123456789abcdef0")}, "InvalidTarget", "The following targets are not in the target group VPC"},
		"stopped instance":                   {instance, []types.TargetDescription{targetWithID(r.instances[2])}, "InvalidTarget", "not in a running state and cannot be registered: '" + r.instances[2] + "'"},
		"zone of instance":                   {instance, []types.TargetDescription{in(r.instances[0], "all")}, "ValidationError", "Availability Zone"},
		"not an address":                     {ip, []types.TargetDescription{targetWithID("x")}, "ValidationError", "The IP address 'x' is not a valid IPv4 address"},
		"IPv6 address in IPv4 target group":  {ip, []types.TargetDescription{targetWithID("fd00::1")}, "ValidationError", "is not a valid IPv4 address"},
		"public address":                     {ip, []types.TargetDescription{in("8.8.8.8", "all")}, "ValidationError", "8.8.8.8"},
		"no zone":                            {ip, []types.TargetDescription{targetWithID("192.168.1.1")}, "ValidationError", "you must specify an Availability Zone"},
		"one of two is invalid":              {ip, []types.TargetDescription{targetWithID("10.0.0.60"), targetWithID("x")}, "ValidationError", ""},
		"two functions":                      {fn, []types.TargetDescription{targetWithID(function + "a"), targetWithID(function + "b")}, "TooManyTargets", "Up to '1' Lambda function target(s) can be registered, but '2' were specified"},
		"ALB without a listener on the port": {behind, []types.TargetDescription{targetWithID(*app.LoadBalancerArn)}, "InvalidTarget", "no listener on the port '80'"},
		"port out of range":                  {ip, []types.TargetDescription{targetAt("10.0.0.60", 70000)}, "ValidationError", "Value '70000' at 'targets.1.member.port'"},
		"unknown target group":               {types.TargetGroup{TargetGroupArn: aws.String("arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/x/0123456789abcdef")}, []types.TargetDescription{targetWithID("10.0.0.60")}, "TargetGroupNotFound", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { checkError(t, r.registerTargets(tt.group, tt.targets...), tt.code, tt.message) })
	}
	r.checkHealth(ip, map[string]string{})
	if err := r.registerTargets(ip, in("192.168.1.1", "all"), in("10.0.0.61", "us-west-2c")); err != nil {
		t.Fatal(err)
	}
	zones := map[string]string{}
	for _, d := range must(r.elb.DescribeTargetHealth(r.ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: ip.TargetGroupArn}))(t).TargetHealthDescriptions {
		zones[*d.Target.Id] = aws.ToString(d.Target.AvailabilityZone)
	}
	if d := cmp.Diff(map[string]string{"192.168.1.1": "all", "10.0.0.61": "us-west-2a"}, zones); d != "" {
		t.Errorf("zones (-want +got):\n%s", d)
	}
	r.em.Store().Config.Quotas["targets-per-target-group"] = 2
	checkError(t, r.registerTargets(ip, targetWithID("10.0.0.62")), "TooManyTargets", "The maximum number of targets per target group '2'")
	r.checkState()
}

func TestALBBehindNLBCannotBeDeleted(t *testing.T) {
	r := newHarness(t)
	app := r.createALB("app")
	l := r.createListener(app.LoadBalancerArn, 80, fixedResponseActions("404"))
	g := r.createTargetGroup("front", withProtocol("TCP"), withTargetType("alb"))
	if err := r.registerTargets(g, targetWithID(*app.LoadBalancerArn)); err != nil {
		t.Fatal(err)
	}
	_, err := r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: l.ListenerArn})
	checkError(t, err, "ResourceInUse", "Listener port '80' is in use by registered target")
	_, err = r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: app.LoadBalancerArn})
	checkError(t, err, "ResourceInUse", "registered as a target")
	r.deregisterTargets(g, targetWithID(*app.LoadBalancerArn))
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: app.LoadBalancerArn}))(t)
	r.checkState()
}
