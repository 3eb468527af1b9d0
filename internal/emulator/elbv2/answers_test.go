package elbv2_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// TestResponsesContainEmptyLists checks that responses contain an element for each empty list. The SDK decodes an empty
// element as an empty list, but a missing element as nil.
func TestResponsesContainEmptyLists(t *testing.T) {
	r := newHarness(t)
	checkEmpty(t, "LoadBalancers", must(r.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{}))(t).LoadBalancers)
	checkEmpty(t, "TargetGroups", must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{}))(t).TargetGroups)
	checkEmpty(t, "TrustStores", must(r.elb.DescribeTrustStores(r.ctx, &elb.DescribeTrustStoresInput{}))(t).TrustStores)
	lb, g := r.createALB("web"), r.createTargetGroup("web")
	checkEmpty(t, "Listeners", must(r.elb.DescribeListeners(r.ctx, &elb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn}))(t).Listeners)
	health := must(r.elb.DescribeTargetHealth(r.ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn}))(t)
	checkEmpty(t, "TargetHealthDescriptions", health.TargetHealthDescriptions)
	checkEmpty(t, "Tags", must(r.elb.DescribeTags(r.ctx, &elb.DescribeTagsInput{ResourceArns: []string{*g.TargetGroupArn}}))(t).TagDescriptions[0].Tags)
	l := r.createListener(lb.LoadBalancerArn, 80, fixedResponseActions("404"))
	checkEmpty(t, "Certificates", must(r.elb.DescribeListenerCertificates(r.ctx, &elb.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn}))(t).Certificates)
}

func checkEmpty[T any](t *testing.T, what string, list []T) {
	t.Helper()
	if list == nil || len(list) > 0 {
		t.Errorf("%s is %#v, want an empty list that is not nil", what, list)
	}
}

func TestHealthCheckPortOfUnregisteredTarget(t *testing.T) {
	r := newHarness(t)
	traffic := r.createTargetGroup("traffic")
	fixedPort := r.createTargetGroup("fixed", func(in *elb.CreateTargetGroupInput) { in.HealthCheckPort = aws.String("9000") })
	for _, tt := range []struct {
		group types.TargetGroup
		port  *int32
		want  string
	}{{traffic, nil, "80"}, {traffic, aws.Int32(8080), "8080"}, {fixedPort, aws.Int32(8080), "9000"}} {
		out := must(r.elb.DescribeTargetHealth(r.ctx, &elb.DescribeTargetHealthInput{
			TargetGroupArn: tt.group.TargetGroupArn, Targets: []types.TargetDescription{{Id: aws.String("10.0.0.77"), Port: tt.port}},
		}))(t)
		got := out.TargetHealthDescriptions[0]
		if got.TargetHealth.Reason != types.TargetHealthReasonEnumNotRegistered || aws.ToString(got.HealthCheckPort) != tt.want {
			t.Errorf("target group %s: reason %s, health check port %q, want %q", *tt.group.TargetGroupName, got.TargetHealth.Reason, aws.ToString(got.HealthCheckPort), tt.want)
		}
	}
}

func TestOnlyDescribeTargetGroupsHasLoadBalancerARNs(t *testing.T) {
	r := newHarness(t)
	if g := r.createTargetGroup("web"); g.LoadBalancerArns != nil {
		t.Errorf("CreateTargetGroup returns LoadBalancerArns %q", g.LoadBalancerArns)
	}
	g := r.createTargetGroup("web") // returns the existing target group
	if g.LoadBalancerArns != nil {
		t.Errorf("CreateTargetGroup returns LoadBalancerArns %q for an existing target group", g.LoadBalancerArns)
	}
	changed := must(r.elb.ModifyTargetGroup(r.ctx, &elb.ModifyTargetGroupInput{TargetGroupArn: g.TargetGroupArn, HealthCheckPath: aws.String("/ok")}))(t)
	if got := changed.TargetGroups[0].LoadBalancerArns; got != nil {
		t.Errorf("ModifyTargetGroup returns LoadBalancerArns %q", got)
	}
	listed := must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{Names: []string{"web"}}))(t)
	checkEmpty(t, "LoadBalancerArns", listed.TargetGroups[0].LoadBalancerArns)
}

