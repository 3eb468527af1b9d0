package elbv2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// asLambda changes a request of createTargetGroup so that it creates a target group for a Lambda function.
func asLambda(in *elb.CreateTargetGroupInput) {
	in.TargetType, in.Protocol, in.Port, in.VpcId = types.TargetTypeEnumLambda, "", nil, nil
}

func withProtocol(p types.ProtocolEnum) func(*elb.CreateTargetGroupInput) {
	return func(in *elb.CreateTargetGroupInput) { in.Protocol = p }
}

func withProtocolVersion(v string) func(*elb.CreateTargetGroupInput) {
	return func(in *elb.CreateTargetGroupInput) { in.ProtocolVersion = &v }
}

func withHealthCheckProtocol(p types.ProtocolEnum) func(*elb.CreateTargetGroupInput) {
	return func(in *elb.CreateTargetGroupInput) { in.HealthCheckProtocol = p }
}

func withTargetType(k types.TargetTypeEnum) func(*elb.CreateTargetGroupInput) {
	return func(in *elb.CreateTargetGroupInput) { in.TargetType = k }
}

func TestTargetGroupDefaults(t *testing.T) {
	r := newHarness(t)
	type defaults struct {
		Protocol          types.ProtocolEnum
		Port, Path        string
		Interval, Timeout int32
		Healthy, Bad      int32
		HTTP, GRPC        string
		Enabled           bool
		Version           string
	}
	tests := map[string]struct {
		edit []func(*elb.CreateTargetGroupInput)
		want defaults
	}{
		"http":         {nil, defaults{"HTTP", "traffic-port", "/", 30, 5, 5, 2, "200", "", true, "HTTP1"}},
		"grpc":         {[]func(*elb.CreateTargetGroupInput){withProtocolVersion("GRPC")}, defaults{"HTTP", "traffic-port", "/AWS.ALB/healthcheck", 30, 5, 5, 2, "", "12", true, "GRPC"}},
		"https-checks": {[]func(*elb.CreateTargetGroupInput){withHealthCheckProtocol("HTTPS")}, defaults{"HTTPS", "traffic-port", "/", 30, 5, 5, 2, "200", "", true, "HTTP1"}},
		"tcp":          {[]func(*elb.CreateTargetGroupInput){withProtocol("TCP")}, defaults{"TCP", "traffic-port", "", 30, 10, 5, 2, "", "", true, ""}},
		"tcp-http":     {[]func(*elb.CreateTargetGroupInput){withProtocol("TCP"), withHealthCheckProtocol("HTTP")}, defaults{"HTTP", "traffic-port", "/", 30, 6, 5, 2, "200-399", "", true, ""}},
		"udp-https":    {[]func(*elb.CreateTargetGroupInput){withProtocol("UDP"), withHealthCheckProtocol("HTTPS")}, defaults{"HTTPS", "traffic-port", "/", 30, 10, 5, 2, "200-399", "", true, ""}},
		"alb":          {[]func(*elb.CreateTargetGroupInput){withProtocol("TCP"), withTargetType("alb")}, defaults{"HTTP", "traffic-port", "/", 30, 6, 5, 2, "200-399", "", true, ""}},
		"lambda":       {[]func(*elb.CreateTargetGroupInput){asLambda}, defaults{"", "", "/", 35, 30, 5, 2, "200", "", false, ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := r.createTargetGroup(name, tt.edit...)
			got := defaults{
				g.HealthCheckProtocol, aws.ToString(g.HealthCheckPort), aws.ToString(g.HealthCheckPath),
				*g.HealthCheckIntervalSeconds, *g.HealthCheckTimeoutSeconds, *g.HealthyThresholdCount, *g.UnhealthyThresholdCount,
				"", "", *g.HealthCheckEnabled, aws.ToString(g.ProtocolVersion),
			}
			if g.Matcher != nil {
				got.HTTP, got.GRPC = aws.ToString(g.Matcher.HttpCode), aws.ToString(g.Matcher.GrpcCode)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("defaults (-want +got):\n%s", d)
			}
		})
	}
}

