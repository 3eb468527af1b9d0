package cloud

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// reader reads AWS into the inventory.
type reader struct {
	*sdk.Client
	inv *inventory
}

// list makes sure that it is known which load balancers, target groups and security groups there
// are, and whose they are. It reads what is not known, too old, or older than since, once for all
// who ask. The security groups are optional: load balancers serve, and their rules can be changed,
// while EC2 does not answer. So is the tagging service, which only spares calls.
func (r *reader) list(ctx context.Context, since time.Time, faults faults) error {
	for _, k := range []listing{{"load balancers", &r.inv.lbsAt, r.listLoadBalancers}, r.targetGroups()} {
		if err := r.refresh(ctx, k, since, r.Essential); err != nil {
			return fmt.Errorf("list %s: %w", k.key, err)
		}
	}
	groups := model.AskSecurityGroups{}
	err := r.refresh(ctx, listing{groups.Key(), &r.inv.sgsAt, r.listSecurityGroups}, since, r.Optional)
	if err := faults.note(groups, err); err != nil {
		return fmt.Errorf("list security groups: %w", err)
	}
	if r.Config.TaggingAPI {
		err := r.refresh(ctx, listing{tagsListed, &r.inv.taggedAt, r.listTagged}, since, r.Optional)
		if err != nil && sdk.FaultOf(err) == nil {
			return fmt.Errorf("list %s: %w", tagsListed, err)
		}
	}
	if len(r.untagged()) == 0 {
		return nil
	}
	// By its tags it is known who owns a resource: essential.
	return r.Essential(ctx, "tags", func() error {
		err := r.readTags(ctx, r.untagged())
		if err == nil {
			r.inv.write(func() { r.inv.tagsDue = false })
		}
		return err
	})
}

// tagsListed is the key of what the tagging service lists.
const tagsListed = "tagged resources"

// listing is one list of the inventory.
type listing struct {
	key  string
	at   *time.Time // of the last reading, under the lock of the inventory
	read func(context.Context) error
}

// targetGroups is the list of the target groups of the region.
func (r *reader) targetGroups() listing {
	return listing{"target groups", &r.inv.groupsAt, r.listTargetGroups}
}

// refresh reads a list that is not fresh, once for all who ask at the same time.
func (r *reader) refresh(ctx context.Context, l listing, since time.Time, once func(context.Context, string, func() error) error) error {
	stale := func() (out bool) {
		r.inv.read(func() { out = !r.Fresh(l.at.Add(r.inv.took[l.key]), l.key) || l.at.IsZero() || l.at.Before(since) })
		return out
	}
	if !stale() {
		return nil
	}
	return once(ctx, l.key, func() error {
		if !stale() {
			return nil
		}
		start := r.Config.Now()
		err := l.read(ctx)
		if err == nil {
			r.inv.write(func() { r.inv.took[l.key] = worthOf * r.Config.Now().Sub(start) })
		}
		return err
	})
}

// worthOf is how many times longer a list is taken as so than it took to read. Where AWS is slow the lists would otherwise
// be old by the time that what is read besides is there, and be read again and again.
const worthOf = 4

func (r *reader) listLoadBalancers(ctx context.Context) error {
	start := r.Config.Now()
	seen := map[string]foundLoadBalancer{}
	pages := elb.NewDescribeLoadBalancersPaginator(r.API.ELB, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, lb := range page.LoadBalancers {
			seen[aws.ToString(lb.LoadBalancerArn)] = foundLoadBalancer{convert.LoadBalancerFromAWS(lb), aws.ToTime(lb.CreatedTime)}
		}
	}
	r.inv.write(func() {
		r.inv.enterLoadBalancers(seen, r.inv.lbs.ids(), start)
		r.inv.lbsAt, r.inv.tagsDue = start, true
	})
	return nil
}

// foundLoadBalancer is a load balancer as AWS describes it.
type foundLoadBalancer struct {
	lb      observed.LoadBalancer
	created time.Time
}

// enterLoadBalancers enters those that a reading since start has seen; those among the asked for that
// it has not seen are gone.
func (v *inventory) enterLoadBalancers(seen map[string]foundLoadBalancer, asked iter.Seq[string], start time.Time) {
	for arn, x := range seen {
		v.setAccount(arn)
		e := v.lbs.get(arn)
		switch {
		case v.hasTombstone(arn, start):
			continue
		case e == nil:
			v.lbs.put(arn, &lbEntry{lb: x.lb, at: start, created: x.created})
		case !e.written.After(start):
			x.lb.Tags, x.lb.Attributes, x.lb.Capacity = e.lb.Tags, e.lb.Attributes, e.lb.Capacity
			v.foreign.loadBalancer(arn, e, x.lb, start)
			v.lbs.edit(arn, func(e *lbEntry) { e.lb, e.at = x.lb, start })
		}
	}
	for arn := range asked {
		e := v.lbs.get(arn)
		if _, ok := seen[arn]; !ok && e != nil && start.Sub(e.made) > cache.SettleWindow {
			v.foreign.gone(e.lb.Tags, plan.LoadBalancer, arn)
			v.dropLoadBalancer(arn)
		}
	}
}

