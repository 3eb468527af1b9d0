package emulator_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/authz"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// limitedAccessKey is the access key of a user with policies.
const limitedAccessKey = "AKIA111122223333LIMITED"

func setPolicy(t *testing.T, em *emulator.Emulator, statements ...string) {
	t.Helper()
	p, err := iam.Parse([]byte(`{"Version": "2012-10-17", "Statement": [` + strings.Join(statements, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	em.Store().Lock()
	defer em.Store().Unlock()
	em.Store().PutPrincipal(limitedAccessKey, store.Principal{Policies: []iam.Policy{p}})
}

func securityGroupInput(name string, tags ...types.Tag) *ec2.CreateSecurityGroupInput {
	return &ec2.CreateSecurityGroupInput{GroupName: aws.String(name), Description: aws.String("d"),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: tags}}}
}

func TestPoliciesAreEnforced(t *testing.T) {
	em := emulator.New(emulator.Options{})
	mine := types.Tag{Key: aws.String("mine"), Value: aws.String("yes")}
	other := types.Tag{Key: aws.String("other"), Value: aws.String("yes")}
	all, c := ec2.NewFromConfig(clientConfig(em, testAccessKey)), ec2.NewFromConfig(clientConfig(em, limitedAccessKey))
	balancers := elb.NewFromConfig(clientConfig(em, limitedAccessKey))

	setPolicy(t, em, `{"Sid": "Create", "Effect": "Allow", "Action": "ec2:CreateSecurityGroup", "Resource": "*"}`,
		`{"Sid": "TagNew", "Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "arn:aws:ec2:*:*:security-group/*",
		  "Condition": {"StringEquals": {"ec2:CreateAction": "CreateSecurityGroup"}, "Null": {"aws:RequestTag/mine": "false"}}}`,
		`{"Sid": "Own", "Effect": "Allow", "Action": ["ec2:DeleteSecurityGroup", "ec2:DeleteTags"], "Resource": "*", "Condition": {"Null": {"aws:ResourceTag/mine": "false"}}}`)

	_, err := c.CreateSecurityGroup(t.Context(), securityGroupInput("a", other))
	if code(err) != "UnauthorizedOperation" || !strings.Contains(err.Error(), "arn:aws:iam::111122223333:user/"+limitedAccessKey+" is not authorized to perform: ec2:CreateTags") {
		t.Errorf("created with another tag: %v", err)
	}
	own, err := c.CreateSecurityGroup(t.Context(), securityGroupInput("a", mine, other))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := all.CreateSecurityGroup(t.Context(), securityGroupInput("b", other))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{*own.GroupId, *foreign.GroupId}, Tags: []types.Tag{other}}); code(err) != "UnauthorizedOperation" {
		t.Errorf("tags of two security groups, one of them foreign: %v", err)
	}
	if _, err := c.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: foreign.GroupId}); code(err) != "UnauthorizedOperation" {
		t.Errorf("a foreign security group is deleted: %v", err)
	}
	if _, err := c.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: own.GroupId}); err != nil {
		t.Error(err)
	}
	if _, err := balancers.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{}); code(err) != "AccessDenied" {
		t.Errorf("load balancers: %v", err)
	}
	if _, err := acm.NewFromConfig(clientConfig(em, limitedAccessKey)).ListCertificates(t.Context(), &acm.ListCertificatesInput{}); code(err) != "AccessDeniedException" {
		t.Errorf("certificates: %v", err)
	}
	if _, err := sts.NewFromConfig(clientConfig(em, limitedAccessKey)).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}); err != nil {
		t.Error(err)
	}
	want := map[authz.UsedPermission]int{{Sid: "Create", Action: "ec2:CreateSecurityGroup"}: 1, {Sid: "TagNew", Action: "ec2:CreateTags"}: 1, {Sid: "Own", Action: "ec2:DeleteSecurityGroup"}: 1}
	if d := cmp.Diff(want, em.Permissions()); d != "" {
		t.Error(d)
	}
}

// TestCreateLoadBalancerNeedsEC2Permissions checks that CreateLoadBalancer needs several permissions, and that each
// denial names the first one that is missing.
func TestCreateLoadBalancerNeedsEC2Permissions(t *testing.T) {
	em := emulator.New(emulator.Options{})
	subnets, err := ec2.NewFromConfig(clientConfig(em, testAccessKey)).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	in := &elb.CreateLoadBalancerInput{Name: aws.String("web"), Tags: []elbtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}
	for _, s := range subnets.Subnets {
		in.Subnets = append(in.Subnets, *s.SubnetId)
	}
	var granted, denied []string
	for range 10 {
		setPolicy(t, em, `{"Effect": "Allow", "Action": ["none:None"`+strings.Join(granted, "")+`], "Resource": "*"}`)
		_, err := elb.NewFromConfig(clientConfig(em, limitedAccessKey)).CreateLoadBalancer(t.Context(), in)
		if err == nil {
			break
		}
		_, rest, _ := strings.Cut(err.Error(), "perform: ")
		action, _, _ := strings.Cut(rest, " ")
		granted, denied = append(granted, `, "`+action+`"`), append(denied, action)
	}
	want := []string{"elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:AddTags", "ec2:DescribeAccountAttributes",
		"iam:CreateServiceLinkedRole", "ec2:DescribeInternetGateways"}
	if d := cmp.Diff(want, denied); d != "" {
		t.Error(d)
	}
}

