// Package observe reads the state of resources in AWS into the inventory: which resources exist, who owns them, and what
// another process or user has changed.
package observe

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Reader reads the state of resources in AWS into the inventory.
type Reader struct {
	*sdk.Client
	Inv        *inventory.Inventory
	Tags       tagReader
	listeners  listenerReader
	attributes attributeReader
}

// New returns a Reader that stores what it reads in inv.
func New(client *sdk.Client, inv *inventory.Inventory) *Reader {
	return &Reader{Client: client, Inv: inv, Tags: tagReader{client, inv}, listeners: listenerReader{client, inv}, attributes: attributeReader{client, inv}}
}

// RefreshLists ensures that the inventory contains all load balancers, target groups and security groups, with the tags that
// name their owners. It reads lists that are missing, not fresh, or were read before the time since. Concurrent callers
// share a read. The list of security groups is optional, because load balancers and their rules can be changed while EC2
// does not answer. A failure to read this list is stored in faults, or returned as an error if faults is nil. The list of
// the Resource Groups Tagging API is also optional, because it only saves calls.
func (r *Reader) RefreshLists(ctx context.Context, since time.Time, faults Faults) error {
	for _, l := range r.listings() {
		err := r.refreshList(ctx, l, since)
		switch {
		case l.key == inventory.SecurityGroupList:
			err = faults.Add(model.AskSecurityGroups{}, err)
		case l.key == inventory.TaggedList && sdk.FaultOf(err) != nil:
			err = nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", l.key, err)
		}
	}
	return r.readMissingTags(ctx)
}

// RefreshLoadBalancers reads the load balancers of the region with their tags, unless they are fresh and were not read
// before the time since.
func (r *Reader) RefreshLoadBalancers(ctx context.Context, since time.Time) error {
	if err := r.refreshList(ctx, r.loadBalancerListing(), since); err != nil {
		return err
	}
	return r.readMissingTags(ctx)
}

// readMissingTags reads the tags of listed resources whose tags are not known.
func (r *Reader) readMissingTags(ctx context.Context) error {
	if len(r.Tags.TagsToRead()) == 0 {
		return nil
	}
	// A run cannot continue without the tags, because they name the owner of each resource.
	return r.ReadEssential(ctx, "tags", func() error {
		err := r.Tags.readTags(ctx, r.Tags.TagsToRead())
		if err == nil {
			r.Inv.WithWriteLock(func() { r.Inv.TagsDue = false })
		}
		return err
	})
}

// listing describes how to read a list of the inventory.
type listing struct {
	key  string
	once sdk.OnceFunc
	read func(ctx context.Context, since time.Time) error // resumes an interrupted read, unless the interrupted read began before the time since
}

func (r *Reader) loadBalancerListing() listing {
	return listing{inventory.LoadBalancerList, r.ReadEssential, r.listLoadBalancers}
}

func (r *Reader) targetGroupListing() listing {
	return listing{inventory.TargetGroupList, r.ReadEssential, r.listTargetGroups}
}

func (r *Reader) securityGroupListing() listing {
	return listing{inventory.SecurityGroupList, r.ReadOptional, r.listSecurityGroups}
}

// listings returns the lists that the configuration needs. The list of tagged resources comes last, because its tags are
// stored in the entries of the other lists.
func (r *Reader) listings() []listing {
	out := []listing{r.loadBalancerListing(), r.targetGroupListing(), r.securityGroupListing()}
	if r.Config.TaggingAPI {
		out = append(out, listing{inventory.TaggedList, r.ReadOptional, r.Tags.listTagged})
	}
	return out
}

// RefreshTargetGroups reads the target groups of the region, unless they are fresh and were not read before the time since.
func (r *Reader) RefreshTargetGroups(ctx context.Context, since time.Time) error {
	return r.refreshList(ctx, r.targetGroupListing(), since)
}

// OwnSecurityGroups returns those of the IDs that are a security group with the tags of the cluster, each once. It reads the
// list of security groups unless it is fresh.
func (r *Reader) OwnSecurityGroups(ctx context.Context, ids []string) (out []string, _ error) {
	if err := r.refreshList(ctx, r.securityGroupListing(), time.Time{}); err != nil {
		return nil, fmt.Errorf("list %s: %w", inventory.SecurityGroupList, err)
	}
	r.Inv.WithReadLock(func() {
		for _, id := range sdk.SortedUnique(ids) {
			if r.Inv.SecurityGroups.Get(id) != nil {
				out = append(out, id)
			}
		}
	})
	return out, nil
}

