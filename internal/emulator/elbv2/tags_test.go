package elbv2_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

func newTag(k, v string) types.Tag { return types.Tag{Key: &k, Value: &v} }

func TestTags(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createALB("app"), r.createTargetGroup("web")
	l := r.createListener(lb.LoadBalancerArn, 80, fixedResponseActions("404"))
	rule := r.createRule(l.ListenerArn, 1, "/a", forwardActions(g.TargetGroupArn))
	all := []string{*lb.LoadBalancerArn, *g.TargetGroupArn, *l.ListenerArn, *rule.RuleArn}
	add := func(arns []string, tags ...types.Tag) error {
		_, err := r.elb.AddTags(r.ctx, &elb.AddTagsInput{ResourceArns: arns, Tags: tags})
		return err
	}
	if err := add(all, newTag("a", "1"), newTag("b", "")); err != nil {
		t.Fatal(err)
	}
	if err := add(all[:1], newTag("a", "2")); err != nil {
		t.Fatal(err)
	}
	must(r.elb.RemoveTags(r.ctx, &elb.RemoveTagsInput{ResourceArns: all[1:2], TagKeys: []string{"b", "nothing"}}))(t)
	got := map[string][]string{}
	for _, d := range must(r.elb.DescribeTags(r.ctx, &elb.DescribeTagsInput{ResourceArns: all}))(t).TagDescriptions {
		var tags []string
		for _, kv := range d.Tags {
			tags = append(tags, *kv.Key+"="+*kv.Value)
		}
		slices.Sort(tags)
		got[*d.ResourceArn] = tags
	}
	want := map[string][]string{all[0]: {"a=2", "b="}, all[1]: {"a=1"}, all[2]: {"a=1", "b="}, all[3]: {"a=1", "b="}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tags (-want +got):\n%s", d)
	}

	gone := "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/x/0123456789abcdef"
	checkError(t, add([]string{all[0], gone}, newTag("c", "1")), "TargetGroupNotFound", "")
	checkError(t, add(all[:1], newTag("c", "1"), newTag("c", "2")), "DuplicateTagKeys", "")
	checkError(t, add(all[:1], newTag("aws:c", "1")), "ValidationError", "reserved")
	checkError(t, add(all[:1], newTag("c!", "1")), "ValidationError", "Value 'c!' at 'tags.1.member.key'")
	checkError(t, add([]string{"arn:aws:elasticloadbalancing:us-west-2:123456789012:listener/x"}, newTag("c", "1")), "ValidationError", "is not a valid listener ARN")
	var many []types.Tag
	for i := range 49 {
		many = append(many, newTag(fmt.Sprint("k", i), "v"))
	}
	checkError(t, add(all[:1], many...), "TooManyTags", "")
	_, err := r.elb.DescribeTags(r.ctx, &elb.DescribeTagsInput{ResourceArns: slices.Repeat(all[:1], 21)})
	checkError(t, err, "ValidationError", "Cannot have more than 20 resources described")
	_, err = r.elb.DescribeTags(r.ctx, &elb.DescribeTagsInput{ResourceArns: []string{all[0], gone}})
	checkError(t, err, "TargetGroupNotFound", "")
}

func TestRegionsAndAccountsHaveSeparateResources(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("app")
	region, account := r.cfg.Copy(), r.cfg.Copy()
	region.Region = "eu-west-1"
	account.Credentials = credentials.NewStaticCredentialsProvider("AKIA999988887777", "secret", "")
	for name, cfg := range map[string]aws.Config{"region": region, "account": account} {
		code, message := "ValidationError", "is not a valid load balancer ARN"
		if name == "account" {
			code, message = "LoadBalancerNotFound", ""
		}
		elsewhere := elb.NewFromConfig(cfg)
		out := must(elsewhere.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{}))(t)
		if len(out.LoadBalancers) != 0 {
			t.Errorf("another %s has %d load balancers", name, len(out.LoadBalancers))
		}
		_, err := elsewhere.DescribeTags(r.ctx, &elb.DescribeTagsInput{ResourceArns: []string{aws.ToString(lb.LoadBalancerArn)}})
		checkError(t, err, code, message)
	}
}