// TestSessionsHaveThePermissionsOfTheirRole checks that a session of an assumed role has only the permissions of the role.
func TestSessionsHaveThePermissionsOfTheirRole(t *testing.T) {
	em := emulator.New(emulator.Options{})
	const role = "arn:aws:iam::444455556666:role/reader"
	p, err := iam.Parse([]byte(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:DescribeVpcs", "Resource": "*"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	em.Store().Lock()
	em.Store().PutRole(store.Role{ARN: role, Policies: []iam.Policy{p}})
	em.Store().Unlock()
	out, err := sts.NewFromConfig(clientConfig(em, testAccessKey)).AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String(role), RoleSessionName: aws.String("me")})
	if err != nil {
		t.Fatal(err)
	}
	cfg := clientConfig(em, "")
	cfg.Credentials = credentials.NewStaticCredentialsProvider(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
	c := ec2.NewFromConfig(cfg)
	if _, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
		t.Error(err)
	}
	_, err = c.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if code(err) != "UnauthorizedOperation" || !strings.Contains(err.Error(), "arn:aws:sts::444455556666:assumed-role/reader/me is not") {
		t.Errorf("subnets: %v", err)
	}
}

// TestPartitions checks that an emulator of each partition serves only regions of the partition, with the ARNs and host
// names of the partition. Only the partition "aws" has Shield and Global Accelerator.
func TestPartitions(t *testing.T) {
	for _, c := range []struct{ partition, region, arn, host string }{
		{"", "us-west-2", "arn:aws:elasticloadbalancing:us-west-2:111122223333:loadbalancer/app/web/", ".us-west-2.elb.amazonaws.com"},
		{"aws-cn", "cn-north-1", "arn:aws-cn:elasticloadbalancing:cn-north-1:111122223333:loadbalancer/app/web/", ".cn-north-1.elb.amazonaws.com.cn"},
		{"aws-us-gov", "us-gov-east-1", "arn:aws-us-gov:elasticloadbalancing:us-gov-east-1:111122223333:loadbalancer/app/web/", ".us-gov-east-1.elb.amazonaws.com"},
	} {
		t.Run(c.region, func(t *testing.T) {
			em := emulator.New(emulator.Options{Partition: c.partition})
			cfg := clientConfig(em, testAccessKey)
			cfg.Region = c.region
			subnets, err := ec2.NewFromConfig(cfg).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
			if err != nil {
				t.Fatal(err)
			}
			in := &elb.CreateLoadBalancerInput{Name: aws.String("web")}
			for _, s := range subnets.Subnets {
				in.Subnets = append(in.Subnets, *s.SubnetId)
			}
			out, err := elb.NewFromConfig(cfg).CreateLoadBalancer(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			lb := out.LoadBalancers[0]
			if !strings.HasPrefix(*lb.LoadBalancerArn, c.arn) || !strings.HasSuffix(*lb.DNSName, c.host) {
				t.Errorf("%s, %s", *lb.LoadBalancerArn, *lb.DNSName)
			}
			if _, err := route53.NewFromConfig(cfg).ListHostedZones(t.Context(), &route53.ListHostedZonesInput{}); err != nil {
				t.Error(err)
			}
			id, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
			if err != nil || !strings.HasPrefix(*id.Arn, c.arn[:strings.Index(c.arn, ":elastic")+1]) {
				t.Errorf("%v, %v", id, err)
			}
			_, err = shield.NewFromConfig(cfg).GetSubscriptionState(t.Context(), &shield.GetSubscriptionStateInput{})
			if served := err == nil; served != (c.partition == "") {
				t.Errorf("Shield: %v", err)
			}
			_, err = globalaccelerator.NewFromConfig(cfg).ListAccelerators(t.Context(), &globalaccelerator.ListAcceleratorsInput{})
			if served := err == nil; served != (c.partition == "") {
				t.Errorf("Global Accelerator: %v", err)
			}
			for _, elsewhere := range []string{"us-west-2", "cn-north-1", "us-gov-west-1"} {
				if elsewhere[:3] == c.region[:3] && (elsewhere == "us-west-2") == (c.partition == "") {
					continue
				}
				cfg.Region = elsewhere
				if _, err := ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err == nil {
					t.Errorf("%s is served too", elsewhere)
				}
			}
		})
	}
}
