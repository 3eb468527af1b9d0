// Package inspect reads the resources that controllers create in the AWS of a local world, through the AWS API. It does not
// change them.
package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
)

// Inspector reads the resources of an AWS account in one region and VPC.
type Inspector struct {
	elb *elb.Client
	ec2 *ec2.Client
	ga  *ga.Client
	acm *acm.Client
	vpc string
}

// New returns an Inspector for the account and region of cfg. vpc is the ID of the VPC.
func New(cfg aws.Config, vpc string) *Inspector {
	home := func(o *ga.Options) { o.Region = acceleratorRegion }
	return &Inspector{elb: elb.NewFromConfig(cfg), ec2: ec2.NewFromConfig(cfg), ga: ga.NewFromConfig(cfg, home), acm: acm.NewFromConfig(cfg), vpc: vpc}
}

// Inventory is a sorted list of resources, with a line such as "target group k8s-shop-web" for each.
type Inventory []string

// Minus returns the lines of i that are not in other.
func (i Inventory) Minus(other Inventory) Inventory {
	var out Inventory
	for _, line := range i {
		if !slices.Contains(other, line) {
			out = append(out, line)
		}
	}
	return out
}

// Inventory lists the accelerators, and the load balancers, target groups and certificates of the region. It also lists the
// security groups of the VPC with their inbound rules, and the ENIs in the VPC that AWS manages.
func (in *Inspector) Inventory(ctx context.Context) (Inventory, error) {
	var out Inventory
	for _, part := range []func(context.Context) (Inventory, error){
		in.accelerators, in.loadBalancers, in.targetGroups, in.certificates, in.securityGroups, in.enis,
	} {
		lines, err := part(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	slices.Sort(out)
	return out, nil
}

func (in *Inspector) loadBalancers(ctx context.Context) (Inventory, error) {
	var out Inventory
	pages := elb.NewDescribeLoadBalancersPaginator(in.elb, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, l := range page.LoadBalancers {
			out = append(out, "load balancer "+aws.ToString(l.LoadBalancerName))
		}
	}
	return out, nil
}

func (in *Inspector) targetGroups(ctx context.Context) (Inventory, error) {
	var out Inventory
	pages := elb.NewDescribeTargetGroupsPaginator(in.elb, &elb.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range page.TargetGroups {
			out = append(out, "target group "+aws.ToString(g.TargetGroupName))
		}
	}
	return out, nil
}

// certificates lists the certificates in ACM. By default, ACM lists only certificates with RSA keys of 1,024 or 2,048 bits,
// so the request names all key types.
func (in *Inspector) certificates(ctx context.Context) (Inventory, error) {
	var out Inventory
	all := &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()}
	pages := acm.NewListCertificatesPaginator(in.acm, &acm.ListCertificatesInput{Includes: all})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range page.CertificateSummaryList {
			out = append(out, "certificate "+aws.ToString(c.DomainName)+" "+aws.ToString(c.CertificateArn))
		}
	}
	return out, nil
}

func (in *Inspector) vpcFilter() []ec2types.Filter {
	return []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{in.vpc}}}
}

func (in *Inspector) securityGroups(ctx context.Context) (Inventory, error) {
	var out Inventory
	pages := ec2.NewDescribeSecurityGroupsPaginator(in.ec2, &ec2.DescribeSecurityGroupsInput{Filters: in.vpcFilter()})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range page.SecurityGroups {
			name := aws.ToString(g.GroupName)
			if name == acceleratorSecurityGroup { // AWS creates it for the ENIs of accelerators and never deletes it
				continue
			}
			out = append(out, "security group "+name)
			for _, p := range g.IpPermissions {
				for _, source := range permissionSources(p) {
					out = append(out, fmt.Sprintf("rule of security group %s: %s %d-%d from %s", name,
						aws.ToString(p.IpProtocol), aws.ToInt32(p.FromPort), aws.ToInt32(p.ToPort), source))
				}
			}
		}
	}
	return out, nil
}

func permissionSources(p ec2types.IpPermission) []string {
	var out []string
	for _, r := range p.IpRanges {
		out = append(out, aws.ToString(r.CidrIp))
	}
	for _, r := range p.Ipv6Ranges {
		out = append(out, aws.ToString(r.CidrIpv6))
	}
	for _, r := range p.PrefixListIds {
		out = append(out, aws.ToString(r.PrefixListId))
	}
	for _, r := range p.UserIdGroupPairs {
		out = append(out, aws.ToString(r.GroupId))
	}
	return out
}

func (in *Inspector) enis(ctx context.Context) (Inventory, error) {
	var out Inventory
	pages := ec2.NewDescribeNetworkInterfacesPaginator(in.ec2, &ec2.DescribeNetworkInterfacesInput{Filters: in.vpcFilter()})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range page.NetworkInterfaces {
			if aws.ToBool(e.RequesterManaged) {
				out = append(out, "network interface "+aws.ToString(e.Description)+" in "+aws.ToString(e.AvailabilityZone))
			}
		}
	}
	return out, nil
}

// Target is one target of a target group.
type Target struct {
	ID     string // an IP address or an instance ID
	Port   int
	State  string // healthy, initial, draining, …
	Reason string
}

func (t Target) String() string {
	s := fmt.Sprintf("%s:%d %s", t.ID, t.Port, t.State)
	if t.Reason != "" {
		s += " (" + t.Reason + ")"
	}
	return s
}

// Targets returns the targets of the target groups with these ARNs, sorted by ID and port.
func (in *Inspector) Targets(ctx context.Context, arns []string) ([]Target, error) {
	var out []Target
	for _, arn := range arns {
		health, err := in.elb.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: aws.String(arn)})
		if err != nil {
			return nil, err
		}
		for _, h := range health.TargetHealthDescriptions {
			t := Target{ID: aws.ToString(h.Target.Id), Port: int(aws.ToInt32(h.Target.Port))}
			if h.TargetHealth != nil {
				t.State, t.Reason = string(h.TargetHealth.State), string(h.TargetHealth.Reason)
			}
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Port, b.Port)) })
	return out, nil
}
