package cloud

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// legacyClusterTag marks resources of the first generation of controllers.
const legacyClusterTag = "ingress.k8s.aws/cluster"

// ours says whether tags mark a resource of the cluster.
func (c *Cloud) ours(tags map[string]string) bool {
	return tags[naming.ClusterTag] == c.cfg.Cluster || tags[legacyClusterTag] == c.cfg.Cluster
}

// list makes sure that it is known which load balancers, target groups and security groups there
// are, and whose they are. It reads what is not known, too old, or older than since, once for all
// who ask. The security groups are optional: load balancers serve, and their rules can be changed,
// while EC2 does not answer. So is the tagging service, which only spares calls.
func (c *Cloud) list(ctx context.Context, since time.Time, faults faults) error {
	kinds := []listing{
		{"load balancers", &c.inv.lbsAt, c.listLoadBalancers},
		{"target groups", &c.inv.groupsAt, c.listTargetGroups},
	}
	for _, k := range kinds {
		if err := c.refresh(ctx, k, since, c.essential); err != nil {
			return fmt.Errorf("list %s: %w", k.key, err)
		}
	}
	groups := model.AskSecurityGroups{}
	err := c.refresh(ctx, listing{groups.Key(), &c.inv.sgsAt, c.listSecurityGroups}, since, c.optional)
	if err := faults.note(groups, err); err != nil {
		return fmt.Errorf("list security groups: %w", err)
	}
	if c.cfg.TaggingAPI {
		err := c.refresh(ctx, listing{tagsListed, &c.inv.taggedAt, c.listTagged}, since, c.optional)
		if err != nil && faultIn(err) == nil {
			return fmt.Errorf("list %s: %w", tagsListed, err)
		}
	}
	if len(c.untagged()) == 0 {
		return nil
	}
	// By its tags it is known who owns a resource: essential.
	return c.essential(ctx, "tags", func() error { return c.readTags(ctx, c.untagged()) })
}

// tagsListed is the key of what the tagging service lists.
const tagsListed = "tagged resources"

// listing is one list of the inventory.
type listing struct {
	key  string
	at   *time.Time // of the last reading, under the lock of the inventory
	read func(context.Context) error
}

// refresh reads a list that is not fresh, once for all who ask at the same time.
func (c *Cloud) refresh(ctx context.Context, l listing, since time.Time, once func(context.Context, string, func() error) error) error {
	stale := func() (out bool) {
		c.inv.with(func() { out = !c.fresh(*l.at, l.key) || l.at.Before(since) })
		return out
	}
	if !stale() {
		return nil
	}
	return once(ctx, l.key, func() error {
		if !stale() {
			return nil
		}
		return l.read(ctx)
	})
}

func (c *Cloud) listLoadBalancers(ctx context.Context) error {
	start := c.cfg.Now()
	seen, created := map[string]observed.LoadBalancer{}, map[string]time.Time{}
	pages := elb.NewDescribeLoadBalancersPaginator(c.api.elb, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, lb := range page.LoadBalancers {
			x := loadBalancerFromAWS(lb)
			seen[x.ARN], created[x.ARN] = x, aws.ToTime(lb.CreatedTime)
		}
	}
	v := c.inv
	v.with(func() {
		for arn, x := range seen {
			v.setAccount(arn)
			e := v.lbs[arn]
			switch {
			case v.isBuried(arn, start):
				continue
			case e == nil:
				v.lbs[arn] = &lbEntry{lb: x, created: created[arn]}
			case !e.written.After(start):
				x.Tags, x.Attributes, x.Capacity = e.lb.Tags, e.lb.Attributes, e.lb.Capacity
				e.lb = x
			}
		}
		for arn, e := range v.lbs {
			if _, ok := seen[arn]; !ok && start.Sub(e.made) > grace {
				v.dropLoadBalancer(arn)
			}
		}
		v.lbsAt, v.tagsDue = start, true
	})
	return nil
}

func (c *Cloud) listTargetGroups(ctx context.Context) error {
	start := c.cfg.Now()
	type group struct {
		g   observed.TargetGroup
		vpc string
	}
	seen := map[string]group{}
	pages := elb.NewDescribeTargetGroupsPaginator(c.api.elb, &elb.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, g := range page.TargetGroups {
			seen[aws.ToString(g.TargetGroupArn)] = group{targetGroupFromAWS(g), aws.ToString(g.VpcId)}
		}
	}
	v := c.inv
	v.with(func() {
		for arn, x := range seen {
			v.setAccount(arn)
			e := v.groups[arn]
			switch {
			case v.isBuried(arn, start):
				continue
			case e == nil:
				v.groups[arn] = &groupEntry{g: x.g, vpc: x.vpc}
			case !e.written.After(start):
				x.g.Tags, x.g.Attributes = e.g.Tags, e.g.Attributes
				e.g, e.vpc = x.g, x.vpc
			}
		}
		for arn, e := range v.groups {
			if _, ok := seen[arn]; !ok && start.Sub(e.made) > grace {
				delete(v.groups, arn)
			}
		}
		v.groupsAt, v.tagsDue = start, true
	})
	return nil
}

// setAccount learns the account from an ARN.
func (v *inventory) setAccount(arn string) {
	if v.account != "" {
		return
	}
	if part := strings.SplitN(arn, ":", 6); len(part) == 6 {
		v.account = part[4]
	}
}

// listSecurityGroups reads all groups of the cluster, the shared backend group among them.
func (c *Cloud) listSecurityGroups(ctx context.Context) error {
	start := c.cfg.Now()
	seen := map[string]observed.SecurityGroup{}
	pages := ec2.NewDescribeSecurityGroupsPaginator(c.api.ec2, &ec2.DescribeSecurityGroupsInput{
		Filters: append(filters("vpc-id", c.vpc), filter("tag-key", naming.ClusterTag, legacyClusterTag)),
	})
	for pages.HasMorePages() {
		page, err := brief(ctx, func(ctx context.Context) (*ec2.DescribeSecurityGroupsOutput, error) { return pages.NextPage(ctx) })
		if err != nil {
			return err
		}
		for _, g := range page.SecurityGroups {
			if x := groupFromAWS(g); c.ours(x.Tags) {
				seen[x.ID] = x
			}
		}
	}
	v := c.inv
	v.with(func() {
		for id, x := range seen {
			e := v.sgs[id]
			switch {
			case v.isBuried(id, start):
				continue
			case e == nil:
				v.sgs[id] = &sgEntry{g: x}
			case !e.written.After(start):
				e.g = x
			}
		}
		for id, e := range v.sgs {
			if _, ok := seen[id]; !ok && start.Sub(e.made) > grace {
				delete(v.sgs, id)
			}
		}
		v.sgsAt = start
	})
	return nil
}
