package acceptance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"
)

// taggedResources finds and removes the resources of a run in AWS.
type taggedResources struct {
	config aws.Config
	run    string
}

// remainingResource is a resource in AWS with the run's tag.
type remainingResource struct {
	name   string
	delete func(context.Context) error
}

// listRemaining lists the resources in AWS with the run's tag, load balancers first.
func (t taggedResources) listRemaining(ctx context.Context) ([]remainingResource, error) {
	lb, group := elbv2.NewFromConfig(t.config), ec2.NewFromConfig(t.config)
	var out []remainingResource
	addTagged := func(arns []string, delete func(ctx context.Context, arn string) error) error {
		for chunk := range slices.Chunk(arns, 20) {
			tags, err := lb.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: chunk})
			if err != nil {
				return err
			}
			for _, d := range tags.TagDescriptions {
				for _, tag := range d.Tags {
					if arn := aws.ToString(d.ResourceArn); aws.ToString(tag.Key) == runTag && aws.ToString(tag.Value) == t.run {
						out = append(out, remainingResource{arn, func(ctx context.Context) error { return delete(ctx, arn) }})
					}
				}
			}
		}
		return nil
	}
	var arns []string
	balancers := elbv2.NewDescribeLoadBalancersPaginator(lb, &elbv2.DescribeLoadBalancersInput{})
	for balancers.HasMorePages() {
		page, err := balancers.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range page.LoadBalancers {
			arns = append(arns, aws.ToString(b.LoadBalancerArn))
		}
	}
	err := addTagged(arns, func(ctx context.Context, arn string) error {
		_, err := lb.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &arn})
		return err
	})
	if err != nil {
		return nil, err
	}
	arns = nil
	groups := elbv2.NewDescribeTargetGroupsPaginator(lb, &elbv2.DescribeTargetGroupsInput{})
	for groups.HasMorePages() {
		page, err := groups.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range page.TargetGroups {
			arns = append(arns, aws.ToString(g.TargetGroupArn))
		}
	}
	err = addTagged(arns, func(ctx context.Context, arn string) error {
		_, err := lb.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &arn})
		return err
	})
	if err != nil {
		return nil, err
	}
	security, err := group.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{{Name: aws.String("tag:" + runTag), Values: []string{t.run}}}})
	if err != nil {
		return nil, err
	}
	for _, g := range security.SecurityGroups {
		out = append(out, remainingResource{"security group " + aws.ToString(g.GroupId), func(ctx context.Context) error {
			_, err := group.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: g.GroupId})
			return err
		}})
	}
	more, err := t.listCertificates(ctx)
	return append(out, more...), err
}

// listCertificates lists the certificates in ACM with the run's tag.
func (t taggedResources) listCertificates(ctx context.Context) ([]remainingResource, error) {
	api := acm.NewFromConfig(t.config)
	var out []remainingResource
	all := &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()} // by default, ACM lists only certificates with RSA keys of 1,024 or 2,048 bits
	pages := acm.NewListCertificatesPaginator(api, &acm.ListCertificatesInput{Includes: all})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range page.CertificateSummaryList {
			if !strings.HasSuffix(aws.ToString(c.DomainName), ".acceptance.test") {
				continue
			}
			tags, err := api.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: c.CertificateArn})
			if err != nil {
				return nil, err
			}
			for _, tag := range tags.Tags {
				if aws.ToString(tag.Key) == runTag && aws.ToString(tag.Value) == t.run {
					out = append(out, remainingResource{aws.ToString(c.CertificateArn), func(ctx context.Context) error {
						_, err := api.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: c.CertificateArn})
						return err
					}})
				}
			}
		}
	}
	return out, nil
}

// deleteAll deletes all resources that AWS allows it to delete, and returns an error until none remain.
func (t taggedResources) deleteAll(ctx context.Context) error {
	left, err := t.listRemaining(ctx)
	if err != nil || len(left) == 0 {
		return err
	}
	var all []error
	for _, x := range left {
		if err := x.delete(ctx); err != nil {
			all = append(all, fmt.Errorf("%s: %w", x.name, err))
		}
	}
	return errors.Join(append(all, fmt.Errorf("%d resources are left", len(left)))...)
}

// addClusterTag adds the tag of the run's cluster to security groups of nodes.
func (t taggedResources) addClusterTag(ctx context.Context, groups []string) error {
	if len(groups) == 0 {
		return nil
	}
	_, err := ec2.NewFromConfig(t.config).CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: groups, Tags: []types.Tag{{Key: aws.String(clusterTag + t.run), Value: aws.String("shared")}},
	})
	return err
}

func (t taggedResources) removeClusterTag(ctx context.Context, groups []string) error {
	if len(groups) == 0 {
		return nil
	}
	_, err := ec2.NewFromConfig(t.config).DeleteTags(ctx, &ec2.DeleteTagsInput{
		Resources: groups, Tags: []types.Tag{{Key: aws.String(clusterTag + t.run)}},
	})
	var answer smithy.APIError
	if errors.As(err, &answer) && answer.ErrorCode() == "InvalidGroup.NotFound" {
		return nil
	}
	return err
}
