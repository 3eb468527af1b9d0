package elbv2_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestApplicationLoadBalancerAsTarget(t *testing.T) {
	r := newHarness(t)
	front := r.createNLB("front")
	app, second := r.createALB("app"), r.createALB("second")
	g := r.createTargetGroup("behind", withProtocol("TCP"), withTargetType("alb"))
	want := []any{types.TargetTypeEnumAlb, types.ProtocolEnumTcp, types.ProtocolEnumHttp, "/", int32(6), "200-399"}
	if d := cmp.Diff(want, []any{g.TargetType, g.Protocol, g.HealthCheckProtocol, *g.HealthCheckPath, *g.HealthCheckTimeoutSeconds, *g.Matcher.HttpCode}); d != "" {
		t.Errorf("target group (-want +got):\n%s", d)
	}
	must(r.createNLBListener(front, 80, "TCP", g))(t)
	checkError(t, r.registerTargets(g, targetWithID(*app.LoadBalancerArn)), "InvalidTarget", "no listener on the port '80'")
	r.createListener(app.LoadBalancerArn, 80, fixedResponseActions("404"))
	r.createListener(second.LoadBalancerArn, 80, fixedResponseActions("404"))
	checkError(t, r.registerTargets(g, targetWithID(*front.LoadBalancerArn)), "InvalidTarget", "not Application Load Balancers")
	checkError(t, r.registerTargets(g, targetAt(*app.LoadBalancerArn, 81)), "InvalidTarget", "no listener on the port '81'")
	checkError(t, r.registerTargets(g, types.TargetDescription{Id: app.LoadBalancerArn, AvailabilityZone: aws.String("all")}), "ValidationError", "Availability Zone")
	if err := r.registerTargets(g, targetWithID(*app.LoadBalancerArn)); err != nil {
		t.Fatal(err)
	}
	checkError(t, r.registerTargets(g, targetWithID(*second.LoadBalancerArn)), "TooManyTargets", "Up to '1'")
	// The ALB can be registered with another port than that of the target group, if the ALB has a listener on this port.
	secure := r.createListener(app.LoadBalancerArn, 8080, fixedResponseActions("404"))
	mapped := r.createTargetGroup("mapped", withProtocol("TCP"), withTargetType("alb"))
	must(r.createNLBListener(front, 81, "TCP", mapped))(t)
	if err := r.registerTargets(mapped, targetAt(*app.LoadBalancerArn, 8080)); err != nil {
		t.Fatal(err)
	}
	_, inUse := r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: secure.ListenerArn})
	checkError(t, inUse, "ResourceInUse", "Listener port '8080'")
	r.deregisterTargets(mapped, targetAt(*app.LoadBalancerArn, 8080))
	r.checkHealth(mapped, map[string]string{})
	r.checkHealth(g, map[string]string{*app.LoadBalancerArn + ":80": "initial Elb.RegistrationInProgress"})
	r.clock.Advance(time.Minute)
	r.checkHealth(g, map[string]string{*app.LoadBalancerArn + ":80": "healthy "})
	got := must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{*g.TargetGroupArn}}))(t).TargetGroups[0]
	if d := cmp.Diff([]string{*front.LoadBalancerArn}, got.LoadBalancerArns); d != "" {
		t.Errorf("load balancers of the target group (-want +got):\n%s", d)
	}
	_, err := r.elb.ModifyTargetGroupAttributes(r.ctx, &elb.ModifyTargetGroupAttributesInput{
		TargetGroupArn: g.TargetGroupArn, Attributes: []types.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("5")}},
	})
	checkError(t, err, "InvalidConfigurationRequest", "not supported")
	for i := range 2 {
		other := r.createNLB(fmt.Sprint("other", i))
		h := r.createTargetGroup(fmt.Sprint("other", i), withProtocol("TCP"), withTargetType("alb"))
		must(r.createNLBListener(other, 80, "TCP", h))(t)
		err := r.registerTargets(h, targetWithID(*app.LoadBalancerArn))
		if i == 0 && err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			checkError(t, err, "InvalidTarget", "more than '2' Network Load Balancers")
		}
	}
	r.em.Store().Config.Quotas["targets-per-network-load-balancer"] = 49
	crowded := r.createNLB("crowded")
	_, err = r.createNLBListener(crowded, 80, "TCP", r.createTargetGroup("crowd", withProtocol("TCP"), withTargetType("alb")))
	if err != nil {
		t.Fatal(err)
	}
	many := must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{Names: []string{"crowd"}}))(t).TargetGroups[0]
	checkError(t, r.registerTargets(many, targetWithID(*second.LoadBalancerArn)), "TooManyTargets", "")
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: front.LoadBalancerArn}))(t)
	r.checkHealth(g, map[string]string{*app.LoadBalancerArn + ":80": "unused Target.NotInUse"})
	r.checkState()
}

