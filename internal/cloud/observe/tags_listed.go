package observe

import (
	"context"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	taggingtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// taggedPage is how many resources the tagging service lists in one call.
const taggedPage = 100

// listTagged asks the tagging service for the load balancers and target groups that carry a tag of
// the cluster, today's or that of the first generation. The service lags behind: it does not know
// what was made a moment ago, lists what is gone, and shows tags as they were. So it only spares
// calls: what there is the load balancing service has said, and where the two disagree, or may be
// about to, that one is asked for the tags.
func (r *tagReader) listTagged(ctx context.Context, since time.Time) error {
	shown, start, err := readPages(ctx, r.Client, r.inv, TagsListed, since, r.taggedPages)
	if err != nil {
		return err
	}
	v := r.inv
	v.Write(func() {
		for arn, e := range v.LoadBalancers.All() {
			if e.Seen.VPC == r.VPC && !e.Written.After(start) {
				v.LoadBalancers.Edit(arn, func(e *inventory.LoadBalancer) {
					r.tagsListed(shown[arn], e.MayLackTags(r.Client), &e.Seen.Tags, &e.TagsAt, start)
				})
			}
		}
		for arn, e := range v.TargetGroups.All() {
			if e.VPC == r.VPC && !e.Written.After(start) {
				v.TargetGroups.Edit(arn, func(e *inventory.TargetGroup) {
					r.tagsListed(shown[arn], !ofOthers(v, r.Client, e, shown), &e.Seen.Tags, &e.TagsAt, start)
				})
			}
		}
		v.TaggedAt = start
	})
	return nil
}

// taggedPages add the tags of what the tagging service lists, for one key after the other.
func (r *tagReader) taggedPages(shown map[string]map[string]string) nextPage {
	keys := []string{naming.ClusterTag, naming.LegacyClusterTag}
	var pages *tagging.GetResourcesPaginator
	return func(ctx context.Context) (bool, error) {
		if pages == nil {
			pages = tagging.NewGetResourcesPaginator(r.API.Tagging, &tagging.GetResourcesInput{
				TagFilters:          []taggingtypes.TagFilter{{Key: aws.String(keys[0]), Values: []string{r.Config.Cluster}}},
				ResourceTypeFilters: []string{"elasticloadbalancing:loadbalancer", "elasticloadbalancing:targetgroup"},
				ResourcesPerPage:    aws.Int32(taggedPage),
			})
		}
		page, err := sdk.Brief(ctx, func(ctx context.Context) (*tagging.GetResourcesOutput, error) { return pages.NextPage(ctx) })
		if err != nil {
			return false, err
		}
		for _, r := range page.ResourceTagMappingList {
			tags := make(map[string]string, len(r.Tags))
			for _, t := range r.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			shown[aws.ToString(r.ResourceARN)] = tags
		}
		if !pages.HasMorePages() {
			pages, keys = nil, keys[1:]
		}
		return len(keys) > 0, nil
	}
}

// tagsListed takes over the tags that the tagging service lists of a resource, or leaves it in doubt, so that
// its tags are read. Shown are the tags that it listed, nil if it does not count the resource among
// the cluster's; young is a resource that it perhaps does not know yet.
func (r *tagReader) tagsListed(shown map[string]string, young bool, tags *map[string]string, at *time.Time, now time.Time) {
	unknown := at.IsZero()
	switch {
	case shown != nil && unknown:
		*tags, *at = shown, now
	case shown != nil && maps.Equal(shown, *tags):
		*at = now
	case shown == nil && unknown && !young, shown == nil && !unknown && !naming.Owns(r.Config.Cluster, *tags):
		*at = now // of another owner, whose tags do not matter
	default:
		*at = time.Time{}
	}
}

// ofOthers reports whether a target group is in use by an old load balancer that is not the
// cluster's. AWS does not say when a target group was made.
func ofOthers(v *inventory.Inventory, c *sdk.Client, e *inventory.TargetGroup, shown map[string]map[string]string) bool {
	for _, arn := range e.Seen.LoadBalancers {
		if lb := v.LoadBalancers.Get(arn); lb != nil && shown[arn] == nil && !naming.Owns(c.Config.Cluster, lb.Seen.Tags) && !lb.MayLackTags(c) {
			return true
		}
	}
	return false
}
