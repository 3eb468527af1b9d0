package convert

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestActionsSurviveARoundTrip checks that an action does not change when it is converted to types of AWS and back. wantBack
// has the expected action if a value changes, such as a secret, which AWS does not return.
func TestActionsSurviveARoundTrip(t *testing.T) {
	cases := map[string]struct {
		desired  model.Action
		wantBack model.Action // nil if it equals desired
	}{
		"redirect":                   {desired: model.Redirect{Protocol: "HTTPS", Port: "443", Status: "HTTP_301"}},
		"redirect without the query": {desired: model.Redirect{Path: "/b", DropQuery: true, Status: "HTTP_302"}},
		"fixed response":             {desired: model.FixedResponse{Status: "404", ContentType: "text/plain", Body: "no"}},
		"forward to a group of the stack": {
			desired:  model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: "api"}}}},
			wantBack: model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "arn-api"}}}},
		},
		"forward by weight": {
			desired: model.Forward{
				Groups: []model.WeightedTargetGroup{
					{Group: model.TargetGroupRef{ARN: "arn-a"}, Weight: aws.Int32(0)}, {Group: model.TargetGroupRef{ARN: "arn-b"}, Weight: aws.Int32(9)},
				},
				Stickiness: &model.TargetGroupStickiness{Enabled: aws.Bool(true), Duration: aws.Int32(60)},
			},
		},
		"one of several groups without weight gets 1": {
			desired:  model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "arn-a"}}, {Group: model.TargetGroupRef{ARN: "arn-b"}, Weight: aws.Int32(2)}}},
			wantBack: model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "arn-a"}, Weight: aws.Int32(1)}, {Group: model.TargetGroupRef{ARN: "arn-b"}, Weight: aws.Int32(2)}}},
		},
		"stickiness that is off is none": {
			desired:  model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "arn-a"}}}, Stickiness: &model.TargetGroupStickiness{Enabled: aws.Bool(false)}},
			wantBack: model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "arn-a"}}}},
		},
		"cognito": {desired: model.AuthCognito{
			AuthCommon:  model.AuthCommon{OnUnauthenticated: "deny", Scope: "openid", SessionCookie: "c", SessionTimeout: 60, ExtraParams: map[string]string{"a": "b"}},
			UserPoolARN: "p", ClientID: "i", Domain: "d",
		}},
		"oidc comes back without its secret": {
			desired:  model.AuthOIDC{Issuer: "i", AuthorizationEndpoint: "a", TokenEndpoint: "t", UserInfoEndpoint: "u", ClientID: "id", ClientSecret: "s"},
			wantBack: model.AuthOIDC{Issuer: "i", AuthorizationEndpoint: "a", TokenEndpoint: "t", UserInfoEndpoint: "u", ClientID: "id"},
		},
		"jwt": {desired: model.ValidateJWT{JWKSEndpoint: "j", Issuer: "i", Claims: []model.JWTClaim{{Format: "string-array", Name: "n", Values: []string{"v"}}}}},
	}
	arnOf := func(r model.TargetGroupRef) (string, error) {
		if r.ID == "api" {
			return "arn-api", nil
		}
		return r.ARN, nil
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sent, err := ActionsToAWS([]model.Action{c.desired}, arnOf)
			if err != nil {
				t.Fatal(err)
			}
			want := c.desired
			if c.wantBack != nil {
				want = c.wantBack
			}
			if o, ok := c.desired.(model.AuthOIDC); ok && *sent[0].AuthenticateOidcConfig.ClientSecret != o.ClientSecret.Reveal() {
				t.Error("the secret was not sent")
			}
			if diff := cmp.Diff([]model.Action{want}, actionsFromAWS(sent)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestActionsAreConvertedFromAWS(t *testing.T) {
	got := actionsFromAWS([]elbtypes.Action{
		{
			Type: elbtypes.ActionTypeEnumForward, Order: aws.Int32(2), TargetGroupArn: aws.String("arn-old"),
			ForwardConfig: &elbtypes.ForwardActionConfig{
				TargetGroups:                []elbtypes.TargetGroupTuple{{TargetGroupArn: aws.String("arn-b"), Weight: aws.Int32(1)}, {TargetGroupArn: aws.String("arn-a"), Weight: aws.Int32(1)}},
				TargetGroupStickinessConfig: &elbtypes.TargetGroupStickinessConfig{Enabled: aws.Bool(false)},
			},
		},
		{Type: elbtypes.ActionTypeEnumRedirect, Order: aws.Int32(1), RedirectConfig: &elbtypes.RedirectActionConfig{
			StatusCode: "HTTP_302", Protocol: aws.String("#{protocol}"), Host: aws.String("#{host}"), Port: aws.String("#{port}"), Path: aws.String("/#{path}"), Query: aws.String("#{query}"),
		}},
		{Type: elbtypes.ActionTypeEnumForward, Order: aws.Int32(3), TargetGroupArn: aws.String("arn-c")},
	})
	want := []model.Action{
		model.Redirect{Status: "HTTP_302"},
		model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "arn-a"}, Weight: aws.Int32(1)}, {Group: model.TargetGroupRef{ARN: "arn-b"}, Weight: aws.Int32(1)}}},
		model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "arn-c"}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConditionsAndTransformsSurviveARoundTrip(t *testing.T) {
	desired := []model.Condition{
		model.HostHeader{Values: []string{"*.example.com"}}, model.HostHeader{Regex: []string{"^a"}},
		model.PathPattern{Values: []string{"/a", "/b/*"}}, model.PathPattern{Regex: []string{"^/x"}},
		model.HTTPHeader{Name: "X", Values: []string{"1"}}, model.HTTPHeader{Name: "X", Regex: []string{"."}},
		model.RequestMethod{Values: []string{"GET"}},
		model.QueryString{Pairs: []model.QueryPair{{Key: "a", Value: "1"}, {Value: "2"}}},
		model.SourceIP{CIDRs: []string{"10.0.0.0/8"}},
	}
	sent, err := ConditionsToAWS(desired)
	if err != nil {
		t.Fatal(err)
	}
	// AWS also returns the values of hosts and paths in the field Values.
	sent[0].Values, sent[2].Values = sent[0].HostHeaderConfig.Values, sent[2].PathPatternConfig.Values
	if diff := cmp.Diff(desired, conditionsFromAWS(sent)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	transforms := []model.Transform{
		{Kind: model.HostRewrite, Rewrites: []model.Rewrite{{Regex: "a", Replace: "b"}}}, {Kind: model.URLRewrite, Rewrites: []model.Rewrite{{Regex: "c", Replace: "$1"}}},
	}
	sentTransforms, err := TransformsToAWS(transforms)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(transforms, transformsFromAWS(sentTransforms)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMutualAuthenticationIsConverted(t *testing.T) {
	cases := map[string]struct {
		aws  *elbtypes.MutualAuthenticationAttributes
		want *model.MutualAuth
	}{
		"absent": {nil, nil},
		"off":    {&elbtypes.MutualAuthenticationAttributes{Mode: aws.String("off")}, nil},
		"passthrough has nothing else": {
			&elbtypes.MutualAuthenticationAttributes{Mode: aws.String("passthrough"), TrustStoreArn: aws.String(""), AdvertiseTrustStoreCaNames: "off"},
			&model.MutualAuth{Mode: "passthrough"},
		},
		"verify": {
			&elbtypes.MutualAuthenticationAttributes{Mode: aws.String("verify"), TrustStoreArn: aws.String("arn"), IgnoreClientCertificateExpiry: aws.Bool(true), AdvertiseTrustStoreCaNames: "on"},
			&model.MutualAuth{Mode: "verify", TrustStore: "arn", IgnoreExpiry: aws.Bool(true), AdvertiseCA: "on"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ListenerFromAWS(elbtypes.Listener{MutualAuthentication: c.aws}).MutualAuth
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got != nil {
				back := ListenerFromAWS(elbtypes.Listener{MutualAuthentication: MutualAuthToAWS(got)}).MutualAuth
				if diff := cmp.Diff(c.want, back); diff != "" {
					t.Errorf("sent and read: -want +got:\n%s", diff)
				}
			}
		})
	}
}

func TestIngressRulesAreSplitBySource(t *testing.T) {
	rules := []model.IngressRule{
		{Protocol: "-1", Group: "sg-9"},
		{Protocol: "icmp", From: 3, To: 4, CIDR: "10.0.0.0/8"},
		{Protocol: "tcp", From: 80, To: 80, Group: "sg-1", Description: "d"},
		{Protocol: "tcp", From: 80, To: 80, PrefixList: "pl-1"},
		{Protocol: "tcp", From: 80, To: 80, CIDR: "0.0.0.0/0"},
		{Protocol: "tcp", From: 80, To: 80, CIDR: "::/0"},
	}
	if diff := cmp.Diff(rules, IngressFromAWS(IngressToAWS(rules))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// EC2 combines the sources of rules with the same ports in one permission.
	got := IngressFromAWS([]ec2types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80),
		IpRanges:         []ec2types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}, {CidrIp: aws.String("0.0.0.0/0")}},
		UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String("sg-1"), UserId: aws.String("1")}},
	}})
	want := []model.IngressRule{
		{Protocol: "tcp", From: 80, To: 80, Group: "sg-1"}, {Protocol: "tcp", From: 80, To: 80, CIDR: "0.0.0.0/0"}, {Protocol: "tcp", From: 80, To: 80, CIDR: "10.0.0.0/8"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
