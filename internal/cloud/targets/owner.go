package targets

import (
	"context"
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// OwnerNamespaces implements bindings.TargetGroups. It takes the namespaces from tags that the controller sets when it
// creates a target group, and that Kubernetes objects cannot set.
func (t TargetGroups) OwnerNamespaces(ctx context.Context, arn string, read bool) ([]string, error) {
	ctx = forTargetGroup(ctx, arn)
	var namespaces []string
	found := false
	t.inv.WithReadLock(func() {
		// Old tags can be used, because the tags that name the owner do not change.
		if e := t.inv.TargetGroups.Get(arn); e != nil && (len(e.Seen.Tags) > 0 || !e.TagsAt.IsZero()) {
			namespaces, found = ownerNamespacesIn(t.Client, e.Seen.Tags), e.Seen.Tags != nil
		}
	})
	if found || !read {
		return namespaces, nil
	}
	return t.owners.Get(ctx, "owner "+arn, durations.CacheRetention, func(ctx context.Context) ([]string, error) {
		tags, err := observe.DescribeTags(ctx, t.Client, []string{arn})
		if err != nil && !isRefused(err) {
			return nil, fmt.Errorf("read tags of %s: %w", arn, err)
		}
		return ownerNamespacesIn(t.Client, tags[arn]), nil
	})
}

// OwnerStack implements bindings.TargetGroups.
func (t TargetGroups) OwnerStack(arn string) (id model.StackID, group string, ok bool) {
	t.inv.WithReadLock(func() {
		e := t.inv.TargetGroups.Get(arn)
		if e == nil || !naming.BelongsToCluster(t.Config.Cluster, e.Seen.Tags) {
			return
		}
		for _, k := range model.Kinds {
			if value := e.Seen.Tags[naming.StackTag(k)]; value != "" && e.Seen.Tags[naming.ResourceTag(k)] != "" {
				id, group, ok = inventory.StackFromTagValue(k, value), e.Seen.Tags[naming.ResourceTag(k)], true
			}
		}
	})
	return id, group, ok
}

// ownerNamespacesIn returns the namespaces that may contain the Service for which a target group with these tags was
// created. It returns nil if the cluster does not own the target group.
func ownerNamespacesIn(c *sdk.Client, tags map[string]string) []string {
	if !naming.BelongsToCluster(c.Config.Cluster, tags) {
		return nil
	}
	for _, kind := range model.Kinds {
		id, ok := tags[naming.ResourceTag(kind)]
		if ok && kind.IsGateway() {
			return naming.BackendNamespaces(id)
		}
		if namespace, _, ok := strings.Cut(id, "/"); ok {
			return []string{namespace}
		}
	}
	return nil
}
