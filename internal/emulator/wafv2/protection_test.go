package wafv2_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"
	classic "github.com/aws/aws-sdk-go-v2/service/wafregional"
	classictypes "github.com/aws/aws-sdk-go-v2/service/wafregional/types"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/aws-sdk-go-v2/service/wafv2/types"
	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// harness has an account with an ALB and an NLB in its default VPC. WAFv2, WAF Classic and Shield are tested together,
// because they read the same load balancers.
type harness struct {
	em      *emulator.Emulator
	clock   *store.ManualClock
	elb     *elb.Client
	waf     *wafv2.Client
	classic *classic.Client
	shield  *shield.Client

	albARN, nlbARN *string
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	clock := store.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o := emulator.Options{Clock: clock, Seed: 7}
	awsmodel.WatchAnswers(t, &o)
	em := emulator.New(o)
	cfg := aws.Config{
		Region: "us-west-2", HTTPClient: em.Client(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", ""),
	}
	r := &harness{
		em: em, clock: clock, elb: elb.NewFromConfig(cfg), waf: wafv2.NewFromConfig(cfg),
		classic: classic.NewFromConfig(cfg), shield: shield.NewFromConfig(cfg),
	}
	var subnets []string
	for _, s := range must(ec2.NewFromConfig(cfg).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{{Name: aws.String("default-for-az"), Values: []string{"true"}}},
	}))(t).Subnets {
		subnets = append(subnets, *s.SubnetId)
	}
	r.albARN = must(r.elb.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: aws.String("app"), Subnets: subnets}))(t).LoadBalancers[0].LoadBalancerArn
	r.nlbARN = must(r.elb.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: aws.String("net"), Subnets: subnets, Type: "network"}))(t).LoadBalancers[0].LoadBalancerArn
	return r
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func checkError(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Fatalf("want error %s, got %v", code, err)
	}
}

func (r *harness) createWebACL(t *testing.T, name string) *types.WebACLSummary {
	t.Helper()
	return must(r.waf.CreateWebACL(t.Context(), &wafv2.CreateWebACLInput{
		Name: &name, Scope: types.ScopeRegional, DefaultAction: &types.DefaultAction{Allow: &types.AllowAction{}},
		VisibilityConfig: &types.VisibilityConfig{MetricName: &name},
		Rules: []types.Rule{{
			Name: aws.String("geo"), Action: &types.RuleAction{Block: &types.BlockAction{}}, VisibilityConfig: &types.VisibilityConfig{MetricName: &name},
			Statement: &types.Statement{NotStatement: &types.NotStatement{Statement: &types.Statement{GeoMatchStatement: &types.GeoMatchStatement{CountryCodes: []types.CountryCode{"DE"}}}}},
		}},
	}))(t).Summary
}