func TestUnhealthyTargetsOfNLBAreDraining(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createNLB("net"), r.createTargetGroup("tcp", withProtocol("TCP"))
	must(r.createNLBListener(lb, 80, "TCP", g))(t)
	set := func(pairs ...string) error {
		in := &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn}
		for i := 0; i < len(pairs); i += 2 {
			in.Attributes = append(in.Attributes, types.TargetGroupAttribute{Key: &pairs[i], Value: &pairs[i+1]})
		}
		_, err := r.elb.ModifyTargetGroupAttributes(r.ctx, in)
		return err
	}
	const termination, interval = "target_health_state.unhealthy.connection_termination.enabled", "target_health_state.unhealthy.draining_interval_seconds"
	checkError(t, set(interval, "60"), "InvalidConfigurationRequest", termination)
	if err := set(termination, "false", interval, "60"); err != nil {
		t.Fatal(err)
	}
	if err := r.registerTargets(g, targetWithID("10.0.0.50")); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Minute)
	r.em.Store().ReportHealth(store.HealthReport{TargetGroup: *g.TargetGroupArn, Target: "10.0.0.50", Port: 80, Verdict: store.TargetHealthResult{
		State: types.TargetHealthStateEnumUnhealthy, Reason: types.TargetHealthReasonEnumFailedHealthChecks, Description: "Health checks failed",
	}})
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "unhealthy.draining Target.FailedHealthChecks"})
	r.clock.Advance(time.Minute)
	r.checkHealth(g, map[string]string{"10.0.0.50:80": "unhealthy Target.FailedHealthChecks"})
}

func TestQUICTargets(t *testing.T) {
	r := newHarness(t)
	g := r.createTargetGroup("quic", withProtocol("QUIC"))
	id := func(address, server string) types.TargetDescription {
		return types.TargetDescription{Id: &address, QuicServerId: &server}
	}
	checkError(t, r.registerTargets(g, targetWithID("10.0.0.50")), "ValidationError", "QUIC server ID")
	checkError(t, r.registerTargets(g, id("10.0.0.50", "0x12")), "ValidationError", "QUIC server ID")
	checkError(t, r.registerTargets(r.createTargetGroup("tcp", withProtocol("TCP")), id("10.0.0.50", "0x0123456789abcdef")), "ValidationError", "cannot be specified")
	if err := r.registerTargets(g, id("10.0.0.50", "0x0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	checkError(t, r.registerTargets(g, id("10.0.0.51", "0x0123456789abcdef")), "ValidationError", "used by another target")
	if err := r.registerTargets(g, id("10.0.0.51", "0x0123456789abcdee")); err != nil {
		t.Fatal(err)
	}
	got := must(r.elb.DescribeTargetHealth(r.ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn, Targets: []types.TargetDescription{targetWithID("10.0.0.51")}}))(t)
	if *got.TargetHealthDescriptions[0].Target.QuicServerId != "0x0123456789abcdee" {
		t.Errorf("target %+v", got.TargetHealthDescriptions[0].Target)
	}
	r.checkState()
}

func TestNetworkTargetGroupAttributes(t *testing.T) {
	r := newHarness(t)
	groups := map[string]types.TargetGroup{
		"tcp": r.createTargetGroup("tcp", withProtocol("TCP")), "tls": r.createTargetGroup("tls", withProtocol("TLS")), "udp": r.createTargetGroup("udp", withProtocol("UDP")),
		"instance": r.createTargetGroup("instance", withProtocol("TCP"), withTargetType("instance")), "quic": r.createTargetGroup("quic", withProtocol("QUIC")),
	}
	attributes := func(name string) map[string]string {
		out := map[string]string{}
		for _, a := range must(r.elb.DescribeTargetGroupAttributes(r.ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: groups[name].TargetGroupArn}))(t).Attributes {
			out[*a.Key] = *a.Value
		}
		return out
	}
	preserved := map[string]string{}
	for name := range groups {
		preserved[name] = attributes(name)["preserve_client_ip.enabled"]
	}
	if d := cmp.Diff(map[string]string{"tcp": "false", "tls": "false", "udp": "true", "instance": "true", "quic": "true"}, preserved); d != "" {
		t.Errorf("preserve_client_ip.enabled by default (-want +got):\n%s", d)
	}
	tests := map[string]struct {
		group, key, value, code string
	}{
		"stickiness":                     {"tcp", "stickiness.enabled", "true", ""},
		"stickiness of TLS":              {"tls", "stickiness.enabled", "true", "InvalidConfigurationRequest"},
		"stickiness type of ALBs":        {"tcp", "stickiness.type", "app_cookie", "InvalidConfigurationRequest"},
		"proxy protocol":                 {"tcp", "proxy_protocol_v2.enabled", "true", ""},
		"client IP preservation":         {"tls", "preserve_client_ip.enabled", "true", ""},
		"client IP preservation of QUIC": {"quic", "preserve_client_ip.enabled", "false", "InvalidConfigurationRequest"},
		"termination of UDP":             {"udp", "deregistration_delay.connection_termination.enabled", "false", ""},
		"unhealthy UDP":                  {"udp", "target_health_state.unhealthy.connection_termination.enabled", "true", "InvalidConfigurationRequest"},
		"unhealthy QUIC":                 {"quic", "target_health_state.unhealthy.connection_termination.enabled", "true", "InvalidConfigurationRequest"},
		"draining of unhealthy UDP":      {"udp", "target_health_state.unhealthy.draining_interval_seconds", "5", "InvalidConfigurationRequest"},
		"cross-zone":                     {"tcp", "load_balancing.cross_zone.enabled", "true", ""},
		"slow start":                     {"tcp", "slow_start.duration_seconds", "30", "InvalidConfigurationRequest"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.elb.ModifyTargetGroupAttributes(r.ctx, &elb.ModifyTargetGroupAttributesInput{
				TargetGroupArn: groups[tt.group].TargetGroupArn, Attributes: []types.TargetGroupAttribute{{Key: &tt.key, Value: &tt.value}},
			})
			if tt.code != "" {
				checkError(t, err, tt.code, "")
			} else if err != nil || attributes(tt.group)[tt.key] != tt.value {
				t.Errorf("error %v, value %q", err, attributes(tt.group)[tt.key])
			}
		})
	}
}