func TestCreateTargetGroupRefusals(t *testing.T) {
	r := newHarness(t)
	tests := map[string]struct {
		edit          func(in *elb.CreateTargetGroupInput)
		code, message string
	}{
		"long name":               {func(in *elb.CreateTargetGroupInput) { in.Name = aws.String("a234567890123456789012345678901234") }, "ValidationError", "cannot be longer than '32' characters"},
		"name characters":         {func(in *elb.CreateTargetGroupInput) { in.Name = aws.String("a.b") }, "ValidationError", "alphanumeric characters or hyphens(-)"},
		"name ends with a hyphen": {func(in *elb.CreateTargetGroupInput) { in.Name = aws.String("a-") }, "ValidationError", "cannot begin or end with '-'"},
		"no port":                 {func(in *elb.CreateTargetGroupInput) { in.Port = nil }, "ValidationError", "must have a protocol and a port"},
		"no VPC":                  {func(in *elb.CreateTargetGroupInput) { in.VpcId = nil }, "ValidationError", "A VPC ID must be specified"},
		"unknown VPC":             {func(in *elb.CreateTargetGroupInput) { in.VpcId = aws.String("vpc-1") }, "ValidationError", "The VPC ID 'vpc-1' is not found"},
		"lambda and port":         {func(in *elb.CreateTargetGroupInput) { asLambda(in); in.Port = aws.Int32(1) }, "ValidationError", "Port cannot be specified"},
		"version on TCP":          {func(in *elb.CreateTargetGroupInput) { in.Protocol = "TCP"; in.ProtocolVersion = aws.String("HTTP2") }, "ValidationError", ""},
		"TCP check":               {withHealthCheckProtocol("TCP"), "InvalidConfigurationRequest", ""},
		"UDP check":               {func(in *elb.CreateTargetGroupInput) { in.Protocol = "UDP"; in.HealthCheckProtocol = "UDP" }, "InvalidConfigurationRequest", ""},
		"health checks disabled":  {func(in *elb.CreateTargetGroupInput) { in.HealthCheckEnabled = aws.Bool(false) }, "InvalidConfigurationRequest", ""},
		"timeout not below interval": {func(in *elb.CreateTargetGroupInput) {
			in.HealthCheckIntervalSeconds, in.HealthCheckTimeoutSeconds = aws.Int32(10), aws.Int32(10)
		}, "ValidationError", "Health check timeout '10' must be smaller than the interval '10'"},
		"matcher on TCP": {func(in *elb.CreateTargetGroupInput) {
			in.Protocol, in.Matcher = "TCP", &types.Matcher{HttpCode: aws.String("200")}
		}, "InvalidConfigurationRequest", "matchers are not supported"},
		"matcher range": {func(in *elb.CreateTargetGroupInput) { in.Matcher = &types.Matcher{HttpCode: aws.String("200-599")} }, "ValidationError", "'200-499'"},
		"check path":    {func(in *elb.CreateTargetGroupInput) { in.HealthCheckPath = aws.String("x") }, "ValidationError", "must begin with a '/'"},
		"check port":    {func(in *elb.CreateTargetGroupInput) { in.HealthCheckPort = aws.String("99999") }, "ValidationError", "traffic-port"},
		"two violated constraints": {func(in *elb.CreateTargetGroupInput) {
			in.HealthCheckIntervalSeconds, in.HealthyThresholdCount = aws.Int32(4), aws.Int32(11)
		}, "ValidationError", "2 validation errors detected: Value '4' at 'healthCheckIntervalSeconds' failed to satisfy constraint: Member must have value greater than or equal to 5; Value '11'"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.elb.CreateTargetGroup(r.ctx, r.targetGroupInput("x", tt.edit))
			checkError(t, err, tt.code, tt.message)
		})
	}
}

func TestCreateTargetGroupTwice(t *testing.T) {
	r := newHarness(t)
	first, second := r.createTargetGroup("web"), r.createTargetGroup("web")
	if *first.TargetGroupArn != *second.TargetGroupArn {
		t.Error("a repeated CreateTargetGroup created a second target group")
	}
	_, err := r.elb.CreateTargetGroup(r.ctx, r.targetGroupInput("web", func(in *elb.CreateTargetGroupInput) { in.HealthCheckPath = aws.String("/ok") }))
	checkError(t, err, "DuplicateTargetGroupName", "exists, but with different settings")
	all := must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{}))(t)
	if len(all.TargetGroups) != 1 {
		t.Errorf("%d target groups, want 1", len(all.TargetGroups))
	}
	_, err = r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{Names: []string{"web"}, TargetGroupArns: []string{*first.TargetGroupArn}})
	checkError(t, err, "ValidationError", "cannot be specified at the same time")
	_, err = r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{Names: []string{"nobody"}})
	checkError(t, err, "TargetGroupNotFound", "One or more target groups not found")
}