func TestWebACLs(t *testing.T) {
	r := newHarness(t)
	ctx := t.Context()
	first, second := r.createWebACL(t, "first"), r.createWebACL(t, "second")
	of := func(arn *string) (string, error) {
		out, err := r.waf.GetWebACLForResource(ctx, &wafv2.GetWebACLForResourceInput{ResourceArn: arn})
		if err != nil || out.WebACL == nil {
			return "", err
		}
		return *out.WebACL.Name, nil
	}
	associate := func(acl, arn *string) error {
		_, err := r.waf.AssociateWebACL(ctx, &wafv2.AssociateWebACLInput{WebACLArn: acl, ResourceArn: arn})
		return err
	}
	if name := must(of(r.albARN))(t); name != "" {
		t.Errorf("web ACL %q before any association", name)
	}
	_, err := of(r.nlbARN)
	checkError(t, err, "WAFInvalidParameterException")
	checkError(t, associate(first.ARN, r.nlbARN), "WAFInvalidParameterException")
	checkError(t, associate(aws.String(*first.ARN+"0"), r.albARN), "WAFNonexistentItemException")
	checkError(t, associate(first.ARN, aws.String(*r.albARN+"0")), "WAFNonexistentItemException")
	for _, acl := range []*types.WebACLSummary{first, second} {
		if err := associate(acl.ARN, r.albARN); err != nil {
			t.Fatal(err)
		}
		if name := must(of(r.albARN))(t); name != *acl.Name {
			t.Errorf("web ACL %q, want %q", name, *acl.Name)
		}
	}
	users := must(r.waf.ListResourcesForWebACL(ctx, &wafv2.ListResourcesForWebACLInput{WebACLArn: second.ARN}))(t).ResourceArns
	if len(users) != 1 || users[0] != *r.albARN {
		t.Errorf("resources %v", users)
	}
	_, err = r.waf.DeleteWebACL(ctx, &wafv2.DeleteWebACLInput{Id: second.Id, Name: second.Name, Scope: types.ScopeRegional, LockToken: second.LockToken})
	checkError(t, err, "WAFAssociatedItemException")
	r.em.Store().Config.WAF.ReadDelay = time.Second
	must(r.waf.DisassociateWebACL(ctx, &wafv2.DisassociateWebACLInput{ResourceArn: r.albARN}))(t)
	must(r.waf.DisassociateWebACL(ctx, &wafv2.DisassociateWebACLInput{ResourceArn: r.albARN}))(t)
	if name := must(of(r.albARN))(t); name != "second" {
		t.Errorf("within ReadDelay: web ACL %q, want the previous one", name)
	}
	r.clock.Advance(time.Second)
	if name := must(of(r.albARN))(t); name != "" {
		t.Errorf("web ACL %q after the end", name)
	}
	_, err = r.waf.DeleteWebACL(ctx, &wafv2.DeleteWebACLInput{Id: second.Id, Name: second.Name, Scope: types.ScopeRegional, LockToken: aws.String("other")})
	checkError(t, err, "WAFOptimisticLockException")
	must(r.waf.DeleteWebACL(ctx, &wafv2.DeleteWebACLInput{Id: second.Id, Name: second.Name, Scope: types.ScopeRegional, LockToken: second.LockToken}))(t)
	r.createWebACL(t, "third")
	var names []string
	for marker := (*string)(nil); ; {
		out := must(r.waf.ListWebACLs(ctx, &wafv2.ListWebACLsInput{Scope: types.ScopeRegional, Limit: aws.Int32(1), NextMarker: marker}))(t)
		for _, a := range out.WebACLs {
			names = append(names, *a.Name)
		}
		if marker = out.NextMarker; marker == nil {
			break
		}
	}
	if len(names) != 2 {
		t.Errorf("web ACLs by pages: %v", names)
	}
	got := must(r.waf.GetWebACL(ctx, &wafv2.GetWebACLInput{Id: first.Id, Name: first.Name, Scope: types.ScopeRegional}))(t).WebACL
	if got.Rules[0].Statement.NotStatement.Statement.GeoMatchStatement.CountryCodes[0] != "DE" {
		t.Errorf("rules came back as %+v", got.Rules)
	}
	r.em.Store().Config.WAF.PropagationDelay = time.Hour
	checkError(t, associate(first.ARN, r.albARN), "WAFUnavailableEntityException")
}