func TestDescribeMissingTargetGroups(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createALB("web"), r.createTargetGroup("web")
	_, err := r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{LoadBalancerArn: lb.LoadBalancerArn})
	checkError(t, err, "TargetGroupNotFound", "One or more target groups not found")
	_, err = r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{Names: []string{"a", "b"}})
	checkError(t, err, "TargetGroupNotFound", "One or more target groups not found")
	found := must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{Names: []string{"a", "web"}}))(t)
	if len(found.TargetGroups) != 1 {
		t.Errorf("%d target groups are found by an existing and an unknown name, want 1", len(found.TargetGroups))
	}
	r.createListener(lb.LoadBalancerArn, 80, forwardActions(g.TargetGroupArn))
	if found = must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{LoadBalancerArn: lb.LoadBalancerArn}))(t); len(found.TargetGroups) != 1 {
		t.Errorf("the load balancer has %d target groups, want 1", len(found.TargetGroups))
	}
}

func TestTerminatedInstanceLeavesTargetGroup(t *testing.T) {
	r := newHarness(t)
	g := r.createTargetGroup("web", withTargetType("instance"))
	must(r.elb.ModifyTargetGroupAttributes(r.ctx, &elb.ModifyTargetGroupAttributesInput{
		TargetGroupArn: g.TargetGroupArn, Attributes: []types.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("60")}},
	}))(t)
	r.createListener(r.createALB("web").LoadBalancerArn, 80, forwardActions(g.TargetGroupArn))
	targets := []types.TargetDescription{{Id: &r.instances[0]}, {Id: &r.instances[1]}}
	must(r.elb.RegisterTargets(r.ctx, &elb.RegisterTargetsInput{TargetGroupArn: g.TargetGroupArn, Targets: targets}))(t)
	must(r.ec2.StopInstances(r.ctx, &ec2.StopInstancesInput{InstanceIds: r.instances[1:2]}))(t)
	must(r.ec2.TerminateInstances(r.ctx, &ec2.TerminateInstancesInput{InstanceIds: r.instances[:1]}))(t)
	r.clock.Advance(30 * time.Second)

	listed := must(r.elb.DescribeTargetHealth(r.ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn}))(t)
	if all := listed.TargetHealthDescriptions; len(all) != 1 || *all[0].Target.Id != r.instances[1] || all[0].TargetHealth.Reason != types.TargetHealthReasonEnumInvalidState {
		t.Errorf("%d targets are listed, want only the stopped instance as unused: %+v", len(all), all)
	}
	asked := func() *types.TargetHealth {
		out := must(r.elb.DescribeTargetHealth(r.ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn, Targets: targets[:1]}))(t)
		return out.TargetHealthDescriptions[0].TargetHealth
	}
	if h := asked(); h.State != "draining" || h.Reason != types.TargetHealthReasonEnumDeregistrationInProgress {
		t.Errorf("the terminated instance is %s (%s) at first, want draining", h.State, h.Reason)
	}
	r.clock.Advance(time.Minute)
	if h := asked(); h.State != "unused" || h.Reason != types.TargetHealthReasonEnumNotRegistered {
		t.Errorf("the terminated instance is %s (%s) after the deregistration delay, want unused and not registered", h.State, h.Reason)
	}
	r.checkState()
}

func TestRedirectPaths(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("web")
	for path, ok := range map[string]bool{"x": false, "": true, "/#{path}#{path}": false, "/#{host}/#{path}/#{port}": true} {
		config := types.RedirectActionConfig{Host: aws.String("other.example.com"), StatusCode: "HTTP_301"}
		if path != "" {
			config.Path = &path
		}
		l, err := r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
			LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp, DefaultActions: redirectActions(config),
		})
		if !ok {
			checkError(t, err, "InvalidLoadBalancerAction", "The Path parameter must be a valid path, should start with a '/', "+
				"and may contain up to one of each of these placeholders: '#{path}', '#{host}', '#{port}'.")
			continue
		}
		created := must(l, err)(t).Listeners[0]
		must(r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: created.ListenerArn}))(t)
	}
}