func TestModifyTargetGroup(t *testing.T) {
	r := newHarness(t)
	g := r.createTargetGroup("net", withProtocol("TCP"))
	out := must(r.elb.ModifyTargetGroup(r.ctx, &elb.ModifyTargetGroupInput{
		TargetGroupArn: g.TargetGroupArn, HealthCheckProtocol: "HTTP", HealthCheckPath: aws.String("/up"), UnhealthyThresholdCount: aws.Int32(4),
	}))(t).TargetGroups[0]
	want := g
	want.HealthCheckProtocol, want.HealthCheckPath, want.UnhealthyThresholdCount = "HTTP", aws.String("/up"), aws.Int32(4)
	want.Matcher = &types.Matcher{HttpCode: aws.String("200-399")}
	if d := cmp.Diff(want, out, cmpopts.IgnoreUnexported(types.TargetGroup{}, types.Matcher{})); d != "" {
		t.Errorf("after the change (-want +got):\n%s", d)
	}
	_, err := r.elb.ModifyTargetGroup(r.ctx, &elb.ModifyTargetGroupInput{TargetGroupArn: g.TargetGroupArn, HealthCheckTimeoutSeconds: aws.Int32(60)})
	checkError(t, err, "ValidationError", "smaller than or equal to the interval '30'")
}

func TestDeleteTargetGroupInUse(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createALB("app"), r.createTargetGroup("web")
	l := r.createListener(lb.LoadBalancerArn, 80, fixedResponseActions("404"))
	rule := r.createRule(l.ListenerArn, 1, "/a", forwardActions(g.TargetGroupArn))
	drop := &elb.DeleteTargetGroupInput{TargetGroupArn: g.TargetGroupArn}
	_, err := r.elb.DeleteTargetGroup(r.ctx, drop)
	checkError(t, err, "ResourceInUse", "is currently in use by a listener or a rule")
	got := must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{LoadBalancerArn: lb.LoadBalancerArn}))(t).TargetGroups
	if len(got) != 1 || len(got[0].LoadBalancerArns) != 1 {
		t.Errorf("target groups of the load balancer: %+v", got)
	}
	must(r.elb.DeleteRule(r.ctx, &elb.DeleteRuleInput{RuleArn: rule.RuleArn}))(t)
	r.em.Store().Config.ELB.TargetGroupLinger = time.Second
	_, err = r.elb.DeleteTargetGroup(r.ctx, drop)
	checkError(t, err, "ResourceInUse", "")
	r.clock.Advance(time.Second)
	must(r.elb.DeleteTargetGroup(r.ctx, drop))(t)
	must(r.elb.DeleteTargetGroup(r.ctx, drop))(t) // no target group with this ARN exists
	_, err = r.elb.DescribeTargetGroupAttributes(r.ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn})
	checkError(t, err, "TargetGroupNotFound", "")
	r.checkState()
}

func TestTargetGroupAttributeDefaults(t *testing.T) {
	r := newHarness(t)
	health := map[string]string{
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
		"deregistration_delay.timeout_seconds":                                           "300",
		"load_balancing.cross_zone.enabled":                                              "use_load_balancer_configuration",
	}
	with := func(more map[string]string) map[string]string {
		out := map[string]string{}
		for _, m := range []map[string]string{health, more} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	tests := map[string]struct {
		edit []func(*elb.CreateTargetGroupInput)
		want map[string]string
	}{
		"http": {nil, with(map[string]string{
			"stickiness.enabled": "false", "stickiness.type": "lb_cookie", "stickiness.lb_cookie.duration_seconds": "86400",
			"stickiness.app_cookie.cookie_name": "", "stickiness.app_cookie.duration_seconds": "86400", "slow_start.duration_seconds": "0",
			"load_balancing.algorithm.type": "round_robin", "load_balancing.algorithm.anomaly_mitigation": "off",
		})},
		"tcp-ip": {[]func(*elb.CreateTargetGroupInput){withProtocol("TCP")}, with(map[string]string{
			"deregistration_delay.connection_termination.enabled": "false", "stickiness.enabled": "false", "stickiness.type": "source_ip",
			"preserve_client_ip.enabled": "false", "proxy_protocol_v2.enabled": "false",
			"target_health_state.unhealthy.connection_termination.enabled": "true", "target_health_state.unhealthy.draining_interval_seconds": "0",
		})},
		"udp-ip": {[]func(*elb.CreateTargetGroupInput){withProtocol("UDP")}, with(map[string]string{
			"deregistration_delay.connection_termination.enabled": "true", "stickiness.enabled": "false", "stickiness.type": "source_ip",
			"preserve_client_ip.enabled": "true", "proxy_protocol_v2.enabled": "false",
			"target_health_state.unhealthy.connection_termination.enabled": "false",
		})},
		"lambda": {[]func(*elb.CreateTargetGroupInput){asLambda}, map[string]string{
			"load_balancing.cross_zone.enabled": "true", "lambda.multi_value_headers.enabled": "false",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := r.createTargetGroup(name, tt.edit...)
			got := map[string]string{}
			for _, a := range must(r.elb.DescribeTargetGroupAttributes(r.ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn}))(t).Attributes {
				got[*a.Key] = *a.Value
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("attributes (-want +got):\n%s", d)
			}
		})
	}
}

