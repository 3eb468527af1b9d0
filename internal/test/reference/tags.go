package reference

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// tagsOf reads the tags of load balancers, target groups, listeners or rules, 20 in each call. It returns them by ARN.
func (d *deployment) tagsOf(arns []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for chunk := range slices.Chunk(arns, 20) {
		answer, err := d.elb.DescribeTags(d.ctx, &elb.DescribeTagsInput{ResourceArns: chunk})
		if err != nil {
			return nil, err
		}
		for _, of := range answer.TagDescriptions {
			tags := map[string]string{}
			for _, t := range of.Tags {
				tags[stringValue(t.Key)] = stringValue(t.Value)
			}
			out[stringValue(of.ResourceArn)] = tags
		}
	}
	return out, nil
}

// hasStackTags reports whether tags contain the tracking tags of the stack.
func (d *deployment) hasStackTags(tags map[string]string) bool {
	return naming.HasAllTags(tags, naming.StackTags(d.Cluster, d.stack))
}

// tagDifference returns the tags to add or change, and the keys to remove. It removes all tags that are not desired, except
// those of AWS ("aws:").
func tagDifference(want, have map[string]string) (add map[string]string, remove []string) {
	add = map[string]string{}
	for k, v := range want {
		if have, ok := have[k]; !ok || have != v {
			add[k] = v
		}
	}
	for k := range have {
		if _, ok := want[k]; !ok && !strings.HasPrefix(k, "aws:") {
			remove = append(remove, k)
		}
	}
	slices.Sort(remove)
	return add, remove
}

func elbTags(tags map[string]string) (out []elbtypes.Tag) {
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, elbtypes.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

func ec2Tags(tags map[string]string) (out []ec2types.Tag) {
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, ec2types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

// retag changes the tags of a load balancer, listener, rule or target group from have to want. It adds missing tags
// before it removes tags that are not in want.
func (d *deployment) retag(arn string, want, have map[string]string) error {
	add, remove := tagDifference(want, have)
	if len(add) > 0 {
		d.announceChange("AddTags", arn)
		if _, err := d.elb.AddTags(d.ctx, &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: elbTags(add)}); err != nil {
			return err
		}
	}
	if len(remove) > 0 {
		d.announceChange("RemoveTags", arn)
		if _, err := d.elb.RemoveTags(d.ctx, &elb.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: remove}); err != nil {
			return err
		}
	}
	return nil
}

// retagSecurityGroup changes the tags of a security group from have to want. It adds missing tags before it removes tags
// that are not in want.
func (d *deployment) retagSecurityGroup(id string, want, have map[string]string) error {
	add, remove := tagDifference(want, have)
	if len(add) > 0 {
		d.announceChange("CreateTags", id)
		if _, err := d.ec2.CreateTags(d.ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(add)}); err != nil {
			return err
		}
	}
	if len(remove) > 0 {
		gone := map[string]string{}
		for _, k := range remove {
			gone[k] = have[k]
		}
		d.announceChange("DeleteTags", id)
		if _, err := d.ec2.DeleteTags(d.ctx, &ec2.DeleteTagsInput{Resources: []string{id}, Tags: ec2Tags(gone)}); err != nil {
			return err
		}
	}
	return nil
}
