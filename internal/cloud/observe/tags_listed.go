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

// taggingPageSize is the number of resources in one call to the Resource Groups Tagging API.
const taggingPageSize = 100

// listTagged reads, with the Resource Groups Tagging API, the load balancers and target groups that have the current or the
// legacy tag of the cluster. This API shows changes late: it omits new resources, lists deleted resources, and returns old
// tags. It is therefore used only to save calls. Which resources exist is read from Elastic Load Balancing. If the two APIs
// disagree, or if a resource is too new, the tags are also read from Elastic Load Balancing.
func (r *tagReader) listTagged(ctx context.Context, since time.Time) error {
	v := r.inv
	return readPages(ctx, r.Client, v, inventory.TaggedList, since, r.taggedPages, func(shown map[string]map[string]string, start time.Time) {
		for arn, e := range v.LoadBalancers.All() {
			if e.Seen.VPC == r.VPC && !e.WrittenAt.After(start) {
				v.LoadBalancers.Edit(arn, func(e *inventory.LoadBalancer) {
					r.setListedTags(shown[arn], e.MayLackTags(r.Client), &e.Seen.Tags, &e.TagsAt, start)
				})
			}
		}
		for arn, e := range v.TargetGroups.All() {
			if e.VPC == r.VPC && !e.WrittenAt.After(start) {
				v.TargetGroups.Edit(arn, func(e *inventory.TargetGroup) {
					r.setListedTags(shown[arn], !usedByOtherOwner(v, r.Client, e, shown), &e.Seen.Tags, &e.TagsAt, start)
				})
			}
		}
	})
}

// taggedPages returns a function that reads the pages of the Resource Groups Tagging API, for one tag key after the other,
// and stores the tags in shown, by ARN.
func (r *tagReader) taggedPages(shown map[string]map[string]string) nextPage {
	keys := []string{naming.ClusterTag, naming.LegacyClusterTag}
	var pages *tagging.GetResourcesPaginator
	return func(ctx context.Context) (bool, error) {
		if pages == nil {
			pages = tagging.NewGetResourcesPaginator(r.API.Tagging, &tagging.GetResourcesInput{
				TagFilters:          []taggingtypes.TagFilter{{Key: aws.String(keys[0]), Values: []string{r.Config.Cluster}}},
				ResourceTypeFilters: []string{"elasticloadbalancing:loadbalancer", "elasticloadbalancing:targetgroup"},
				ResourcesPerPage:    aws.Int32(taggingPageSize),
			})
		}
		page, err := pages.NextPage(sdk.WithOptional(ctx))
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

// setListedTags updates the tags of a resource, and the time at which they were read, from the list of the Resource Groups
// Tagging API. If the list does not determine the tags, setListedTags sets the time to zero, so that the tags are read from
// Elastic Load Balancing. shown are the listed tags, nil if the resource is not in the list. recentlyCreated reports whether
// the resource may be too new for the list. now is when the list was read.
func (r *tagReader) setListedTags(shown map[string]string, recentlyCreated bool, tags *map[string]string, at *time.Time, now time.Time) {
	unknown := at.IsZero()
	switch {
	case shown != nil && unknown:
		*tags, *at = shown, now
	case shown != nil && maps.Equal(shown, *tags):
		*at = now
	case shown == nil && unknown && !recentlyCreated, shown == nil && !unknown && !naming.BelongsToCluster(r.Config.Cluster, *tags):
		*at = now // the resource has another owner, so its tags are not needed
	default:
		*at = time.Time{}
	}
}

// usedByOtherOwner reports whether a load balancer of another owner uses a target group and is old enough for the Resource
// Groups Tagging API to list it. AWS does not show the age of a target group, so the age of the load balancer is used.
func usedByOtherOwner(v *inventory.Inventory, c *sdk.Client, e *inventory.TargetGroup, shown map[string]map[string]string) bool {
	for _, arn := range e.Seen.LoadBalancers {
		if lb := v.LoadBalancers.Get(arn); lb != nil && shown[arn] == nil && !naming.BelongsToCluster(c.Config.Cluster, lb.Seen.Tags) && !lb.MayLackTags(c) {
			return true
		}
	}
	return false
}
