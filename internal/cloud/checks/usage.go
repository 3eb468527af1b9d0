package checks

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Usage is the usage of one quota.
type Usage struct {
	// Name is the name of the quota in AWS.
	Name string
	// Resource is the resource with the highest usage if AWS applies the quota to each resource, such as each load balancer.
	// It is empty if the quota applies to the account.
	Resource string
	// Used is the usage, and Limit the value of the quota.
	Used, Limit int
	// IsDefault reports whether Limit is the default of a new account, because the controller has no permission to read the
	// current value.
	IsDefault bool
}

// maxUsageCalls is the approximate maximum number of calls that read single accelerators. Half of this number is the maximum
// for calls that read single target groups, and also for calls that read single load balancers.
const maxUsageCalls = 400

// rulesPerSecurityGroup is the default quota of rules per security group.
const rulesPerSecurityGroup = 60

// ReadUsage reads the quotas that the controller can exceed, and their current usage by the account and by the resources of
// the cluster. The result is sorted by name. notRead is the number of load balancers and target groups that were not read.
func (c *Checker) ReadUsage(ctx context.Context) (used []Usage, notRead int, err error) {
	u := &usageCounter{checker: c, highest: map[string]Usage{}}
	if err := u.readLimits(ctx); err != nil {
		return nil, 0, err
	}
	all, err := c.cloud.Resources(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := u.countResources(ctx, all); err != nil {
		return nil, 0, err
	}
	return u.sortedUsage(), u.notRead, nil
}

// usageCounter counts how much of the quotas is in use.
type usageCounter struct {
	checker *Checker
	limits  map[string]int   // the quotas that AWS returns, by name
	highest map[string]Usage // the highest usage of each quota, by name
	calls   int
	notRead int // the number of resources that were not read
}

func (u *usageCounter) readLimits(ctx context.Context) error {
	u.limits = map[string]int{}
	for out, err := range sdk.Pages(ctx, elb.NewDescribeAccountLimitsPaginator(u.checker.API.ELB, &elb.DescribeAccountLimitsInput{PageSize: aws.Int32(100)})) {
		if err != nil {
			return err
		}
		for _, l := range out.Limits {
			limit := 0
			if _, err := fmt.Sscan(aws.ToString(l.Max), &limit); err == nil {
				u.limits[aws.ToString(l.Name)] = limit
			}
		}
	}
	return nil
}

// recordUsage records that a resource uses n of a quota, if AWS returned the value of the quota.
func (u *usageCounter) recordUsage(quota, resource string, n int) {
	if limit, ok := u.limits[quota]; ok {
		u.recordHighest(Usage{Name: quota, Resource: resource, Used: n, Limit: limit})
	}
}

// recordHighest records a usage if it is higher than the recorded usage of the same quota. If both are equal, it keeps the
// usage whose resource name is first in alphabetical order.
func (u *usageCounter) recordHighest(x Usage) {
	if old, ok := u.highest[x.Name]; !ok || x.Used > old.Used || x.Used == old.Used && x.Resource < old.Resource {
		u.highest[x.Name] = x
	}
}

// sortedUsage returns the highest usage of each quota, sorted by name.
func (u *usageCounter) sortedUsage() []Usage {
	return slices.SortedFunc(maps.Values(u.highest), func(a, b Usage) int { return strings.Compare(a.Name, b.Name) })
}

// countResources counts the load balancers and target groups of the account. It also counts the listeners, certificates,
// rules and targets of the load balancers and target groups that the cluster owns.
func (u *usageCounter) countResources(ctx context.Context, all cloud.Resources) error {
	count := map[string]int{}
	for _, lb := range all.LoadBalancers {
		count[lb.Type]++
	}
	balancers := slices.DeleteFunc(slices.Clone(all.LoadBalancers), func(lb observed.LoadBalancer) bool { return !u.checker.cloud.Owns(lb.Tags) })
	groups := slices.DeleteFunc(slices.Clone(all.TargetGroups), func(g observed.TargetGroup) bool { return !u.checker.cloud.Owns(g.Tags) })
	u.recordUsage("application-load-balancers", "", count[model.Application.String()])
	u.recordUsage("network-load-balancers", "", count[model.Network.String()])
	u.recordUsage("target-groups", "", len(all.TargetGroups))
	slices.SortFunc(balancers, func(a, b observed.LoadBalancer) int { return strings.Compare(a.ARN, b.ARN) })
	slices.SortFunc(groups, func(a, b observed.TargetGroup) int { return strings.Compare(a.ARN, b.ARN) })
	targets, err := u.countTargetGroups(ctx, groups)
	if err != nil {
		return err
	}
	if err := u.countLoadBalancers(ctx, balancers, groups, targets); err != nil {
		return err
	}
	return u.countSecurityGroupRules(ctx, all.SecurityGroups)
}

// countTargetGroups counts the targets of each target group, and returns the number of targets of each load balancer, by ARN
// of the load balancer.
func (u *usageCounter) countTargetGroups(ctx context.Context, groups []observed.TargetGroup) (perLoadBalancer map[string]int, err error) {
	perLoadBalancer = map[string]int{}
	for _, g := range groups {
		if u.calls++; u.calls > maxUsageCalls/2 {
			u.notRead++
			continue
		}
		out, err := u.checker.API.ELB.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: aws.String(g.ARN)})
		if sdk.ClassOf(err) == failure.Gone {
			continue // the target group was deleted after the list was read
		}
		if err != nil {
			return nil, err
		}
		n := len(out.TargetHealthDescriptions)
		u.recordUsage("targets-per-target-group", g.Name, n)
		for _, lb := range g.LoadBalancers {
			perLoadBalancer[lb] += n
		}
	}
	return perLoadBalancer, nil
}

