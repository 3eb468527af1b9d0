package cases

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// Record has the AWS resources and the status of the objects of one or more cases, by section and key. Files with recordings
// have the same form.
type Record map[string]map[string]any

func (r Record) put(section, key string, value any) {
	if r[section] == nil {
		r[section] = map[string]any{}
	}
	r[section][key] = value
}

// Sections of a Record.
const (
	loadBalancersSection  = "LoadBalancers"
	targetGroupsSection   = "TargetGroups"
	securityGroupsSection = "SecurityGroups"
	bindingsSection       = "Bindings"
	objectsSection        = "Objects"
	eventsSection         = "Events"
)

// reader reads AWS and the cluster through the same APIs as the AWS CLI and kubectl.
type reader struct {
	t       *testing.T
	harness *harness.Harness
	elb     *elb.Client
	ec2     *ec2.Client
	wafv2   *wafv2.Client
	shield  *shield.Client

	names nameTable
	tags  map[string]map[string]string // tags by ARN of load balancers, listeners, rules and target groups
	out   Record
}

// ReadRecord returns a record of all resources that a controller has created.
func ReadRecord(t *testing.T, r *harness.Harness) Record {
	t.Helper()
	rd := newReader(t, r)
	rd.nameSubnets()
	groups := rd.managedSecurityGroups()
	lbs, tgs := rd.describeLoadBalancers(), rd.describeTargetGroups()
	for _, g := range groups {
		rd.recordSecurityGroup(g)
	}
	for _, lb := range lbs {
		rd.recordLoadBalancer(lb)
	}
	for _, tg := range tgs {
		rd.recordTargetGroup(tg)
	}
	rd.recordCluster()
	return rd.out
}

func newReader(t *testing.T, r *harness.Harness) *reader {
	cfg := harness.AWSConfig(r.Emulator)
	return &reader{
		t: t, harness: r, names: seededNames(r.Seeded), tags: map[string]map[string]string{},
		elb: elb.NewFromConfig(cfg), ec2: ec2.NewFromConfig(cfg), wafv2: wafv2.NewFromConfig(cfg), shield: shield.NewFromConfig(cfg),
		out: Record{bindingsSection: {}, objectsSection: {}, eventsSection: {}},
	}
}

// must returns out, and fails the test on an error.
func must[T any](t *testing.T, out T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stackKey returns "<stack>:<resource id>" from the tracking tags, or "" if there are no tracking tags.
func stackKey(tags map[string]string) string {
	for _, prefix := range []string{"ingress.k8s.aws/", "service.k8s.aws/", "gateway.k8s.aws.alb/", "gateway.k8s.aws.nlb/"} {
		if stack, id := tags[prefix+"stack"], tags[prefix+"resource"]; stack != "" && id != "" {
			return stack + ":" + id
		}
	}
	return ""
}

func (rd *reader) nameSubnets() {
	rd.t.Helper()
	pages := ec2.NewDescribeSubnetsPaginator(rd.ec2, &ec2.DescribeSubnetsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(rd.t.Context())
		for _, s := range must(rd.t, page, err).Subnets {
			for _, tag := range s.Tags {
				if aws.ToString(tag.Key) == "Name" {
					rd.names[aws.ToString(s.SubnetId)] = aws.ToString(tag.Value)
				}
			}
		}
	}
}

// managedSecurityGroups returns the security groups of the controller and adds their names to the name table.
func (rd *reader) managedSecurityGroups() []ec2types.SecurityGroup {
	rd.t.Helper()
	var out []ec2types.SecurityGroup
	pages := ec2.NewDescribeSecurityGroupsPaginator(rd.ec2, &ec2.DescribeSecurityGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(rd.t.Context())
		for _, g := range must(rd.t, page, err).SecurityGroups {
			tags := securityGroupTags(g)
			if tags["elbv2.k8s.aws/resource"] == "backend-sg" {
				rd.names[aws.ToString(g.GroupId)] = "sg:backend"
			}
			if key := stackKey(tags); key != "" {
				rd.names[aws.ToString(g.GroupId)] = "sg:" + key
				out = append(out, g)
			}
		}
	}
	return out
}

func securityGroupTags(g ec2types.SecurityGroup) map[string]string {
	tags := map[string]string{}
	for _, t := range g.Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags
}

func (rd *reader) describeLoadBalancers() (out []elbtypes.LoadBalancer) {
	rd.t.Helper()
	pages := elb.NewDescribeLoadBalancersPaginator(rd.elb, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(rd.t.Context())
		out = append(out, must(rd.t, page, err).LoadBalancers...)
	}
	arns := make([]string, len(out))
	for i, lb := range out {
		arns[i] = aws.ToString(lb.LoadBalancerArn)
	}
	rd.readTags(arns)
	for _, lb := range out {
		rd.names[aws.ToString(lb.LoadBalancerArn)] = "lb:" + stackKey(rd.tags[aws.ToString(lb.LoadBalancerArn)])
	}
	return out
}

func (rd *reader) describeTargetGroups() (out []elbtypes.TargetGroup) {
	rd.t.Helper()
	pages := elb.NewDescribeTargetGroupsPaginator(rd.elb, &elb.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(rd.t.Context())
		out = append(out, must(rd.t, page, err).TargetGroups...)
	}
	arns := make([]string, len(out))
	for i, tg := range out {
		arns[i] = aws.ToString(tg.TargetGroupArn)
	}
	rd.readTags(arns)
	for _, arn := range arns {
		if key := stackKey(rd.tags[arn]); key != "" {
			rd.names[arn] = "tg:" + key
		}
	}
	return out
}

// readTags fetches the tags of resources, twenty at a time.
func (rd *reader) readTags(arns []string) {
	rd.t.Helper()
	for len(arns) > 0 {
		n := min(len(arns), 20)
		out, err := rd.elb.DescribeTags(rd.t.Context(), &elb.DescribeTagsInput{ResourceArns: arns[:n]})
		for _, d := range must(rd.t, out, err).TagDescriptions {
			tags := map[string]string{}
			for _, t := range d.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			rd.tags[aws.ToString(d.ResourceArn)] = tags
		}
		arns = arns[n:]
	}
}

// recordSecurityGroup records a security group of the controller.
func (rd *reader) recordSecurityGroup(g ec2types.SecurityGroup) {
	rd.t.Helper()
	var ingress []string
	rule := func(p ec2types.IpPermission, source *string) {
		proto, from, to := aws.ToString(p.IpProtocol), aws.ToInt32(p.FromPort), aws.ToInt32(p.ToPort)
		ingress = append(ingress, strings.Join([]string{proto, recordedPort(from) + "-" + recordedPort(to), rd.names.nameOf(aws.ToString(source))}, " "))
	}
	for _, p := range g.IpPermissions {
		for _, r := range p.IpRanges {
			rule(p, r.CidrIp)
		}
		for _, r := range p.Ipv6Ranges {
			rule(p, r.CidrIpv6)
		}
		for _, r := range p.PrefixListIds {
			rule(p, r.PrefixListId)
		}
		for _, r := range p.UserIdGroupPairs {
			rule(p, r.GroupId)
		}
	}
	tags := securityGroupTags(g)
	out := toPlainMap(rd.t, map[string]any{
		"Name": nameWithoutUIDHash(aws.ToString(g.GroupName), tags), "Description": aws.ToString(g.Description), "Tags": tags,
	})
	out["Ingress"] = sortedStrings(ingress)
	rd.out.put(securityGroupsSection, stackKey(tags), out)
}
