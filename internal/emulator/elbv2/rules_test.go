package elbv2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

func hostConditions(values ...string) []types.RuleCondition {
	return []types.RuleCondition{{Field: aws.String("host-header"), HostHeaderConfig: &types.HostHeaderConditionConfig{Values: values}}}
}

func TestRulePriorities(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("app")
	l := r.createListener(lb.LoadBalancerArn, 80, fixedResponseActions("404"))
	a, b := r.createRule(l.ListenerArn, 1, "/a", fixedResponseActions("200")), r.createRule(l.ListenerArn, 2, "/b", fixedResponseActions("201"))
	_, err := r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Conditions: pathConditions("/a"), Actions: fixedResponseActions("200")})
	checkError(t, err, "PriorityInUse", "Priority '1' is currently in use")
	set := func(pairs ...types.RulePriorityPair) error {
		_, err := r.elb.SetRulePriorities(r.ctx, &elb.SetRulePrioritiesInput{RulePriorities: pairs})
		return err
	}
	pair := func(arn *string, n int32) types.RulePriorityPair {
		return types.RulePriorityPair{RuleArn: arn, Priority: &n}
	}
	order := func() []string {
		var out []string
		for _, rule := range must(r.elb.DescribeRules(r.ctx, &elb.DescribeRulesInput{ListenerArn: l.ListenerArn}))(t).Rules {
			name := "default"
			if len(rule.Conditions) > 0 {
				name = rule.Conditions[0].Values[0]
			}
			out = append(out, *rule.Priority+" "+name)
		}
		return out
	}
	if err := set(pair(a.RuleArn, 2), pair(b.RuleArn, 1)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1 /b", "2 /a", "default default"}, order()); d != "" {
		t.Errorf("after the swap (-want +got):\n%s", d)
	}
	rules := must(r.elb.DescribeRules(r.ctx, &elb.DescribeRulesInput{ListenerArn: l.ListenerArn}))(t).Rules
	byDefault := rules[2].RuleArn
	checkError(t, set(pair(a.RuleArn, 1)), "PriorityInUse", "")
	checkError(t, set(pair(a.RuleArn, 5), pair(b.RuleArn, 5)), "ValidationError", "Priority '5' was provided multiple times")
	checkError(t, set(pair(a.RuleArn, 5), pair(a.RuleArn, 6)), "ValidationError", "multiple times")
	checkError(t, set(pair(byDefault, 5)), "OperationNotPermitted", "")
	checkError(t, set(pair(a.RuleArn, 50001)), "ValidationError", "Value '50001'")
	_, err = r.elb.DeleteRule(r.ctx, &elb.DeleteRuleInput{RuleArn: byDefault})
	checkError(t, err, "OperationNotPermitted", "cannot be deleted")
	_, err = r.elb.ModifyRule(r.ctx, &elb.ModifyRuleInput{RuleArn: byDefault, Actions: fixedResponseActions("200")})
	checkError(t, err, "OperationNotPermitted", "")
	r.em.Store().Config.PageSize = 1
	if d := cmp.Diff([]string{"1 /b"}, order()); d != "" {
		t.Errorf("first page (-want +got):\n%s", d)
	}
	var paged []string
	for p := elb.NewDescribeRulesPaginator(r.elb, &elb.DescribeRulesInput{ListenerArn: l.ListenerArn}); p.HasMorePages(); {
		for _, rule := range must(p.NextPage(r.ctx))(t).Rules {
			paged = append(paged, *rule.Priority)
		}
	}
	if d := cmp.Diff([]string{"1", "2", "default"}, paged); d != "" {
		t.Errorf("pages (-want +got):\n%s", d)
	}
	r.em.Store().Config.Quotas["rules-per-application-load-balancer"] = 2
	_, err = r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(9), Conditions: pathConditions("/a"), Actions: fixedResponseActions("200")})
	checkError(t, err, "TooManyRules", "")
	r.checkState()
}

