package checks

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/wafregional"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	wafv2types "github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// Checker reads the permissions of the controller and the usage of quotas.
type Checker struct {
	*sdk.Client
	cloud *cloud.Cloud
}

// New returns a Checker with the credentials of a Cloud.
func New(c *cloud.Cloud) *Checker { return &Checker{c.Client(), c} }

// Identity is the IAM principal whose credentials are in use.
type Identity struct{ Account, ARN string }

// ReadIdentity reads the IAM principal whose credentials are in use.
func (c *Checker) ReadIdentity(ctx context.Context) (Identity, error) {
	out, err := c.API.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return Identity{}, err
	}
	return Identity{aws.ToString(out.Account), aws.ToString(out.Arn)}, nil
}

// Permission is the result of checking whether an action is permitted.
type Permission int

// Values of Permission.
const (
	PermissionUnknown Permission = iota // only a real change would show whether the action is permitted
	PermissionGranted
	PermissionRefused
)

// CheckPermission tries an IAM action without changing anything: it makes a read call with IDs that do not exist, or a dry
// run of an EC2 call. It returns PermissionUnknown for all other actions. The error is the refusal of AWS, or the error of a
// read call that failed for another reason than the permission.
func (c *Checker) CheckPermission(ctx context.Context, action string) (Permission, error) {
	for _, reads := range []map[string]func(context.Context) error{c.readChecks(), c.acceleratorReadChecks()} {
		if call := reads[action]; call != nil {
			return permissionOf(call(ctx))
		}
	}
	call := c.dryRunChecks()[action]
	if call == nil {
		return PermissionUnknown, nil
	}
	err := call(ctx)
	if sdk.Code(err) == "DryRunOperation" {
		return PermissionGranted, nil
	} else if p, err := permissionOf(err); p == PermissionRefused {
		return p, err
	}
	return PermissionUnknown, nil // AWS checked the values before the permission
}

// permissionOf returns whether a read call that returned err is permitted, denied or unknown. If it is not permitted, it
// also returns an error.
func permissionOf(err error) (Permission, error) {
	switch {
	case err == nil:
		return PermissionGranted, nil
	case sdk.Code(err) == "", failure.IsUnanswered(err), sdk.ClassOf(err) == failure.Throttled:
		return PermissionUnknown, err // AWS may not have checked the permission
	case sdk.ClassOf(err) == failure.Denied:
		return PermissionRefused, err
	}
	return PermissionGranted, nil // AWS checked the IDs, which do not exist, after the permission
}

// Partition returns the AWS partition of the region, such as "aws-cn".
func (c *Checker) Partition() string { return services.Partition(c.Config.Region) }

// IsDenied reports whether an error means that the caller lacks a permission.
func IsDenied(err error) bool { return sdk.ClassOf(err) == failure.Denied }

// nonexistentARN returns an ARN for which no resource exists. The account in the ARN is 000000000000.
func (c *Checker) nonexistentARN(service, resource string) *string {
	return aws.String(fmt.Sprintf("arn:%s:%s:%s:000000000000:%s", c.Partition(), service, c.Config.Region, resource))
}

// readChecks returns calls that read resources, by the IAM action that each call needs.
func (c *Checker) readChecks() map[string]func(context.Context) error {
	balancer := c.nonexistentARN("elasticloadbalancing", "loadbalancer/app/none/0000000000000000")
	listener := c.nonexistentARN("elasticloadbalancing", "listener/app/none/0000000000000000/0000000000000000")
	group := c.nonexistentARN("elasticloadbalancing", "targetgroup/none/0000000000000000")
	certificate := c.nonexistentARN("acm", "certificate/00000000-0000-0000-0000-000000000000")
	return map[string]func(context.Context) error{
		"acm:ListCertificates": func(ctx context.Context) error {
			return errorOf(c.API.ACM.ListCertificates(ctx, &acm.ListCertificatesInput{MaxItems: aws.Int32(1)}))
		},
		"acm:ListTagsForCertificate": func(ctx context.Context) error {
			return errorOf(c.API.ACM.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: certificate}))
		},
		"acm:DescribeCertificate": func(ctx context.Context) error {
			return errorOf(c.API.ACM.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: certificate}))
		},
		"ec2:DescribeAvailabilityZones": func(ctx context.Context) error {
			return errorOf(c.API.EC2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{}))
		},
		"ec2:DescribeInstances": func(ctx context.Context) error {
			return errorOf(c.API.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{MaxResults: aws.Int32(5)}))
		},
		"ec2:DescribeNetworkInterfaces": func(ctx context.Context) error {
			return errorOf(c.API.EC2.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{MaxResults: aws.Int32(5)}))
		},
		"ec2:DescribeRouteTables": func(ctx context.Context) error {
			return errorOf(c.API.EC2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{MaxResults: aws.Int32(5)}))
		},
		"ec2:DescribeSecurityGroups": func(ctx context.Context) error {
			return errorOf(c.API.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{MaxResults: aws.Int32(5)}))
		},
		"ec2:DescribeSubnets": func(ctx context.Context) error {
			return errorOf(c.API.EC2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{MaxResults: aws.Int32(5)}))
		},
		"ec2:DescribeVpcs": func(ctx context.Context) error {
			return errorOf(c.API.EC2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{c.VPC}}))
		},
		"elasticloadbalancing:DescribeCapacityReservation": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeCapacityReservation(ctx, &elb.DescribeCapacityReservationInput{LoadBalancerArn: balancer}))
		},
		"elasticloadbalancing:DescribeListenerAttributes": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeListenerAttributes(ctx, &elb.DescribeListenerAttributesInput{ListenerArn: listener}))
		},
		"elasticloadbalancing:DescribeListenerCertificates": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeListenerCertificates(ctx, &elb.DescribeListenerCertificatesInput{ListenerArn: listener}))
		},
		"elasticloadbalancing:DescribeListeners": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeListeners(ctx, &elb.DescribeListenersInput{LoadBalancerArn: balancer}))
		},
		"elasticloadbalancing:DescribeLoadBalancerAttributes": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: balancer}))
		},
		"elasticloadbalancing:DescribeLoadBalancers": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(1)}))
		},
		"elasticloadbalancing:DescribeRules": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeRules(ctx, &elb.DescribeRulesInput{ListenerArn: listener}))
		},
		"elasticloadbalancing:DescribeTags": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: []string{*balancer}}))
		},
		"elasticloadbalancing:DescribeTargetGroupAttributes": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: group}))
		},
		"elasticloadbalancing:DescribeTargetGroups": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{PageSize: aws.Int32(1)}))
		},
		"elasticloadbalancing:DescribeTargetHealth": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: group}))
		},
		"elasticloadbalancing:DescribeTrustStores": func(ctx context.Context) error {
			return errorOf(c.API.ELB.DescribeTrustStores(ctx, &elb.DescribeTrustStoresInput{PageSize: aws.Int32(1)}))
		},
		"shield:GetSubscriptionState": func(ctx context.Context) error {
			return errorOf(c.API.Shield.GetSubscriptionState(ctx, &shield.GetSubscriptionStateInput{}))
		},
		"waf-regional:GetWebACLForResource": func(ctx context.Context) error {
			return errorOf(c.API.WAF.GetWebACLForResource(ctx, &wafregional.GetWebACLForResourceInput{ResourceArn: balancer}))
		},
		"wafv2:GetWebACLForResource": func(ctx context.Context) error {
			return errorOf(c.API.WAFv2.GetWebACLForResource(ctx, &wafv2.GetWebACLForResourceInput{ResourceArn: balancer}))
		},
		"wafv2:ListWebACLs": func(ctx context.Context) error {
			return errorOf(c.API.WAFv2.ListWebACLs(ctx, &wafv2.ListWebACLsInput{Scope: wafv2types.ScopeRegional, Limit: aws.Int32(1)}))
		},
	}
}

