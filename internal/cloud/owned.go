package cloud

import (
	"context"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Owned returns the AWS resources whose tags name the cluster and a stack of the given kind, by stack. For a kind that has
// accelerators, these are ARNs of accelerators. For other kinds, these are ARNs of load balancers, target groups and
// certificates, and IDs of security groups. It reads AWS only if the caches are not fresh. It fails if one of the lists
// cannot be read.
func (c *Cloud) Owned(ctx context.Context, kind model.Kind) (map[model.StackID][]string, error) {
	ctx = sdk.WithCaller(ctx, "", "orphans", sdk.CauseOrphans)
	if kind.HasAccelerator() {
		return c.accelerators.OwnedAccelerators(ctx)
	}
	if err := c.reader.RefreshLists(ctx, observe.ListsSince(nil), nil); err != nil {
		return nil, err
	}
	certificates, err := c.certificates.OwnedCertificates(ctx)
	if err != nil {
		return nil, err
	}
	out := map[model.StackID][]string{}
	note := func(id, vpc string, tags map[string]string) {
		value := tags[naming.StackTag(kind)]
		if vpc != c.client.VPC || value == "" || !naming.BelongsToCluster(c.client.Config.Cluster, tags) || tags[naming.ResourceTag(kind)] == "" {
			return
		}
		of := inventory.StackFromTagValue(kind, value)
		out[of] = append(out[of], id)
	}
	c.inv.WithReadLock(func() {
		for arn, e := range c.inv.LoadBalancers.All() {
			note(arn, e.Seen.VPC, e.Seen.Tags)
		}
		for arn, e := range c.inv.TargetGroups.All() {
			note(arn, e.VPC, e.Seen.Tags)
		}
		for id, e := range c.inv.SecurityGroups.All() {
			note(id, c.client.VPC, e.Seen.Tags) // only security groups of the VPC are listed
		}
	})
	for arn, tags := range certificates {
		note(arn, c.client.VPC, tags) // certificates have no VPC
	}
	for _, ids := range out {
		slices.Sort(ids)
	}
	return out, nil
}

// Owns reports whether a resource with these tags belongs to the cluster.
func (c *Cloud) Owns(tags map[string]string) bool {
	return naming.BelongsToCluster(c.client.Config.Cluster, tags)
}

// Resources are all load balancers and target groups of the region, and the IDs of the security groups of the cluster.
type Resources struct {
	LoadBalancers  []observed.LoadBalancer
	TargetGroups   []observed.TargetGroup
	SecurityGroups []string
}

// Resources returns the load balancers, target groups and security groups of the inventory. It reads them from AWS only if
// the inventory is not fresh.
func (c *Cloud) Resources(ctx context.Context) (out Resources, err error) {
	if err := c.reader.RefreshLists(ctx, observe.ListsSince(nil), observe.Faults{}); err != nil {
		return Resources{}, err
	}
	c.inv.WithReadLock(func() {
		for _, e := range c.inv.LoadBalancers.All() {
			out.LoadBalancers = append(out.LoadBalancers, e.Seen)
		}
		for _, e := range c.inv.TargetGroups.All() {
			out.TargetGroups = append(out.TargetGroups, e.Seen)
		}
		for id := range c.inv.SecurityGroups.All() {
			out.SecurityGroups = append(out.SecurityGroups, id)
		}
	})
	return out, nil
}