func TestClassicWebACLs(t *testing.T) {
	r := newHarness(t)
	ctx := t.Context()
	create := func(token *string) (*classic.CreateWebACLOutput, error) {
		return r.classic.CreateWebACL(ctx, &classic.CreateWebACLInput{
			ChangeToken: token, Name: aws.String("old"), MetricName: aws.String("old"), DefaultAction: &classictypes.WafAction{Type: classictypes.WafActionTypeAllow},
		})
	}
	_, err := create(aws.String("made-up"))
	checkError(t, err, "WAFStaleDataException")
	token := must(r.classic.GetChangeToken(ctx, &classic.GetChangeTokenInput{}))(t).ChangeToken
	acl := must(create(token))(t).WebACL
	_, err = create(token)
	checkError(t, err, "WAFStaleDataException")
	if n := len(must(r.classic.ListWebACLs(ctx, &classic.ListWebACLsInput{Limit: 10}))(t).WebACLs); n != 1 {
		t.Errorf("%d web ACLs", n)
	}
	of := func() string {
		out := must(r.classic.GetWebACLForResource(ctx, &classic.GetWebACLForResourceInput{ResourceArn: r.albARN}))(t)
		if out.WebACLSummary == nil {
			return ""
		}
		return *out.WebACLSummary.Name
	}
	if got := of(); got != "" {
		t.Errorf("web ACL %q before any association", got)
	}
	_, err = r.classic.AssociateWebACL(ctx, &classic.AssociateWebACLInput{ResourceArn: r.albARN, WebACLId: aws.String("none")})
	checkError(t, err, "WAFNonexistentItemException")
	must(r.classic.AssociateWebACL(ctx, &classic.AssociateWebACLInput{ResourceArn: r.albARN, WebACLId: acl.WebACLId}))(t)
	if got := of(); got != "old" {
		t.Errorf("web ACL %q", got)
	}
	_, err = r.waf.AssociateWebACL(ctx, &wafv2.AssociateWebACLInput{ResourceArn: r.albARN, WebACLArn: r.createWebACL(t, "new").ARN})
	checkError(t, err, "WAFInvalidOperationException")
	must(r.classic.DisassociateWebACL(ctx, &classic.DisassociateWebACLInput{ResourceArn: r.albARN}))(t)
	if got := of(); got != "" {
		t.Errorf("web ACL %q after the end", got)
	}
}

func TestShield(t *testing.T) {
	r := newHarness(t)
	ctx := t.Context()
	state := func() shieldtypes.SubscriptionState {
		return must(r.shield.GetSubscriptionState(ctx, &shield.GetSubscriptionStateInput{}))(t).SubscriptionState
	}
	protect := func(arn *string) (*shield.CreateProtectionOutput, error) {
		return r.shield.CreateProtection(ctx, &shield.CreateProtectionInput{Name: aws.String("managed by us"), ResourceArn: arn})
	}
	if got := state(); got != shieldtypes.SubscriptionStateInactive {
		t.Errorf("state %s", got)
	}
	_, err := protect(r.albARN)
	checkError(t, err, "ResourceNotFoundException")
	must(r.shield.CreateSubscription(ctx, &shield.CreateSubscriptionInput{}))(t)
	if got := state(); got != shieldtypes.SubscriptionStateActive {
		t.Errorf("state %s", got)
	}
	_, err = protect(r.nlbARN)
	checkError(t, err, "InvalidOperationException")
	id := must(protect(r.albARN))(t).ProtectionId
	_, err = protect(r.albARN)
	checkError(t, err, "ResourceAlreadyExistsException")
	got := must(r.shield.DescribeProtection(ctx, &shield.DescribeProtectionInput{ResourceArn: r.albARN}))(t).Protection
	if *got.Id != *id || *got.Name != "managed by us" {
		t.Errorf("protection %+v", got)
	}
	must(r.shield.DeleteProtection(ctx, &shield.DeleteProtectionInput{ProtectionId: id}))(t)
	_, err = r.shield.DeleteProtection(ctx, &shield.DeleteProtectionInput{ProtectionId: id})
	checkError(t, err, "ResourceNotFoundException")
	must(protect(r.albARN))(t)
	if n := len(must(r.shield.ListProtections(ctx, &shield.ListProtectionsInput{}))(t).Protections); n != 1 {
		t.Errorf("%d protections", n)
	}
	must(r.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: r.albARN}))(t)
	_, err = r.shield.DescribeProtection(ctx, &shield.DescribeProtectionInput{ResourceArn: r.albARN})
	checkError(t, err, "ResourceNotFoundException")
}
