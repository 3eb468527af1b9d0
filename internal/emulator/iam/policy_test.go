package iam

import (
	"strings"
	"testing"
)

func TestPatternsMatchTexts(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true},
		{"*", "arn:aws:ec2:r:a:x/y", true},
		{"arn:aws:ec2:*:*:security-group/*", "arn:aws:ec2:us-west-2:123456789012:security-group/sg-1", true},
		{"arn:aws:ec2:*:*:security-group/*", "arn:aws-cn:ec2:cn-north-1:123456789012:security-group/sg-1", false},
		{"arn:aws:elasticloadbalancing:*:*:loadbalancer/app/*/*", "arn:aws:elasticloadbalancing:r:a:loadbalancer/net/n/1", false},
		{"arn:aws:elasticloadbalancing:*:*:loadbalancer/app/*/*", "arn:aws:elasticloadbalancing:r:a:loadbalancer/app/n", false},
		{"ec2:Describe*", "ec2:DescribeVpcs", true},
		{"ec2:Describe?pcs", "ec2:DescribeVpcs", true},
		{"a*b*c", "aXbYbZc", true},
		{"a*b*c", "aXbYbZ", false},
		{"", "x", false},
	} {
		if got := matchesPattern(c.pattern, c.s); got != c.want {
			t.Errorf("matchesPattern(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

func TestDecisions(t *testing.T) {
	p, err := Parse([]byte(`{"Version": "2012-10-17", "Statement": [
		{"Sid": "Tag", "Effect": "Allow", "Action": ["ec2:CreateTags", "ec2:DeleteTags"], "Resource": "arn:aws:ec2:*:*:security-group/*",
		 "Condition": {"Null": {"aws:RequestTag/owner": "true", "aws:ResourceTag/owner": "false"}}},
		{"Sid": "New", "Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "*",
		 "Condition": {"StringEquals": {"ec2:CreateAction": ["CreateSecurityGroup", "CreateVolume"]}}},
		{"Sid": "Reads", "Effect": "Allow", "Action": "ec2:describe*", "Resource": "*"},
		{"Sid": "NotThese", "Effect": "Deny", "Action": "ec2:DescribeTags", "Resource": "*"},
		{"Sid": "Tagged", "Effect": "Allow", "Action": "acm:*", "Resource": "*",
		 "Condition": {"StringNotEquals": {"aws:ResourceTag/team": "a"}, "StringLike": {"aws:ResourceTag/unit": "x-*"}}}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	const group = "arn:aws:ec2:us-west-2:123456789012:security-group/sg-1"
	for _, c := range []struct {
		name string
		r    Request
		want bool
		sids string
	}{
		{"own resource", Request{"ec2:CreateTags", group, map[string]string{"aws:ResourceTag/owner": "x", "aws:RequestTag/team": "a"}}, true, "Tag"},
		{"names the tag", Request{"ec2:CreateTags", group, map[string]string{"aws:ResourceTag/owner": "x", "aws:RequestTag/owner": "y"}}, false, ""},
		{"without the tag", Request{"ec2:DeleteTags", group, map[string]string{"aws:RequestTag/team": "a"}}, false, ""},
		{"another kind", Request{"ec2:DeleteTags", "arn:aws:ec2:r:a:subnet/s", map[string]string{"aws:ResourceTag/owner": "x"}}, false, ""},
		{"with the create action", Request{"ec2:CreateTags", "arn:aws:ec2:r:a:volume/v", map[string]string{"ec2:createaction": "CreateVolume"}}, true, "New"},
		{"with another create action", Request{"ec2:CreateTags", "arn:aws:ec2:r:a:volume/v", map[string]string{"ec2:CreateAction": "RunInstances"}}, false, ""},
		{"actions are not case-sensitive", Request{"ec2:DescribeVpcs", "", nil}, true, "Reads"},
		{"a denial wins", Request{"ec2:DescribeTags", "", nil}, false, "NotThese"},
		{"another action", Request{"ec2:CreateVpc", "", nil}, false, ""},
		{"not equal, and like", Request{"acm:GetCertificate", "arn:x", map[string]string{"aws:ResourceTag/unit": "x-1"}}, true, "Tagged"},
		{"equal", Request{"acm:GetCertificate", "arn:x", map[string]string{"aws:ResourceTag/unit": "x-1", "aws:ResourceTag/team": "a"}}, false, ""},
	} {
		d := Evaluate([]Policy{p}, c.r)
		if d.IsAllowed != c.want || strings.Join(d.Sids, " ") != c.sids {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

func TestUnknownPolicyElementsAreErrors(t *testing.T) {
	for _, text := range []string{
		`{"Version": "2008-10-17", "Statement": []}`,
		`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "NotAction": "x", "Resource": "*"}]}`,
		`{"Version": "2012-10-17", "Statement": [{"Effect": "Permit", "Action": "x", "Resource": "*"}]}`,
		`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "x"}]}`,
		`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "x", "Resource": "*", "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}]}`,
	} {
		if p, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: no error, parsed as %+v", text, p)
		}
	}
}
