package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// tagReader reads the tags of load balancers and target groups. The tags name the owners of the resources.
type tagReader struct {
	*sdk.Client
	inv *inventory.Inventory
}

// TagsToRead returns the ARNs of the load balancers and target groups in the VPC whose tags must be read. Tags rarely
// change, so they are read again only after about two refresh periods, in the same batches as tags that are missing. If the
// Resource Groups Tagging API is used and answers, only tags that this API did not confirm are read.
func (r *tagReader) TagsToRead() []string {
	var out []string
	listed := r.Config.TaggingAPI && r.EarlierFailure(inventory.TaggedList) == nil
	now, due := r.Config.Clock.Now(), false
	r.inv.WithReadLock(func() {
		for arn := range r.inv.LoadBalancers.EntriesWithKey(inventory.UntaggedKey, "") {
			out = append(out, arn)
		}
		for arn := range r.inv.TargetGroups.EntriesWithKey(inventory.UntaggedKey, "") {
			out = append(out, arn)
		}
		due = r.inv.TagsDue && !listed && !now.Before(r.inv.NextTagsDueAt)
	})
	if due {
		r.inv.WithWriteLock(func() { out = append(out, r.inv.StaleTags(now)...) })
	}
	return out
}

// maxTagBatch is the maximum number of resources whose tags AWS returns in one call.
const maxTagBatch = 20

// readTags reads the tags of load balancers and target groups into the inventory.
func (r *tagReader) readTags(ctx context.Context, arns []string) error {
	slices.Sort(arns)
	// Each batch is stored immediately, so that the batch is not read again after an interruption.
	return readInBatches(slices.Chunk(arns, maxTagBatch), func(batch []string) error {
		start := r.Config.Clock.Now()
		got, err := DescribeTags(ctx, r.Client, batch)
		if err == nil {
			r.storeTags(got, batch, start)
		}
		return err
	})
}

// storeTags stores the tags that a read has found, by ARN, and records outside changes. start is when the read began. A load
// balancer or target group in arns without tags in read does not exist any more, and is removed. The entry of a resource
// that this process created within the settle window is not changed, because AWS may not show the resource yet.
func (r *tagReader) storeTags(read map[string]map[string]string, arns []string, start time.Time) {
	r.inv.WithWriteLock(func() {
		for _, arn := range arns {
			tags, exists := read[arn]
			if e := r.inv.LoadBalancers.Get(arn); e != nil && !e.WrittenAt.After(start) {
				r.inv.OutsideChanges.CompareTags(plan.LoadBalancer, arn, e.Seen.Tags, tags, exists, e.TagsAt, start, e.MadeAt, e.WrittenAt)
				switch {
				case exists:
					r.inv.LoadBalancers.Edit(arn, func(e *inventory.LoadBalancer) { e.Seen.Tags, e.TagsAt = tags, start })
				case cache.IsSettled(start, e.MadeAt):
					r.inv.DropLoadBalancer(arn)
				}
			}
			if e := r.inv.TargetGroups.Get(arn); e != nil && !e.WrittenAt.After(start) {
				r.inv.OutsideChanges.CompareTags(plan.TargetGroup, arn, e.Seen.Tags, tags, exists, e.TagsAt, start, e.MadeAt, e.WrittenAt)
				switch {
				case exists:
					r.inv.TargetGroups.Edit(arn, func(e *inventory.TargetGroup) { e.Seen.Tags, e.TagsAt = tags, start })
				case cache.IsSettled(start, e.MadeAt):
					r.inv.TargetGroups.Drop(arn)
				}
			}
		}
	})
}

// DescribeTags returns the tags of resources, by ARN. The result omits resources that do not exist.
func DescribeTags(ctx context.Context, c *sdk.Client, arns []string) (map[string]map[string]string, error) {
	var mu sync.Mutex
	out := map[string]map[string]string{}
	err := readInHalves(arns, maxTagBatch, func(batch []string) error {
		res, err := c.API.ELB.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: batch})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, d := range res.TagDescriptions {
			out[aws.ToString(d.ResourceArn)] = convert.PairsFromAWS(d.Tags)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	return out, nil
}
