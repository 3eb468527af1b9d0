package cloud_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// TestOnlyOwnSourcesOfUntaggedSecurityGroupsAreFound checks which security groups with rules from a source are found, and that
// the answer is cached.
func TestOnlyOwnSourcesOfUntaggedSecurityGroupsAreFound(t *testing.T) {
	r := newHarness(t)
	group := func(name string, tags map[string]string) string {
		t.Helper()
		in := &ec2.CreateSecurityGroupInput{GroupName: &name, Description: &name, VpcId: &r.vpc}
		for key, value := range tags {
			in.TagSpecifications = append(in.TagSpecifications, ec2types.TagSpecification{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: []ec2types.Tag{{Key: aws.String(key), Value: aws.String(value)}}})
		}
		return aws.ToString(must(r.ec2.CreateSecurityGroup(r.ctx, in))(t).GroupId)
	}
	own, foreign := group("own", map[string]string{naming.ClusterTag: cluster}), group("foreign", map[string]string{naming.ClusterTag: "other"})
	nodes, tagged := group("untagged", nil), group("tagged", map[string]string{"kubernetes.io/cluster/other": "owned"})
	for _, to := range []string{nodes, tagged, r.nodeSecurityGroup} {
		rules := []model.IngressRule{{Protocol: "tcp", From: 80, To: 80, Group: own}, {Protocol: "tcp", From: 80, To: 80, Group: foreign}}
		if err := r.cloud.ChangeEndpointRules(r.ctx, to, rules, nil); err != nil {
			t.Fatal(err)
		}
	}
	find := func(what, calls string, want map[string][]string, sources ...string) {
		t.Helper()
		r.em.Calls().Reset()
		if diff := cmp.Diff(want, must(r.cloud.SecurityGroupsAdmitting(r.ctx, sources))(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if got := r.takeCallCounts(); got != calls {
			t.Errorf("%s: calls %q", what, got)
		}
	}
	none, found := map[string][]string{}, map[string][]string{nodes: {own}}
	find("another cluster's source, and the list of own ones", "DescribeSecurityGroups 1", none, foreign)
	find("another cluster's source again", "", none, foreign)
	find("own source", "DescribeSecurityGroups 1", found, own, foreign, own)
	find("own source again", "", found, own)
	if must(r.cloud.EndpointSecurityGroups(r.ctx, []string{nodes}, 0))(t); r.takeCallCounts() != "DescribeSecurityGroups 1" {
		t.Error("the found security group is read again") // the only call is for the security groups with the tag of the cluster
	}
	r.advance(time.Hour)
	find("after an hour", "DescribeSecurityGroups 2", found, own)
}
