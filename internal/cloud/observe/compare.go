package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Most runs use the inventory and make no calls, so they do not find outside changes. A comparison therefore has a time.
// Resources of the stack that were read before this time are read again by ARN or ID. Resources of other stacks are not
// read. The lists of the region are read again only after the refresh period, because they are needed only to find resources
// that are not in the inventory.

// ComparisonIn returns the comparison in a list of questions. If the list has no comparison, it returns the zero value,
// which has no time.
func ComparisonIn(questions []model.Question) (b model.AskComparison) {
	for _, q := range questions {
		if q, ok := q.(model.AskComparison); ok {
			b = q
		}
	}
	return b
}

// outdatedResources has the ARNs of load balancers (lbs) and target groups (groups), and the IDs of security groups (sgs),
// that must be read again. withOutdatedTags has the ARNs of the load balancers and target groups whose tags must be read
// again.
type outdatedResources struct{ lbs, groups, sgs, withOutdatedTags []string }

func (r *Reader) findOutdated(id model.StackID, b model.AskComparison) (out outdatedResources) {
	old := func(at, made time.Time) bool {
		return at.IsZero() || at.Before(b.Since) && made.Before(b.Since)
	}
	r.Inv.WithReadLock(func() {
		for arn, e := range r.Inv.StackLoadBalancers(id) {
			if old(e.ReadAt, e.MadeAt) {
				out.lbs = append(out.lbs, arn)
			}
			if e.TagsAt.Before(b.TagsSince) {
				out.withOutdatedTags = append(out.withOutdatedTags, arn)
			}
		}
		for arn, e := range r.Inv.StackTargetGroups(id) {
			if old(e.ReadAt, e.MadeAt) {
				out.groups = append(out.groups, arn)
			}
			if e.TagsAt.Before(b.TagsSince) {
				out.withOutdatedTags = append(out.withOutdatedTags, arn)
			}
		}
		for sg, e := range r.Inv.StackSecurityGroups(id) {
			if old(e.ReadAt, e.MadeAt) {
				out.sgs = append(out.sgs, sg)
			}
		}
		for sg, e := range r.Inv.SecurityGroups.EntriesWithKey(inventory.BackendKey, "") {
			if !naming.BelongsToStack(r.Config.Cluster, id, e.Seen.Tags) && old(e.ReadAt, e.MadeAt) {
				out.sgs = append(out.sgs, sg)
			}
		}
	})
	return out
}

// refreshResources reads the resources of a stack again that were read before the times of a comparison. Resources that do
// not exist any more are removed from the inventory. faults gets the fault if security groups cannot be read.
func (r *Reader) refreshResources(ctx context.Context, id model.StackID, b model.AskComparison, faults Faults) error {
	old, of := r.findOutdated(id, b), " of "+string(id.Kind)+" "+id.String()
	read := func(key string, arns []string, read func(context.Context, []string) error) error {
		if len(arns) == 0 {
			return nil
		}
		if err := r.ReadEssential(ctx, key+of, func() error { return read(ctx, arns) }); err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		return nil
	}
	if err := read("load balancers", old.lbs, r.readLoadBalancers); err != nil {
		return err
	}
	if err := read("target groups", old.groups, r.readTargetGroups); err != nil {
		return err
	}
	if err := read("tags", old.withOutdatedTags, r.Tags.readTags); err != nil {
		return err
	}
	if len(old.sgs) == 0 {
		return nil
	}
	groups := model.AskSecurityGroups{}
	err := r.ReadShared(ctx, groups.Key()+of, func() error {
		return r.ReadOptionalPart(ctx, groups.Key(), func() error { return r.readSecurityGroups(ctx, old.sgs) })
	})
	if err := faults.Add(groups, err); err != nil {
		return fmt.Errorf("read security groups: %w", err)
	}
	return nil
}

// maxDescribeBatch is the maximum number of ARNs of load balancers or target groups in one describe call.
const maxDescribeBatch = 20