func TestProtocolVersionNeedsHTTPS(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("web")
	l := r.createListener(lb.LoadBalancerArn, 8080, fixedResponseActions("404"))
	secure := r.createHTTPSListener(lb.LoadBalancerArn, 443, r.importCertificate(false, "example.com"), fixedResponseActions("404"))
	for i, v := range []string{"GRPC", "HTTP2"} {
		g := r.createTargetGroup(strings.ToLower(v), withProtocolVersion(v))
		message := "Listener protocol 'HTTP' is not supported with a target group with the protocol-version '" + v + "'"
		_, err := r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
			LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp, DefaultActions: forwardActions(g.TargetGroupArn),
		})
		checkError(t, err, "InvalidLoadBalancerAction", message)
		_, err = r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Conditions: pathConditions("/a"), Actions: forwardActions(g.TargetGroupArn)})
		checkError(t, err, "InvalidLoadBalancerAction", message)
		r.createRule(secure.ListenerArn, int32(i+1), "/a", forwardActions(g.TargetGroupArn))
	}
}

func TestARNsOfAnotherRegionAreRejected(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createALB("web"), r.createTargetGroup("web")
	l := r.createListener(lb.LoadBalancerArn, 80, forwardActions(g.TargetGroupArn))
	rule := r.createRule(l.ListenerArn, 1, "/a", forwardActions(g.TargetGroupArn))
	elsewhere := func(arn *string) *string { return aws.String(strings.Replace(*arn, region, "eu-west-1", 1)) }
	for kind, call := range map[string]func() (string, error){
		"load balancer": func() (string, error) {
			arn := elsewhere(lb.LoadBalancerArn)
			_, err := r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: arn})
			return *arn, err
		},
		"target group": func() (string, error) {
			arn := elsewhere(g.TargetGroupArn)
			_, err := r.elb.DeleteTargetGroup(r.ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: arn})
			return *arn, err
		},
		"listener": func() (string, error) {
			arn := elsewhere(l.ListenerArn)
			_, err := r.elb.DescribeListeners(r.ctx, &elb.DescribeListenersInput{ListenerArns: []string{*arn}})
			return *arn, err
		},
		"listener rule": func() (string, error) {
			arn := elsewhere(rule.RuleArn)
			_, err := r.elb.DescribeTags(r.ctx, &elb.DescribeTagsInput{ResourceArns: []string{*arn}})
			return *arn, err
		},
	} {
		arn, err := call()
		checkError(t, err, "ValidationError", "'"+arn+"' is not a valid "+kind+" ARN")
	}
	_, err := r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{
		ListenerArn: l.ListenerArn, Priority: aws.Int32(2), Conditions: pathConditions("/b"), Actions: forwardActions(elsewhere(g.TargetGroupArn)),
	})
	checkError(t, err, "ValidationError", "is not a valid target group ARN")
	_, err = r.elb.DescribeListeners(r.ctx, &elb.DescribeListenersInput{ListenerArns: []string{*rule.RuleArn}})
	checkError(t, err, "ValidationError", "'"+*rule.RuleArn+"' is not a valid listener ARN")
	r.checkState()
}

