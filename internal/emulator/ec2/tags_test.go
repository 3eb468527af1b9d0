package ec2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

// tagLines returns the tags of a resource as sorted lines, such as "security-group key=value".
func (c harness) tagLines(id string) []string {
	c.t.Helper()
	out, err := c.DescribeTags(c.t.Context(), &ec2.DescribeTagsInput{Filters: []types.Filter{newFilter("resource-id", id)}})
	var lines []string
	for _, tag := range must(c.t, out, err).Tags {
		lines = append(lines, fmt.Sprintf("%s %s=%s", tag.ResourceType, *tag.Key, *tag.Value))
	}
	slices.Sort(lines)
	return lines
}

func TestCreateTags(t *testing.T) {
	c, ctx := newHarness(t), t.Context()
	vpc := c.createVPC("10.0.0.0/16")
	a, b := c.createSecurityGroup(vpc, "a", "k", "v"), c.createSecurityGroup(vpc, "b")
	create := func(ids []string, tags ...string) error {
		_, err := c.CreateTags(ctx, &ec2.CreateTagsInput{Resources: ids, Tags: tagList(tags...)})
		return err
	}
	checkCode(t, "", create([]string{a, b}, "k", "new", "empty", ""))
	want := []string{"security-group empty=", "security-group k=new"}
	for _, id := range []string{a, b} {
		if diff := cmp.Diff(want, c.tagLines(id)); diff != "" {
			t.Error(diff)
		}
	}
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprint("key", i), "x")
	}
	checkCode(t, "TagLimitExceeded", create([]string{a}, many...))
	checkCode(t, "InvalidParameterValue", create([]string{a}, "aws:x", "y"))
	checkCode(t, "InvalidParameterValue", create([]string{a}, "AWS:x", "y"))
	checkCode(t, "InvalidParameterValue", create([]string{a}, strings.Repeat("k", 129), "y"))
	checkCode(t, "InvalidParameterValue", create([]string{a}, "k", strings.Repeat("v", 257)))
	checkCode(t, "InvalidParameterValue", create([]string{a}, "k", "1", "k", "2"))
	checkCode(t, "InvalidGroup.NotFound", create([]string{a, "sg-0123456789abcdef0"}, "more", "x"))
	checkCode(t, "InvalidID", create([]string{"thing"}, "more", "x"))
	if diff := cmp.Diff(want, c.tagLines(a)); diff != "" {
		t.Errorf("a rejected call changed tags:\n%s", diff)
	}
}

func TestDeleteTags(t *testing.T) {
	cases := map[string]struct {
		del  []types.Tag
		want []string
	}{
		"by key":                               {[]types.Tag{{Key: aws.String("a")}}, []string{"b=", "c=3"}},
		"equal value":                          {[]types.Tag{{Key: aws.String("a"), Value: aws.String("1")}}, []string{"b=", "c=3"}},
		"another value":                        {[]types.Tag{{Key: aws.String("a"), Value: aws.String("2")}}, []string{"a=1", "b=", "c=3"}},
		"empty value":                          {[]types.Tag{{Key: aws.String("b"), Value: aws.String("")}}, []string{"a=1", "c=3"}},
		"empty value, but the tag has a value": {[]types.Tag{{Key: aws.String("a"), Value: aws.String("")}}, []string{"a=1", "b=", "c=3"}},
		"unknown key":                          {[]types.Tag{{Key: aws.String("x")}}, []string{"a=1", "b=", "c=3"}},
		"no tags: all tags are deleted":        {nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newHarness(t)
			id := c.createSecurityGroup(c.createVPC("10.0.0.0/16"), "g", "a", "1", "b", "", "c", "3")
			_, err := c.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: tc.del})
			checkCode(t, "", err)
			var want []string
			for _, line := range tc.want {
				want = append(want, "security-group "+line)
			}
			if diff := cmp.Diff(want, c.tagLines(id)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRejectedDeleteTagsRemovesNoTag(t *testing.T) {
	c := newHarness(t)
	id := c.createSecurityGroup(c.createVPC("10.0.0.0/16"), "g", "a", "1")
	_, err := c.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("a")}, {Key: aws.String("aws:x")}}})
	checkCode(t, "InvalidParameterValue", err)
	if diff := cmp.Diff([]string{"security-group a=1"}, c.tagLines(id)); diff != "" {
		t.Error(diff)
	}
}