func TestTargetGroupAttributeRefusals(t *testing.T) {
	r := newHarness(t)
	http, tcp, tls, udp, fn := r.createTargetGroup("http"), r.createTargetGroup("tcp", withProtocol("TCP")), r.createTargetGroup("tls", withProtocol("TLS")), r.createTargetGroup("udp", withProtocol("UDP")), r.createTargetGroup("fn", asLambda)
	tests := map[string]struct {
		group         types.TargetGroup
		set           []string
		code, message string
	}{
		"range":           {http, []string{"deregistration_delay.timeout_seconds", "3601"}, "ValidationError", "'deregistration_delay.timeout_seconds' value '3601' must be between '0-3600' inclusive"},
		"unknown":         {http, []string{"x", "1"}, "ValidationError", "Target group attribute key 'x' is not recognized"},
		"not for lambda":  {fn, []string{"stickiness.enabled", "true"}, "InvalidConfigurationRequest", "does not support the attribute stickiness.enabled"},
		"not for HTTP":    {http, []string{"proxy_protocol_v2.enabled", "true"}, "InvalidConfigurationRequest", "not supported"},
		"cookie on TCP":   {tcp, []string{"stickiness.type", "lb_cookie"}, "InvalidConfigurationRequest", "Stickiness type 'lb_cookie' is not supported for target groups with the TCP protocol"},
		"source on HTTP":  {http, []string{"stickiness.type", "source_ip"}, "InvalidConfigurationRequest", "with the HTTP protocol"},
		"sticky TLS":      {tls, []string{"stickiness.enabled", "true"}, "InvalidConfigurationRequest", "TLS protocol"},
		"app cookie":      {http, []string{"stickiness.enabled", "true", "stickiness.type", "app_cookie"}, "InvalidConfigurationRequest", "You must set an application cookie name"},
		"reserved cookie": {http, []string{"stickiness.app_cookie.cookie_name", "AWSALBX"}, "ValidationError", "AWSALB"},
		"slow start with least outstanding requests": {http, []string{"slow_start.duration_seconds", "30", "load_balancing.algorithm.type", "least_outstanding_requests"}, "InvalidConfigurationRequest", "Slow start"},
		"slow start range":                           {http, []string{"slow_start.duration_seconds", "20"}, "ValidationError", "'30-900'"},
		"anomaly":                                    {http, []string{"load_balancing.algorithm.anomaly_mitigation", "on"}, "InvalidConfigurationRequest", "weighted_random"},
		"client IP of UDP":                           {udp, []string{"preserve_client_ip.enabled", "false"}, "InvalidConfigurationRequest", ""},
		"thresholds":                                 {http, []string{"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count", "3"}, "InvalidConfigurationRequest", "greater than or equal"},
		"stickiness without cross-zone":              {http, []string{"stickiness.enabled", "true", "load_balancing.cross_zone.enabled", "false"}, "InvalidConfigurationRequest", "cross-zone"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var in []types.TargetGroupAttribute
			for i := 0; i < len(tt.set); i += 2 {
				in = append(in, types.TargetGroupAttribute{Key: &tt.set[i], Value: &tt.set[i+1]})
			}
			_, err := r.elb.ModifyTargetGroupAttributes(r.ctx, &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: tt.group.TargetGroupArn, Attributes: in})
			checkError(t, err, tt.code, tt.message)
		})
	}
}
