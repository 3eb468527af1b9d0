package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Usage is how much of a quota is in use.
type Usage struct {
	// Name of the quota, as AWS has it.
	Name string
	// Of is what has used most of it, for a quota that each load balancer, target group or security group has; empty for
	// one of the account.
	Of         string
	Used, Most int
	// Default: Most is what AWS gives a new account. The permissions of the controller do not cover the present value.
	Default bool
}

// mostUsageCalls bounds the calls that look at load balancers and target groups one by one.
const mostUsageCalls = 400

// rulesPerGroup is AWS's default quota of the rules of a security group.
const rulesPerGroup = 60

// Usage reads the quotas that the controller can run into, and what of them is in use: in the account, and by what carries
// the tag of the cluster. It returns how many load balancers and target groups were not looked at.
func (c *Checker) Usage(ctx context.Context) (used []Usage, unseen int, err error) {
	u := &usageOf{c: c, most: map[string]Usage{}}
	if err := u.limits(ctx); err != nil {
		return nil, 0, err
	}
	all, err := c.cloud.Resources(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := u.countResources(ctx, all); err != nil {
		return nil, 0, err
	}
	for _, l := range u.most {
		used = append(used, l)
	}
	slices.SortFunc(used, func(a, b Usage) int { return strings.Compare(a.Name, b.Name) })
	return used, u.unseen, nil
}

// usageOf gathers how much is in use.
type usageOf struct {
	c      *Checker
	max    map[string]int
	most   map[string]Usage
	calls  int
	unseen int
}

func (u *usageOf) limits(ctx context.Context) error {
	u.max = map[string]int{}
	pages := elb.NewDescribeAccountLimitsPaginator(u.c.API.ELB, &elb.DescribeAccountLimitsInput{PageSize: aws.Int32(100)})
	for range 5 {
		if !pages.HasMorePages() {
			break
		}
		out, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, l := range out.Limits {
			most := 0
			if _, err := fmt.Sscan(aws.ToString(l.Max), &most); err == nil {
				u.max[aws.ToString(l.Name)] = most
			}
		}
	}
	return nil
}

// noteUsage keeps the fullest of what has a quota, if AWS returns its value.
func (u *usageOf) noteUsage(quota, of string, n int) {
	if most, ok := u.max[quota]; ok {
		u.keep(Usage{Name: quota, Of: of, Used: n, Most: most})
	}
}

func (u *usageOf) keep(x Usage) {
	if old, ok := u.most[x.Name]; !ok || x.Used > old.Used || x.Used == old.Used && x.Of < old.Of {
		u.most[x.Name] = x
	}
}

// countResources counts what there is, and looks at what carries the tag of the cluster.
func (u *usageOf) countResources(ctx context.Context, all cloud.Resources) error {
	count := map[string]int{}
	for _, lb := range all.LoadBalancers {
		count[lb.Type]++
	}
	balancers := slices.DeleteFunc(slices.Clone(all.LoadBalancers), func(lb observed.LoadBalancer) bool { return !u.c.cloud.Owns(lb.Tags) })
	groups := slices.DeleteFunc(slices.Clone(all.TargetGroups), func(g observed.TargetGroup) bool { return !u.c.cloud.Owns(g.Tags) })
	u.noteUsage("application-load-balancers", "", count[model.Application.String()])
	u.noteUsage("network-load-balancers", "", count[model.Network.String()])
	u.noteUsage("target-groups", "", len(all.TargetGroups))
	slices.SortFunc(balancers, func(a, b observed.LoadBalancer) int { return strings.Compare(a.ARN, b.ARN) })
	slices.SortFunc(groups, func(a, b observed.TargetGroup) int { return strings.Compare(a.ARN, b.ARN) })
	targets, err := u.targetGroups(ctx, groups)
	if err != nil {
		return err
	}
	if err := u.loadBalancers(ctx, balancers, groups, targets); err != nil {
		return err
	}
	return u.rules(ctx, all.SecurityGroups)
}

// targetGroups counts the targets of target groups, and of all target groups of a load balancer.
func (u *usageOf) targetGroups(ctx context.Context, groups []observed.TargetGroup) (of map[string]int, err error) {
	of = map[string]int{}
	for _, g := range groups {
		if u.calls++; u.calls > mostUsageCalls/2 {
			u.unseen++
			continue
		}
		out, err := u.c.API.ELB.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: aws.String(g.ARN)})
		if sdk.ClassOf(err) == failure.Gone {
			continue // deleted since the list
		}
		if err != nil {
			return nil, err
		}
		n := len(out.TargetHealthDescriptions)
		u.noteUsage("targets-per-target-group", g.Name, n)
		for _, lb := range g.LoadBalancers {
			of[lb] += n
		}
	}
	return of, nil
}

func (u *usageOf) loadBalancers(ctx context.Context, balancers []observed.LoadBalancer, groups []observed.TargetGroup, targets map[string]int) error {
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
		u.noteUsage("targets-per-"+kind, lb.Name, targets[lb.ARN])
		u.noteUsage("target-groups-per-"+kind, lb.Name, inUse[lb.ARN])
		if u.calls >= mostUsageCalls/2 {
			u.unseen++
			continue
		}
		if err := u.listeners(ctx, lb, kind); err != nil && sdk.ClassOf(err) != failure.Gone {
			return err
		}
	}
	return nil
}

// listeners counts the listeners, rules and certificates of a load balancer, without default rules and default certificates.
func (u *usageOf) listeners(ctx context.Context, lb observed.LoadBalancer, kind string) error {
	u.calls++
	out, err := u.c.API.ELB.DescribeListeners(ctx, &elb.DescribeListenersInput{LoadBalancerArn: aws.String(lb.ARN)})
	if err != nil {
		return err
	}
	rules, certificates := 0, 0
	for _, l := range out.Listeners {
		if lb.Type == model.Application.String() {
			u.calls++
			list, err := u.c.API.ELB.DescribeRules(ctx, &elb.DescribeRulesInput{ListenerArn: l.ListenerArn, PageSize: aws.Int32(400)})
			if err != nil {
				return err
			}
			for _, r := range list.Rules {
				if !aws.ToBool(r.IsDefault) {
					rules++
				}
			}
		}
		if len(l.Certificates) > 0 {
			u.calls++
			list, err := u.c.API.ELB.DescribeListenerCertificates(ctx, &elb.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn, PageSize: aws.Int32(400)})
			if err != nil {
				return err
			}
			for _, x := range list.Certificates {
				if !aws.ToBool(x.IsDefault) {
					certificates++
				}
			}
		}
	}
	u.noteUsage("listeners-per-"+kind, lb.Name, len(out.Listeners))
	u.noteUsage("rules-per-"+kind, lb.Name, rules)
	u.noteUsage("certificates-per-"+kind, lb.Name, certificates)
	return nil
}

// rules counts the rules of own security groups and of those of nodes and pods. AWS counts those of IPv4 and IPv6 apart, and
// others for both.
func (u *usageOf) rules(ctx context.Context, own []string) error {
	groups, err := u.c.cloud.EndpointGroups(ctx, own, 0)
	if err != nil {
		return err
	}
	for _, g := range groups {
		four, six := 0, 0
		for _, r := range g.Ingress {
			isSix := strings.Contains(r.CIDR, ":")
			if r.CIDR == "" || !isSix {
				four++
			}
			if r.CIDR == "" || isSix {
				six++
			}
		}
		u.keep(Usage{Name: "rules-per-security-group", Of: g.ID, Used: max(four, six), Most: rulesPerGroup, Default: true})
	}
	return nil
}
