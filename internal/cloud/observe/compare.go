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

// The inventory answers subsequent runs without calls, so it hides what others change in AWS. A
// comparison has a time: resources of the stack that were read before that time are read again, one by
// one, so that it costs calls for this stack alone. The lists of the region are only read again after the
// refresh period, as they are only needed to find resources that the inventory does not have.

// ComparisonIn returns the comparison among the questions; the zero value, which sets no bound, if there is none.
func ComparisonIn(questions []model.Question) (b model.AskComparison) {
	for _, q := range questions {
		if q, ok := q.(model.AskComparison); ok {
			b = q
		}
	}
	return b
}

// outdatedResources has the ids of the resources of a stack that have to be read again. tagged has the ids of the
// resources whose tags have to be read again.
type outdatedResources struct{ lbs, groups, sgs, tagged []string }

func (r *Reader) outdated(id model.StackID, b model.AskComparison) (out outdatedResources) {
	old := func(at, made time.Time) bool {
		return at.IsZero() || at.Before(b.Since) && made.Before(b.Since)
	}
	r.Inv.Read(func() {
		for arn, e := range r.Inv.StackLoadBalancers(id) {
			if old(e.At, e.Made) {
				out.lbs = append(out.lbs, arn)
			}
			if e.TagsAt.Before(b.TagsSince) {
				out.tagged = append(out.tagged, arn)
			}
		}
		for arn, e := range r.Inv.StackTargetGroups(id) {
			if old(e.At, e.Made) {
				out.groups = append(out.groups, arn)
			}
			if e.TagsAt.Before(b.TagsSince) {
				out.tagged = append(out.tagged, arn)
			}
		}
		for sg, e := range r.Inv.StackSecurityGroups(id) {
			if old(e.At, e.Made) {
				out.sgs = append(out.sgs, sg)
			}
		}
		for sg, e := range r.Inv.SecurityGroups.Having(inventory.IsBackend, "") {
			if !naming.Belongs(r.Config.Cluster, id, e.Seen.Tags) && old(e.At, e.Made) {
				out.sgs = append(out.sgs, sg)
			}
		}
	})
	return out
}

// refreshResources reads the resources of a stack again that are older than the comparison admits. Resources that do not
// exist any more are dropped from the inventory.
func (r *Reader) refreshResources(ctx context.Context, id model.StackID, b model.AskComparison, faults Faults) error {
	old, of := r.outdated(id, b), " of "+string(id.Kind)+" "+id.String()
	read := func(key string, arns []string, read func(context.Context, []string) error) error {
		if len(arns) == 0 {
			return nil
		}
		if err := r.Essential(ctx, key+of, func() error { return read(ctx, arns) }); err != nil {
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
	if err := read("tags", old.tagged, r.Tags.readTags); err != nil {
		return err
	}
	if len(old.sgs) == 0 {
		return nil
	}
	groups := model.AskSecurityGroups{}
	err := r.Share(ctx, groups.Key()+of, func() error {
		return r.OptionalPart(ctx, groups.Key(), func() error { return r.readSecurityGroups(ctx, old.sgs) })
	})
	if err := faults.Note(groups, err); err != nil {
		return fmt.Errorf("read security groups: %w", err)
	}
	return nil
}

// describedBatch is the maximum number of load balancers or target groups that AWS describes by ARN in one call.
const describedBatch = 20

func (r *Reader) readLoadBalancers(ctx context.Context, arns []string) error {
	return readInHalves(arns, describedBatch, func(batch []string) error {
		start, seen := r.Config.Clock.Now(), map[string]inventory.FoundLoadBalancer{}
		out, err := r.API.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: batch})
		if sdk.IsGone(err) && len(batch) == 1 {
			out, err = &elb.DescribeLoadBalancersOutput{}, nil
		}
		if err != nil {
			return err
		}
		for _, lb := range out.LoadBalancers {
			seen[aws.ToString(lb.LoadBalancerArn)] = inventory.FoundLoadBalancer{Seen: convert.LoadBalancerFromAWS(lb), Created: aws.ToTime(lb.CreatedTime)}
		}
		r.Inv.Write(func() { r.Inv.EnterLoadBalancers(seen, slices.Values(batch), start) })
		return nil
	})
}

func (r *Reader) readTargetGroups(ctx context.Context, arns []string) error {
	return readInHalves(arns, describedBatch, func(batch []string) error {
		start, seen := r.Config.Clock.Now(), map[string]inventory.FoundTargetGroup{}
		out, err := r.API.ELB.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: batch})
		if sdk.IsGone(err) && len(batch) == 1 {
			out, err = &elb.DescribeTargetGroupsOutput{}, nil
		}
		if err != nil {
			return err
		}
		for _, g := range out.TargetGroups {
			seen[aws.ToString(g.TargetGroupArn)] = inventory.FoundTargetGroup{Seen: convert.TargetGroupFromAWS(g), VPC: aws.ToString(g.VpcId)}
		}
		r.Inv.Write(func() { r.Inv.EnterTargetGroups(seen, slices.Values(batch), start) })
		return nil
	})
}

func (r *Reader) readSecurityGroups(ctx context.Context, ids []string) error {
	start, seen := r.Config.Clock.Now(), map[string]observed.SecurityGroup{}
	// The ids are sent as a filter, since one id that does not exist would make the whole call fail.
	for batch := range slices.Chunk(sdk.SortedUnique(ids), sdk.FilterBatch) {
		if err := r.securityGroupPages(&ec2.DescribeSecurityGroupsInput{Filters: sdk.Filters("group-id", batch...)}, seen).all(ctx); err != nil {
			return err
		}
	}
	r.Inv.Write(func() { r.Inv.EnterSecurityGroups(seen, slices.Values(ids), start) })
	return nil
}

// invalidate makes the next run read all of a stack again, after AWS has reported that a part of it does not
// exist. It reports whether a part of it was created within the settle window, as AWS may not show that
// part everywhere yet.
func (r *Reader) invalidate(id model.StackID) (young bool) {
	now := r.Config.Clock.Now()
	r.Inv.Write(func() {
		clear(r.Inv.Unfinished)
		for _, e := range r.Inv.StackLoadBalancers(id) {
			young = young || now.Sub(e.Made) < durations.Settle
			e.Invalidated = e.Invalidated || !e.DetailAt.IsZero()
			e.At, e.DetailAt, e.AttributesAt, e.CapacityAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
			for _, le := range e.Listeners {
				young = young || now.Sub(le.Made) < durations.Settle
				le.AttributesAt = time.Time{}
			}
		}
		for _, e := range r.Inv.StackTargetGroups(id) {
			young = young || now.Sub(e.Made) < durations.Settle
			e.At, e.AttributesAt = time.Time{}, time.Time{}
		}
		for _, e := range r.Inv.StackSecurityGroups(id) {
			e.At = time.Time{}
		}
	})
	return young
}