func TestConditionRefusals(t *testing.T) {
	r := newHarness(t)
	l := r.createListener(r.createALB("app").LoadBalancerArn, 80, fixedResponseActions("404"))
	field := func(name string) types.RuleCondition { return types.RuleCondition{Field: &name} }
	long := strings.Repeat("a", 129)
	tests := map[string]struct {
		conditions []types.RuleCondition
		message    string
	}{
		"none":          {[]types.RuleCondition{}, "A condition must be specified"},
		"unknown field": {[]types.RuleCondition{field("color")}, "Condition field 'color' must be one of '[path-pattern,host-header,http-header,http-request-method,query-string,source-ip]'"},
		"six values":    {append(hostConditions("a.com", "b.com", "c.com"), pathConditions("/a", "/b", "/c")...), "A rule can only have '5' condition values and regex values"},
		"six wildcards": {pathConditions("/*/*/*", "/?/?/?"), "A rule can only have '5' condition wildcards"},
		"two paths":     {append(pathConditions("/a"), pathConditions("/b")...), "A rule can only have one 'path-pattern' condition"},
		"no values":     {pathConditions([]string{}...), "A condition value must be specified"},
		"no config":     {[]types.RuleCondition{field("host-header")}, "For conditions of type 'host-header', you must specify the following fields: 'Values or RegexValues or HostHeaderConfig'"},
		"values and config": {[]types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/a"}, PathPatternConfig: &types.PathPatternConditionConfig{Values: []string{"/a"}}}},
			"You cannot provide both Values and 'PathPatternConfig'"},
		"values of a header":              {[]types.RuleCondition{{Field: aws.String("http-header"), Values: []string{"a"}}}, "The 'Values' field is not compatible with 'http-header'"},
		"legacy two values":               {[]types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/a", "/b"}}}, "The 'path-pattern' field contains too many values; the limit is '1'"},
		"regular expression of source-ip": {[]types.RuleCondition{{Field: aws.String("source-ip"), RegexValues: []string{"a"}}}, "'RegexValues' is not supported for a condition of type 'source-ip'"},
		"long path":                       {pathConditions("/" + long), "Condition value for 'path-pattern' cannot contain more than 128 characters"},
		"path character":                  {pathConditions("/a b"), "Condition value '/a b' contains a character that is not valid"},
		"host without dot":                {hostConditions("localhost"), "not valid"},
		"host with digits":                {hostConditions("10.0.0.1"), "not valid"},
		"header Host": {[]types.RuleCondition{{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{HttpHeaderName: aws.String("Host"), Values: []string{"a"}}}},
			"'Host' is not valid"},
		"long header name": {[]types.RuleCondition{{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{HttpHeaderName: &long, Values: []string{"a"}}}},
			"Condition value for 'http-header' cannot contain more than 40 characters"},
		"method":                        {[]types.RuleCondition{{Field: aws.String("http-request-method"), HttpRequestMethodConfig: &types.HttpRequestMethodConditionConfig{Values: []string{"get"}}}}, "'get' contains a character"},
		"address without prefix length": {[]types.RuleCondition{{Field: aws.String("source-ip"), SourceIpConfig: &types.SourceIpConditionConfig{Values: []string{"10.0.0.1"}}}}, "The specified value '10.0.0.1' is not a valid CIDR block"},
		"look-ahead": {[]types.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &types.PathPatternConditionConfig{RegexValues: []string{"^/(?=a)"}}}},
			"regular expression"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Conditions: tt.conditions, Actions: fixedResponseActions("200")})
			checkError(t, err, "ValidationError", tt.message)
		})
	}
}