func (r *Reader) readLoadBalancers(ctx context.Context, arns []string) error {
	return readInHalves(arns, maxDescribeBatch, func(batch []string) error {
		start, seen := r.Config.Clock.Now(), map[string]*inventory.LoadBalancer{}
		out, err := r.API.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: batch})
		if sdk.IsGone(err) && len(batch) == 1 {
			out, err = &elb.DescribeLoadBalancersOutput{}, nil
		}
		if err != nil {
			return err
		}
		for _, lb := range out.LoadBalancers {
			seen[aws.ToString(lb.LoadBalancerArn)] = &inventory.LoadBalancer{Seen: convert.LoadBalancerFromAWS(lb), Created: aws.ToTime(lb.CreatedTime)}
		}
		r.Inv.WithWriteLock(func() { r.Inv.StoreLoadBalancers(seen, slices.Values(batch), start) })
		return nil
	})
}

func (r *Reader) readTargetGroups(ctx context.Context, arns []string) error {
	return readInHalves(arns, maxDescribeBatch, func(batch []string) error {
		start, seen := r.Config.Clock.Now(), map[string]*inventory.TargetGroup{}
		out, err := r.API.ELB.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: batch})
		if sdk.IsGone(err) && len(batch) == 1 {
			out, err = &elb.DescribeTargetGroupsOutput{}, nil
		}
		if err != nil {
			return err
		}
		for _, g := range out.TargetGroups {
			seen[aws.ToString(g.TargetGroupArn)] = &inventory.TargetGroup{Seen: convert.TargetGroupFromAWS(g), VPC: aws.ToString(g.VpcId)}
		}
		r.Inv.WithWriteLock(func() { r.Inv.StoreTargetGroups(seen, slices.Values(batch), start) })
		return nil
	})
}

func (r *Reader) readSecurityGroups(ctx context.Context, ids []string) error {
	start, seen := r.Config.Clock.Now(), map[string]observed.SecurityGroup{}
	// The IDs are sent as a filter, because AWS refuses a call with a list of IDs if one of the IDs does not exist.
	for batch := range slices.Chunk(sdk.SortedUnique(ids), sdk.MaxFilterValues) {
		if err := r.securityGroupPages(&ec2.DescribeSecurityGroupsInput{Filters: sdk.Filters("group-id", batch...)}, seen).readAll(ctx); err != nil {
			return err
		}
	}
	r.Inv.WithWriteLock(func() { r.Inv.StoreSecurityGroups(seen, slices.Values(ids), start) })
	return nil
}

// invalidate makes the next run read all resources of a stack again. It is called after AWS has reported that one of these
// resources does not exist. It reports whether this process created one of these resources within the settle window, because
// AWS may not show that resource everywhere yet.
func (r *Reader) invalidate(id model.StackID) (recentlyCreated bool) {
	now := r.Config.Clock.Now()
	r.Inv.WithWriteLock(func() {
		for _, l := range r.Inv.Lists {
			l.Unfinished = nil
		}
		for _, e := range r.Inv.StackLoadBalancers(id) {
			recentlyCreated = recentlyCreated || now.Sub(e.MadeAt) < durations.SettleWindow
			e.Invalidated = e.Invalidated || !e.DetailAt.IsZero()
			e.ReadAt, e.DetailAt, e.AttributesAt, e.CapacityAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
			for _, le := range e.Listeners {
				recentlyCreated = recentlyCreated || now.Sub(le.MadeAt) < durations.SettleWindow
				le.AttributesAt = time.Time{}
			}
		}
		for _, e := range r.Inv.StackTargetGroups(id) {
			recentlyCreated = recentlyCreated || now.Sub(e.MadeAt) < durations.SettleWindow
			e.ReadAt, e.AttributesAt = time.Time{}, time.Time{}
		}
		for _, e := range r.Inv.StackSecurityGroups(id) {
			e.ReadAt = time.Time{}
		}
	})
	return recentlyCreated
}