func (r *reader) listTargetGroups(ctx context.Context) error {
	start := r.Config.Now()
	seen := map[string]foundTargetGroup{}
	pages := elb.NewDescribeTargetGroupsPaginator(r.API.ELB, &elb.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, g := range page.TargetGroups {
			seen[aws.ToString(g.TargetGroupArn)] = foundTargetGroup{convert.TargetGroupFromAWS(g), aws.ToString(g.VpcId)}
		}
	}
	r.inv.write(func() {
		r.inv.enterTargetGroups(seen, r.inv.groups.ids(), start)
		r.inv.groupsAt, r.inv.tagsDue = start, true
	})
	return nil
}

// foundTargetGroup is a target group as AWS describes it.
type foundTargetGroup struct {
	g   observed.TargetGroup
	vpc string
}

// enterTargetGroups does for target groups what enterLoadBalancers does.
func (v *inventory) enterTargetGroups(seen map[string]foundTargetGroup, asked iter.Seq[string], start time.Time) {
	for arn, x := range seen {
		v.setAccount(arn)
		e := v.groups.get(arn)
		switch {
		case v.hasTombstone(arn, start):
			continue
		case e == nil:
			v.groups.put(arn, &groupEntry{g: x.g, vpc: x.vpc, at: start})
		case !e.written.After(start):
			x.g.Tags, x.g.Attributes = e.g.Tags, e.g.Attributes
			v.foreign.targetGroup(arn, e, x.g, start)
			v.groups.edit(arn, func(e *groupEntry) { e.g, e.vpc, e.at = x.g, x.vpc, start })
		}
	}
	for arn := range asked {
		e := v.groups.get(arn)
		if _, ok := seen[arn]; !ok && e != nil && start.Sub(e.made) > cache.SettleWindow {
			v.foreign.gone(e.g.Tags, plan.TargetGroup, arn)
			v.groups.drop(arn)
		}
	}
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
func (r *reader) listSecurityGroups(ctx context.Context) error {
	start := r.Config.Now()
	seen := map[string]observed.SecurityGroup{}
	err := r.describeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: append(sdk.Filters("vpc-id", r.VPC), sdk.Filter("tag-key", naming.ClusterTag, naming.LegacyClusterTag)),
	}, seen)
	if err != nil {
		return err
	}
	r.inv.write(func() {
		r.inv.enterSecurityGroups(seen, r.inv.sgs.ids(), start)
		r.inv.sgsAt = start
	})
	return nil
}

// describeSecurityGroups adds the groups of the cluster among those that are described.
func (r *reader) describeSecurityGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput, seen map[string]observed.SecurityGroup) error {
	pages := ec2.NewDescribeSecurityGroupsPaginator(r.API.EC2, in)
	for pages.HasMorePages() {
		page, err := sdk.Brief(ctx, func(ctx context.Context) (*ec2.DescribeSecurityGroupsOutput, error) { return pages.NextPage(ctx) })
		if err != nil {
			return err
		}
		for _, g := range page.SecurityGroups {
			if x := convert.SecurityGroupFromAWS(g); naming.Owns(r.Config.Cluster, x.Tags) {
				seen[x.ID] = x
			}
		}
	}
	return nil
}

// enterSecurityGroups does for security groups what enterLoadBalancers does.
func (v *inventory) enterSecurityGroups(seen map[string]observed.SecurityGroup, asked iter.Seq[string], start time.Time) {
	for id, x := range seen {
		e := v.sgs.get(id)
		switch {
		case v.hasTombstone(id, start):
			continue
		case e == nil:
			v.sgs.put(id, &sgEntry{g: x, at: start})
		case !e.written.After(start):
			if cache.Settled(start, e.made, e.written) && !same(e.g, x) {
				v.foreign.note(e.g.Tags, plan.SecurityGroup, id)
			}
			v.sgs.edit(id, func(e *sgEntry) { e.g, e.at = x, start })
		}
	}
	for id := range asked {
		e := v.sgs.get(id)
		if _, ok := seen[id]; !ok && e != nil && start.Sub(e.made) > cache.SettleWindow {
			v.foreign.gone(e.g.Tags, plan.SecurityGroup, id)
			v.sgs.drop(id)
		}
	}
}