func TestCreateAndDescribeRule(t *testing.T) {
	r := newHarness(t)
	l := r.createListener(r.createALB("app").LoadBalancerArn, 80, fixedResponseActions("404"))
	sent := []types.RuleCondition{
		{Field: aws.String("path-pattern"), Values: []string{"/old/*"}},
		hostConditions("*.Example.com")[0],
		{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{HttpHeaderName: aws.String("X-A"), Values: []string{"one"}}},
		{Field: aws.String("query-string"), QueryStringConfig: &types.QueryStringConditionConfig{Values: []types.QueryStringKeyValuePair{{Value: aws.String(`\*a`)}}}},
		{Field: aws.String("source-ip"), SourceIpConfig: &types.SourceIpConditionConfig{Values: []string{"10.1.2.3/8"}}},
	}
	want := []types.RuleCondition{
		{Field: aws.String("path-pattern"), Values: []string{"/old/*"}, PathPatternConfig: &types.PathPatternConditionConfig{Values: []string{"/old/*"}}},
		{Field: aws.String("host-header"), Values: []string{"*.Example.com"}, HostHeaderConfig: &types.HostHeaderConditionConfig{Values: []string{"*.Example.com"}}},
		{Field: aws.String("http-header"), Values: []string{}, HttpHeaderConfig: sent[2].HttpHeaderConfig},
		{Field: aws.String("query-string"), Values: []string{}, QueryStringConfig: sent[3].QueryStringConfig},
		{Field: aws.String("source-ip"), Values: []string{}, SourceIpConfig: sent[4].SourceIpConfig},
	}
	rewrite := []types.RuleTransform{{Type: types.TransformTypeEnumUrlRewrite, UrlRewriteConfig: &types.UrlRewriteConfig{
		Rewrites: []types.RewriteConfig{{Regex: aws.String("^/old/(.*)$"), Replace: aws.String("/new/$1")}},
	}}}
	made := must(r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(3), Conditions: sent, Actions: fixedResponseActions("200"), Transforms: rewrite}))(t).Rules[0]
	got := must(r.elb.DescribeRules(r.ctx, &elb.DescribeRulesInput{RuleArns: []string{*made.RuleArn}}))(t).Rules[0]
	if d := cmp.Diff(want, got.Conditions, ignoreUnexportedFields()); d != "" {
		t.Errorf("conditions (-want +got):\n%s", d)
	}
	if d := cmp.Diff(rewrite, got.Transforms, ignoreUnexportedFields()); d != "" {
		t.Errorf("transforms (-want +got):\n%s", d)
	}
	if *got.Priority != "3" || *got.Actions[0].Order != 1 {
		t.Errorf("priority %s, order %v", *got.Priority, got.Actions[0].Order)
	}
	_, err := r.elb.ModifyRule(r.ctx, &elb.ModifyRuleInput{RuleArn: made.RuleArn})
	checkError(t, err, "ValidationError", "Either conditions or actions must be specified")
	_, err = r.elb.ModifyRule(r.ctx, &elb.ModifyRuleInput{RuleArn: made.RuleArn, ResetTransforms: aws.Bool(true), Transforms: rewrite})
	checkError(t, err, "ValidationError", "")
	got = must(r.elb.ModifyRule(r.ctx, &elb.ModifyRuleInput{RuleArn: made.RuleArn, ResetTransforms: aws.Bool(true)}))(t).Rules[0]
	if len(got.Transforms) != 0 || len(got.Conditions) != 5 {
		t.Errorf("after the reset: %+v", got)
	}
	_, err = r.elb.DescribeRules(r.ctx, &elb.DescribeRulesInput{})
	checkError(t, err, "ValidationError", "You must specify either listener rule ARNs or a listener ARN")
	must(r.elb.DeleteRule(r.ctx, &elb.DeleteRuleInput{RuleArn: made.RuleArn}))(t)
	_, err = r.elb.DeleteRule(r.ctx, &elb.DeleteRuleInput{RuleArn: made.RuleArn})
	checkError(t, err, "RuleNotFound", "One or more rules not found")
}