func TestErrorMessages(t *testing.T) {
	r := newHarness(t)
	lb, net, g := r.createALB("web"), r.createNLB("net"), r.createTargetGroup("web")
	l := r.createListener(lb.LoadBalancerArn, 80, fixedResponseActions("404"))
	secure := r.createHTTPSListener(lb.LoadBalancerArn, 443, r.importCertificate(false, "example.com"), fixedResponseActions("404"))
	vpc := *must(r.ec2.CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")}))(t).Vpc.VpcId
	group := *must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("far"), Description: aws.String("far"), VpcId: &vpc}))(t).GroupId
	subnet := *must(r.ec2.CreateSubnet(r.ctx, &ec2.CreateSubnetInput{VpcId: &vpc, CidrBlock: aws.String("10.9.0.0/20"), AvailabilityZone: aws.String(region + "b")}))(t).Subnet.SubnetId
	unknown := aws.String(*g.TargetGroupArn)
	*unknown = (*unknown)[:len(*unknown)-16] + "0123456789abcdef"
	twice := oidcActions(1, aws.String("secret"))
	twice[0].AuthenticateOidcConfig.UseExistingClientSecret = aws.Bool(true)
	rule := func(listener *string, actions []types.Action) error {
		_, err := r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: listener, Priority: aws.Int32(1), Conditions: pathConditions("/a"), Actions: actions})
		return err
	}
	listener := func(lb *string, p types.ProtocolEnum, actions []types.Action) error {
		_, err := r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{LoadBalancerArn: lb, Port: aws.Int32(8080), Protocol: p, DefaultActions: actions})
		return err
	}
	groups := func(lb *string, groups ...string) error {
		_, err := r.elb.SetSecurityGroups(r.ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: lb, SecurityGroups: groups})
		return err
	}
	for name, tt := range map[string]struct {
		err           error
		code, message string
	}{
		"unknown target group of a rule":     {rule(l.ListenerArn, forwardActions(unknown)), "TargetGroupNotFound", "Target groups '" + *unknown + "' not found"},
		"unknown target group of a listener": {listener(lb.LoadBalancerArn, "HTTP", forwardActions(unknown)), "TargetGroupNotFound", "Target groups '" + *unknown + "' not found"},
		"unknown target group of tags": {
			func() error {
				_, err := r.elb.DescribeTags(r.ctx, &elb.DescribeTagsInput{ResourceArns: []string{*unknown}})
				return err
			}(), "TargetGroupNotFound", "Target groups '" + *unknown + "' not found",
		},
		"redirect to HTTP": {
			rule(secure.ListenerArn, redirectActions(types.RedirectActionConfig{Protocol: aws.String("HTTP"), StatusCode: "HTTP_301"})),
			"InvalidLoadBalancerAction", "You cannot redirect HTTPS to HTTP",
		},
		"fixed response on a Network Load Balancer": {
			listener(net.LoadBalancerArn, "TCP", fixedResponseActions("404")), "InvalidLoadBalancerAction", "The action type 'fixed-response' is not valid with network load balancer",
		},
		"redirect without configuration": {
			rule(l.ListenerArn, []types.Action{{Type: types.ActionTypeEnumRedirect}}),
			"InvalidLoadBalancerAction", "For actions of type 'redirect', you must specify the following fields: 'RedirectConfig'",
		},
		"redirect to itself": {
			rule(l.ListenerArn, redirectActions(types.RedirectActionConfig{StatusCode: "HTTP_301"})),
			"InvalidLoadBalancerAction", "The redirect configuration is not valid because it creates a loop.",
		},
		"redirect to the protocol and the port of its listener": {
			rule(secure.ListenerArn, redirectToHTTPSActions()),
			"InvalidLoadBalancerAction", "The redirect configuration is not valid because it creates a loop.",
		},
		"new and existing client secret": {
			rule(secure.ListenerArn, append(twice, ordered(fixedResponseActions("404"), 2)...)),
			"InvalidLoadBalancerAction", "You cannot both specify a client secret and set UseExistingClientSecret to true",
		},
		"long redirect path": {
			rule(l.ListenerArn, redirectActions(types.RedirectActionConfig{Path: aws.String("/" + strings.Repeat("a", 128)), StatusCode: "HTTP_301"})),
			"ValidationError", "at 'actions.1.member.redirectConfig.path' failed to satisfy constraint: Member must have length less than or equal to 128",
		},
		"security group of another VPC": {groups(lb.LoadBalancerArn, group), "InvalidConfigurationRequest", "Security group '" + group + "' does not belong to VPC '" + r.vpc + "'"},
		"security groups of an NLB created without security groups": {
			groups(net.LoadBalancerArn, r.securityGroupID), "InvalidConfigurationRequest",
			"You cannot set security groups on a Network Load Balancer which was created without any security groups.",
		},
		"subnet of another VPC": {
			func() error {
				_, err := r.elb.SetSubnets(r.ctx, &elb.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, Subnets: []string{r.subnets[0], subnet}})
				return err
			}(), "InvalidConfigurationRequest", "All subnets must belong to the same VPC: '" + r.vpc + "'",
		},
		"stickiness type of Gateway Load Balancers": {
			func() error {
				_, err := r.elb.ModifyTargetGroupAttributes(r.ctx, &elb.ModifyTargetGroupAttributesInput{
					TargetGroupArn: g.TargetGroupArn, Attributes: []types.TargetGroupAttribute{{Key: aws.String("stickiness.type"), Value: aws.String("source_ip_dest_ip")}},
				})
				return err
			}(), "ValidationError", "stickiness.type",
		},
	} {
		t.Run(name, func(t *testing.T) { checkError(t, tt.err, tt.code, tt.message) })
	}
}
