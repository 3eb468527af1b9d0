package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

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
// are, and whose they are. It reads what is not known or too old, once for all who ask.
func (c *Cloud) list(ctx context.Context) error {
	kinds := []struct {
		key  string
		at   *time.Time
		read func(context.Context) error
	}{
		{"load balancers", &c.inv.lbsAt, c.listLoadBalancers},
		{"target groups", &c.inv.groupsAt, c.listTargetGroups},
		{"security groups", &c.inv.sgsAt, c.listSecurityGroups},
	}
	for _, k := range kinds {
		stale := func() (out bool) {
			c.inv.with(func() { out = !c.fresh(*k.at, k.key) })
			return out
		}
		if !stale() {
			continue
		}
		err := c.flight.do(ctx, k.key, func() error {
			if !stale() {
				return nil
			}
			return k.read(ctx)
		})
		if err != nil {
			return fmt.Errorf("list %s: %w", k.key, err)
		}
	}
	if len(c.untagged()) == 0 {
		return nil
	}
	return c.flight.do(ctx, "tags", func() error { return c.readTags(ctx, c.untagged()) })
}

func (c *Cloud) listLoadBalancers(ctx context.Context) error {
	start := c.cfg.Now()
	seen := map[string]observed.LoadBalancer{}
	pages := elb.NewDescribeLoadBalancersPaginator(c.api.elb, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, lb := range page.LoadBalancers {
			x := loadBalancerFromAWS(lb)
			seen[x.ARN] = x
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
				v.lbs[arn] = &lbEntry{lb: x}
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

// untagged are the load balancers and target groups of the VPC whose tags have to be read. Tags
// change more rarely than anything else, so they are kept for two periods and then read again
// together with others, to fill the batches.
func (c *Cloud) untagged() []string {
	var out []string
	c.inv.with(func() {
		due := c.inv.tagsDue
		wants := func(at time.Time, arn string) bool {
			return at.IsZero() || due && !c.fresh(at.Add(c.cfg.Refresh), arn)
		}
		for arn, e := range c.inv.lbs {
			if e.lb.VPC == c.vpc && wants(e.tagsAt, arn) {
				out = append(out, arn)
			}
		}
		for arn, e := range c.inv.groups {
			if e.vpc == c.vpc && wants(e.tagsAt, arn) {
				out = append(out, arn)
			}
		}
	})
	return out
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

// tagBatch is how many resources AWS tells the tags of in one call.
const tagBatch = 20

// readTags reads the tags of load balancers and target groups into the inventory.
func (c *Cloud) readTags(ctx context.Context, arns []string) error {
	slices.Sort(arns)
	start := c.cfg.Now()
	got, err := c.describeTags(ctx, arns)
	if err != nil {
		return err
	}
	c.inv.with(func() {
		c.inv.tagsDue = false
		for _, arn := range arns {
			tags, there := got[arn]
			if e := c.inv.lbs[arn]; e != nil && !e.written.After(start) {
				if !there && start.Sub(e.made) > grace {
					c.inv.dropLoadBalancer(arn)
					continue
				}
				e.lb.Tags, e.tagsAt = tags, start
			}
			if e := c.inv.groups[arn]; e != nil && !e.written.After(start) {
				if !there && start.Sub(e.made) > grace {
					delete(c.inv.groups, arn)
					continue
				}
				e.g.Tags, e.tagsAt = tags, start
			}
		}
	})
	return nil
}

// describeTags tells the tags of those resources that exist. One that does not makes AWS refuse
// the whole batch, which is then read in halves.
func (c *Cloud) describeTags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	var read func(batch []string) error
	read = func(batch []string) error {
		res, err := c.api.elb.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: batch})
		switch {
		case err == nil:
			for _, d := range res.TagDescriptions {
				out[aws.ToString(d.ResourceArn)] = tagsFromAWS(d.Tags)
			}
			return nil
		case !isGone(err):
			return err
		case len(batch) == 1:
			return nil
		}
		half := len(batch) / 2
		if err := read(batch[:half]); err != nil {
			return err
		}
		return read(batch[half:])
	}
	for batch := range slices.Chunk(arns, tagBatch) {
		if err := read(batch); err != nil {
			return nil, fmt.Errorf("read tags: %w", err)
		}
	}
	return out, nil
}

// listSecurityGroups reads all groups of the cluster, the shared backend group among them.
func (c *Cloud) listSecurityGroups(ctx context.Context) error {
	start := c.cfg.Now()
	seen := map[string]observed.SecurityGroup{}
	pages := ec2.NewDescribeSecurityGroupsPaginator(c.api.ec2, &ec2.DescribeSecurityGroupsInput{
		Filters: append(filters("vpc-id", c.vpc), filter("tag-key", naming.ClusterTag, legacyClusterTag)),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
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