func TestRuleActionRefusals(t *testing.T) {
	r := newHarness(t)
	l := r.createListener(r.createALB("app").LoadBalancerArn, 80, fixedResponseActions("404"))
	a, b := r.createTargetGroup("a"), r.createTargetGroup("b")
	set := func(g types.TargetGroup, kv ...string) {
		var in []types.TargetGroupAttribute
		for i := 0; i < len(kv); i += 2 {
			in = append(in, types.TargetGroupAttribute{Key: &kv[i], Value: &kv[i+1]})
		}
		must(r.elb.ModifyTargetGroupAttributes(r.ctx, &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn, Attributes: in}))(t)
	}
	sticky, app := r.createTargetGroup("sticky"), r.createTargetGroup("app-cookie")
	set(sticky, "stickiness.enabled", "true")
	set(app, "stickiness.enabled", "true", "stickiness.type", "app_cookie", "stickiness.app_cookie.cookie_name", "sid")
	weighted := func(s *types.TargetGroupStickinessConfig, tuples ...types.TargetGroupTuple) []types.Action {
		return []types.Action{{Type: "forward", ForwardConfig: &types.ForwardActionConfig{TargetGroups: tuples, TargetGroupStickinessConfig: s}}}
	}
	tuple := func(g types.TargetGroup, w int32) types.TargetGroupTuple {
		return types.TargetGroupTuple{TargetGroupArn: g.TargetGroupArn, Weight: &w}
	}
	tests := map[string]struct {
		actions       []types.Action
		code, message string
	}{
		"no target group":         {[]types.Action{{Type: "forward"}}, "ValidationError", ""},
		"weight":                  {weighted(nil, tuple(a, 1000)), "ValidationError", "The weight for each target group must be between 0 and 999, inclusive"},
		"missing weight":          {weighted(nil, tuple(a, 1), types.TargetGroupTuple{TargetGroupArn: b.TargetGroupArn}), "ValidationError", "weight"},
		"same target group twice": {weighted(nil, tuple(a, 1), tuple(a, 1)), "ValidationError", "more than once"},
		"no duration":             {weighted(&types.TargetGroupStickinessConfig{Enabled: aws.Bool(true)}, tuple(a, 1)), "ValidationError", "duration"},
		"app cookie":              {weighted(nil, tuple(a, 1), tuple(app, 1)), "InvalidLoadBalancerAction", "none of them can have stickiness of type 'app_cookie' enabled"},
		"group stickiness":        {weighted(nil, tuple(a, 1), tuple(sticky, 1)), "InvalidLoadBalancerAction", "must enable target group stickiness"},
		"two forwards":            {append(ordered(forwardActions(a.TargetGroupArn), 1), ordered(forwardActions(b.TargetGroupArn), 2)...), "TooManyActions", ""},
		"no order":                {append(forwardActions(a.TargetGroupArn), fixedResponseActions("200")...), "ValidationError", "order"},
		"path of redirect":        {redirectActions(types.RedirectActionConfig{Path: aws.String("a"), StatusCode: "HTTP_301"}), "InvalidLoadBalancerAction", "should start with a '/'"},
		"port of redirect":        {redirectActions(types.RedirectActionConfig{Port: aws.String("x"), StatusCode: "HTTP_301"}), "ValidationError", "'x'"},
		"content type": {[]types.Action{{Type: "fixed-response", FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: aws.String("200"), ContentType: aws.String("image/png")}}},
			"InvalidLoadBalancerAction", "The ContentType must be one of:'text/html'"},
		"unknown type": {[]types.Action{{Type: "teapot"}}, "ValidationError", "'actions.1.member.type' failed to satisfy constraint: Member must satisfy enum value set: ["},
		"unknown target group": {forwardActions(aws.String("arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/x/0123456789abcdef")),
			"TargetGroupNotFound", "Target groups 'arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/x/0123456789abcdef' not found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Conditions: pathConditions("/a"), Actions: tt.actions})
			checkError(t, err, tt.code, tt.message)
		})
	}
	on := &types.TargetGroupStickinessConfig{Enabled: aws.Bool(true), DurationSeconds: aws.Int32(60)}
	made := must(r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Conditions: pathConditions("/a"), Actions: weighted(on, tuple(a, 0), tuple(sticky, 9))}))(t).Rules[0]
	action := made.Actions[0]
	if action.TargetGroupArn != nil || len(action.ForwardConfig.TargetGroups) != 2 {
		t.Errorf("action with two target groups: %+v", action)
	}
	if d := cmp.Diff(on, action.ForwardConfig.TargetGroupStickinessConfig, ignoreUnexportedFields()); d != "" {
		t.Errorf("stickiness (-want +got):\n%s", d)
	}
	r.em.Store().Config.Quotas["target-groups-per-application-load-balancer"] = 2
	_, err := r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(2), Conditions: pathConditions("/b"), Actions: forwardActions(b.TargetGroupArn)})
	checkError(t, err, "TooManyUniqueTargetGroupsPerLoadBalancer", "")
	must(r.elb.ModifyRule(r.ctx, &elb.ModifyRuleInput{RuleArn: made.RuleArn, Actions: weighted(nil, tuple(a, 1), tuple(b, 1))}))(t)
	r.checkState()
}