func (u *usageCounter) countLoadBalancers(ctx context.Context, balancers []observed.LoadBalancer, groups []observed.TargetGroup, targets map[string]int) error {
	inUse := map[string]int{}
	for _, g := range groups {
		for _, lb := range g.LoadBalancers {
			inUse[lb]++
		}
	}
	u.calls = 0
	for _, lb := range balancers {
		kind := "application-load-balancer"
		if lb.Type == model.Network.String() {
			kind = "network-load-balancer"
		}
		u.recordUsage("targets-per-"+kind, lb.Name, targets[lb.ARN])
		u.recordUsage("target-groups-per-"+kind, lb.Name, inUse[lb.ARN])
		if u.calls >= maxUsageCalls/2 {
			u.notRead++
			continue
		}
		if err := u.countListeners(ctx, lb, kind); err != nil && sdk.ClassOf(err) != failure.Gone {
			return err
		}
	}
	return nil
}

// countListeners counts the listeners, rules and certificates of a load balancer, without default rules and default
// certificates.
func (u *usageCounter) countListeners(ctx context.Context, lb observed.LoadBalancer, kind string) error {
	var all []elbtypes.Listener
	for page, err := range countedPages(ctx, u, elb.NewDescribeListenersPaginator(u.checker.API.ELB, &elb.DescribeListenersInput{LoadBalancerArn: aws.String(lb.ARN)})) {
		if err != nil {
			return err
		}
		all = append(all, page.Listeners...)
	}
	rules, certificates := 0, 0
	for _, l := range all {
		if lb.Type == model.Application.String() {
			for page, err := range countedPages(ctx, u, elb.NewDescribeRulesPaginator(u.checker.API.ELB, &elb.DescribeRulesInput{ListenerArn: l.ListenerArn, PageSize: aws.Int32(400)})) {
				if err != nil {
					return err
				}
				rules += countIf(page.Rules, func(r elbtypes.Rule) bool { return !aws.ToBool(r.IsDefault) })
			}
		}
		if len(l.Certificates) > 0 {
			for page, err := range countedPages(ctx, u, elb.NewDescribeListenerCertificatesPaginator(u.checker.API.ELB, &elb.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn, PageSize: aws.Int32(400)})) {
				if err != nil {
					return err
				}
				certificates += countIf(page.Certificates, func(x elbtypes.Certificate) bool { return !aws.ToBool(x.IsDefault) })
			}
		}
	}
	u.recordUsage("listeners-per-"+kind, lb.Name, len(all))
	u.recordUsage("rules-per-"+kind, lb.Name, rules)
	u.recordUsage("certificates-per-"+kind, lb.Name, certificates)
	return nil
}

// countedPages returns the pages of a list, as sdk.Pages does, and counts each call in u.
func countedPages[P, O any](ctx context.Context, u *usageCounter, p sdk.Paginator[P, O]) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for page, err := range sdk.Pages(ctx, p) {
			if u.calls++; !yield(page, err) {
				return
			}
		}
	}
}

// countIf returns the number of elements for which is returns true.
func countIf[T any](list []T, is func(T) bool) (n int) {
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

// countSecurityGroupRules counts the rules of the security groups of the cluster, its nodes and its pods. AWS counts rules
// with an IPv4 range and rules with an IPv6 range separately. Each other rule counts for both.
func (u *usageCounter) countSecurityGroupRules(ctx context.Context, own []string) error {
	groups, err := u.checker.cloud.EndpointSecurityGroups(ctx, own, 0)
	if err != nil {
		return err
	}
	for _, g := range groups {
		ipv4, ipv6 := 0, 0
		for _, r := range g.Ingress {
			isIPv6 := strings.Contains(r.CIDR, ":")
			if r.CIDR == "" || !isIPv6 {
				ipv4++
			}
			if r.CIDR == "" || isIPv6 {
				ipv6++
			}
		}
		u.recordHighest(Usage{Name: "rules-per-security-group", Resource: g.ID, Used: max(ipv4, ipv6), Limit: rulesPerSecurityGroup, IsDefault: true})
	}
	return nil
}
