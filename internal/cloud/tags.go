package cloud

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// untagged are the load balancers and target groups of the VPC whose tags have to be read. Tags
// change more rarely than anything else, so they are kept for two periods and then read again
// together with others, to fill the batches. Where the tagging service lists them only those are
// read that it leaves in doubt; where it does not answer they are read as without it.
func (r *reader) untagged() []string {
	var out []string
	listed := r.Config.TaggingAPI && r.FailedBefore(tagsListed) == nil
	now, due := r.Config.Now(), false
	r.inv.read(func() {
		for arn := range r.inv.lbs.having(isUntagged, "") {
			out = append(out, arn)
		}
		for arn := range r.inv.groups.having(isUntagged, "") {
			out = append(out, arn)
		}
		due = r.inv.tagsDue && !listed && !now.Before(r.inv.nextTags)
	})
	if due {
		r.inv.write(func() { out = append(out, r.inv.oldTags(now)...) })
	}
	return out
}

// oldTags are the load balancers and target groups of the VPC whose tags were read too long ago. It
// notes when the next ones will be.
func (v *inventory) oldTags(now time.Time) (out []string) {
	v.nextTags = time.Time{}
	note := func(arn, vpc string, at time.Time) {
		if vpc != v.vpc || at.IsZero() {
			return
		}
		until := v.tagsUntil(at, arn)
		v.noteTagsUntil(until)
		if !now.Before(until) {
			out = append(out, arn)
		}
	}
	for arn, e := range v.lbs.all() {
		note(arn, e.lb.VPC, e.tagsAt)
	}
	for arn, e := range v.groups.all() {
		note(arn, e.vpc, e.tagsAt)
	}
	return out
}

// tagBatch is how many resources AWS returns the tags of in one call.
const tagBatch = 20

// readTags reads the tags of load balancers and target groups into the inventory.
func (r *reader) readTags(ctx context.Context, arns []string) error {
	slices.Sort(arns)
	// Each batch is entered, so that a reading that is cut short goes on where it was.
	for batch := range slices.Chunk(arns, tagBatch) {
		start := r.Config.Now()
		got, err := describeTags(ctx, r.Client, batch)
		if err != nil {
			return err
		}
		r.enterTags(got, batch, start)
	}
	return nil
}

// enterTags enters what a reading since start has found. Load balancers and target groups without are gone.
func (r *reader) enterTags(got map[string]map[string]string, arns []string, start time.Time) {
	r.inv.write(func() {
		for _, arn := range arns {
			tags, there := got[arn]
			if e := r.inv.lbs.get(arn); e != nil && !e.written.After(start) {
				if r.inv.foreign.tags(plan.LoadBalancer, arn, e.lb.Tags, tags, there, e.tagsAt, start, e.made, e.written); !there && start.Sub(e.made) > cache.SettleWindow {
					r.inv.dropLoadBalancer(arn)
					continue
				}
				r.inv.lbs.edit(arn, func(e *lbEntry) { e.lb.Tags, e.tagsAt = tags, start })
			}
			if e := r.inv.groups.get(arn); e != nil && !e.written.After(start) {
				if r.inv.foreign.tags(plan.TargetGroup, arn, e.g.Tags, tags, there, e.tagsAt, start, e.made, e.written); !there && start.Sub(e.made) > cache.SettleWindow {
					r.inv.groups.drop(arn)
					continue
				}
				r.inv.groups.edit(arn, func(e *groupEntry) { e.g.Tags, e.tagsAt = tags, start })
			}
		}
	})
}

// describeTags returns the tags of those resources that exist.
func describeTags(ctx context.Context, c *sdk.Client, arns []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	err := inHalves(arns, tagBatch, func(batch []string) error {
		res, err := c.API.ELB.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: batch})
		if err != nil {
			return err
		}
		for _, d := range res.TagDescriptions {
			out[aws.ToString(d.ResourceArn)] = convert.TagsFromAWS(d.Tags)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	return out, nil
}