func TestAuthenticateActions(t *testing.T) {
	r := newHarness(t)
	cert := r.importCertificate(false, "example.com")
	g := r.createTargetGroup("web")
	l := r.createHTTPSListener(r.createALB("app").LoadBalancerArn, 443, cert, fixedResponseActions("404"))
	then := ordered(forwardActions(g.TargetGroupArn), 2)
	create := func(actions []types.Action) (*elb.CreateRuleOutput, error) {
		return r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Conditions: pathConditions("/a"), Actions: append(actions, then...)})
	}
	_, err := create(oidcActions(1, nil))
	checkError(t, err, "ValidationError", "client secret")
	_, err = create(oidcActions(3, aws.String("s")))
	checkError(t, err, "InvalidLoadBalancerAction", "must be the last one")
	_, err = create([]types.Action{{Type: "authenticate-cognito", Order: aws.Int32(1), AuthenticateCognitoConfig: &types.AuthenticateCognitoActionConfig{
		UserPoolArn: aws.String("arn:aws:cognito-idp:us-east-1:123456789012:userpool/us-east-1_a"), UserPoolClientId: aws.String("c"), UserPoolDomain: aws.String("d"),
	}}})
	checkError(t, err, "InvalidLoadBalancerAction", "region")
	_, err = create([]types.Action{{Type: "jwt-validation", Order: aws.Int32(1), JwtValidationConfig: &types.JwtValidationActionConfig{JwksEndpoint: aws.String("http://a"), Issuer: aws.String("a")}}})
	checkError(t, err, "ValidationError", "JWKS")
	unknown := oidcActions(1, aws.String("s"))
	unknown[0].AuthenticateOidcConfig.OnUnauthenticatedRequest = "DENY"
	_, err = create(unknown)
	checkError(t, err, "ValidationError", "'actions.1.member.authenticateOidcConfig.onUnauthenticatedRequest' failed to satisfy constraint: Member must satisfy enum value set: [deny, allow, authenticate]")
	made := must(create(oidcActions(1, aws.String("s"))))(t).Rules[0]
	want := *oidcActions(1, nil)[0].AuthenticateOidcConfig
	want.SessionCookieName, want.Scope, want.SessionTimeout = aws.String("AWSELBAuthSessionCookie"), aws.String("openid"), aws.Int64(604800)
	want.OnUnauthenticatedRequest = "authenticate"
	if d := cmp.Diff(&want, made.Actions[0].AuthenticateOidcConfig, ignoreUnexportedFields()); d != "" {
		t.Errorf("OIDC configuration (-want +got):\n%s", d)
	}
	again := oidcActions(1, nil)
	again[0].AuthenticateOidcConfig.UseExistingClientSecret = aws.Bool(true)
	must(r.elb.ModifyRule(r.ctx, &elb.ModifyRuleInput{RuleArn: made.RuleArn, Actions: append(again, then...)}))(t)
}