// refreshList reads a list, unless it is fresh and was not read before the time since. Concurrent callers share the read.
func (r *Reader) refreshList(ctx context.Context, l listing, since time.Time) error {
	fresh := func() (ok bool) {
		r.Inv.WithReadLock(func() {
			last := r.Inv.Lists[l.key]
			ok = r.IsFresh(last.ReadAt.Add(last.ExtraAge), l.key) && !last.ReadAt.IsZero() && !last.ReadAt.Before(since)
		})
		return ok
	}
	return sdk.ReadOnce(ctx, l.once, l.key, fresh, func() error { return l.read(ctx, since) })
}

func (r *Reader) listLoadBalancers(ctx context.Context, since time.Time) error {
	return readPages(ctx, r.Client, r.Inv, inventory.LoadBalancerList, since, func(seen map[string]*inventory.LoadBalancer) nextPage {
		pages := elb.NewDescribeLoadBalancersPaginator(r.API.ELB, &elb.DescribeLoadBalancersInput{})
		return func(ctx context.Context) (bool, error) {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return false, err
			}
			for _, lb := range page.LoadBalancers {
				seen[aws.ToString(lb.LoadBalancerArn)] = &inventory.LoadBalancer{Seen: convert.LoadBalancerFromAWS(lb), Created: aws.ToTime(lb.CreatedTime)}
			}
			return pages.HasMorePages(), nil
		}
	}, func(seen map[string]*inventory.LoadBalancer, start time.Time) {
		r.Inv.StoreLoadBalancers(seen, r.Inv.LoadBalancers.IDs(), start)
		r.Inv.TagsDue = true
	})
}

func (r *Reader) listTargetGroups(ctx context.Context, since time.Time) error {
	return readPages(ctx, r.Client, r.Inv, inventory.TargetGroupList, since, func(seen map[string]*inventory.TargetGroup) nextPage {
		pages := elb.NewDescribeTargetGroupsPaginator(r.API.ELB, &elb.DescribeTargetGroupsInput{})
		return func(ctx context.Context) (bool, error) {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return false, err
			}
			for _, g := range page.TargetGroups {
				seen[aws.ToString(g.TargetGroupArn)] = &inventory.TargetGroup{Seen: convert.TargetGroupFromAWS(g), VPC: aws.ToString(g.VpcId)}
			}
			return pages.HasMorePages(), nil
		}
	}, func(seen map[string]*inventory.TargetGroup, start time.Time) {
		r.Inv.StoreTargetGroups(seen, r.Inv.TargetGroups.IDs(), start)
		r.Inv.TagsDue = true
	})
}

// listSecurityGroups reads all security groups of the cluster, including the shared backend security group.
func (r *Reader) listSecurityGroups(ctx context.Context, since time.Time) error {
	return readPages(ctx, r.Client, r.Inv, inventory.SecurityGroupList, since, func(seen map[string]observed.SecurityGroup) nextPage {
		return r.securityGroupPages(&ec2.DescribeSecurityGroupsInput{
			Filters: append(sdk.Filters("vpc-id", r.VPC), sdk.Filter("tag-key", naming.ClusterTag, naming.LegacyClusterTag)),
		}, seen)
	}, func(seen map[string]observed.SecurityGroup, start time.Time) {
		r.Inv.StoreSecurityGroups(seen, r.Inv.SecurityGroups.IDs(), start)
	})
}

// securityGroupPages returns a function that reads the pages of a describe call and adds the security groups of the cluster
// to seen, by ID.
func (r *Reader) securityGroupPages(in *ec2.DescribeSecurityGroupsInput, seen map[string]observed.SecurityGroup) nextPage {
	pages := ec2.NewDescribeSecurityGroupsPaginator(r.API.EC2, in)
	return func(ctx context.Context) (bool, error) {
		page, err := pages.NextPage(sdk.WithOptional(ctx))
		if err != nil {
			return false, err
		}
		for _, g := range page.SecurityGroups {
			if x := convert.SecurityGroupFromAWS(g); naming.BelongsToCluster(r.Config.Cluster, x.Tags) {
				seen[x.ID] = x
			}
		}
		return pages.HasMorePages(), nil
	}
}