func errorOf[T any](_ T, err error) error { return err }

// dryRunChecks returns dry runs of EC2 calls, by the IAM action that each call needs. The calls are made without fencing,
// because the fence cannot distinguish a dry run from a change.
func (c *Checker) dryRunChecks() map[string]func(context.Context) error {
	api := c.UnfencedClients().EC2
	tag := ec2types.Tag{Key: aws.String(naming.ClusterTag), Value: aws.String(c.Config.Cluster)}
	ours := func(ctx context.Context) (*string, error) {
		out, err := api.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{sdk.Filter("tag:"+naming.ClusterTag, c.Config.Cluster)}, MaxResults: aws.Int32(5)})
		if err != nil || len(out.SecurityGroups) == 0 {
			return nil, errors.Join(err, errNoSecurityGroup)
		}
		return out.SecurityGroups[0].GroupId, nil
	}
	permissions := []ec2types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(1), ToPort: aws.Int32(1),
		IpRanges: []ec2types.IpRange{{CidrIp: aws.String("192.0.2.1/32")}},
	}}
	onOwn := func(call func(ctx context.Context, id *string) error) func(context.Context) error {
		return func(ctx context.Context) error {
			id, err := ours(ctx)
			if err != nil {
				return err
			}
			return call(ctx, id)
		}
	}
	return map[string]func(context.Context) error{
		"ec2:CreateSecurityGroup": func(ctx context.Context) error {
			return errorOf(api.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
				DryRun: aws.Bool(true), GroupName: aws.String("fulcrum-doctor"), Description: aws.String("dry run"), VpcId: aws.String(c.VPC),
				TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: []ec2types.Tag{tag}}},
			}))
		},
		"ec2:AuthorizeSecurityGroupIngress": onOwn(func(ctx context.Context, id *string) error {
			return errorOf(api.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{DryRun: aws.Bool(true), GroupId: id, IpPermissions: permissions}))
		}),
		"ec2:RevokeSecurityGroupIngress": onOwn(func(ctx context.Context, id *string) error {
			return errorOf(api.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{DryRun: aws.Bool(true), GroupId: id, IpPermissions: permissions}))
		}),
		"ec2:DeleteSecurityGroup": onOwn(func(ctx context.Context, id *string) error {
			return errorOf(api.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{DryRun: aws.Bool(true), GroupId: id}))
		}),
		"ec2:CreateTags": onOwn(func(ctx context.Context, id *string) error {
			return errorOf(api.CreateTags(ctx, &ec2.CreateTagsInput{DryRun: aws.Bool(true), Resources: []string{*id}, Tags: []ec2types.Tag{{Key: aws.String("fulcrum-doctor"), Value: aws.String("dry run")}}}))
		}),
		"ec2:DeleteTags": onOwn(func(ctx context.Context, id *string) error {
			return errorOf(api.DeleteTags(ctx, &ec2.DeleteTagsInput{DryRun: aws.Bool(true), Resources: []string{*id}, Tags: []ec2types.Tag{{Key: aws.String("fulcrum-doctor")}}}))
		}),
	}
}

var errNoSecurityGroup = errors.New("the cluster has no security group with which to check the permission")
