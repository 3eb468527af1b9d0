package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/model/glob"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// notFoundAge returns how long the answer that a name does not exist is cached. names is the number of names that do not
// exist. Each of them is read with a separate call, and all of them together may cost at most one call every two seconds.
func notFoundAge(names int) time.Duration {
	return max(durations.NotFoundAge, time.Duration(names)*durations.NotFoundAgePerName)
}

// cachedARN is the cached result of searching a resource by name or ARN.
type cachedARN struct {
	arn    string // "" if the resource does not exist
	readAt time.Time
}

// maxAge returns how long the cached result may be used: ifFound if the resource exists, otherwise a time that grows with
// the number of entries in all that were not found.
func (f cachedARN) maxAge(all map[string]cachedARN, ifFound time.Duration) time.Duration {
	if f.arn != "" {
		return ifFound
	}
	return notFoundAge(cache.Count(all, func(f cachedARN) bool { return f.arn == "" }))
}

// expiryCheck returns a function that reports whether a cached result is old enough to be removed from the cache.
func expiryCheck(c *sdk.Client) func(cachedARN) bool {
	return func(f cachedARN) bool { return !c.IsYounger(f.readAt, durations.CacheRetention) }
}

// nameFacts finds security groups and target groups of any owner by the names, IDs and ARNs in Kubernetes objects.
type nameFacts struct {
	*sdk.Client
	inv *inventory.Inventory

	cache.Guard
	securityGroups map[string]foundSecurityGroups // by key of the question
	targetGroups   map[string]cachedARN           // by name or ARN
}

func (n *nameFacts) reset() {
	n.WithLock(func() { n.securityGroups, n.targetGroups = map[string]foundSecurityGroups{}, map[string]cachedARN{} })
}

type foundSecurityGroups struct {
	answer observed.SecurityGroupAnswer
	readAt time.Time
}

// askSecurityGroups finds security groups by ID, or by their Name tag in the VPC of the cluster. Names may contain the
// wildcards * and ?.
func (n *nameFacts) askSecurityGroups(ctx context.Context, q model.AskNamedSecurityGroups) (observed.SecurityGroupAnswer, error) {
	cached := func() (out observed.SecurityGroupAnswer, ok bool) {
		n.WithLock(func() {
			f := n.securityGroups[q.Key()]
			age := n.Config.Refresh
			if len(f.answer.Missing) > 0 {
				age = notFoundAge(cache.Count(n.securityGroups, func(f foundSecurityGroups) bool { return len(f.answer.Missing) > 0 }))
			}
			out, ok = f.answer, n.IsYounger(f.readAt, age)
		})
		return out, ok
	}
	return sdk.CachedOrRead(ctx, n.ReadOptional, q.Key(), cached, func() error {
		start := n.Config.Clock.Now()
		answer, err := n.readSecurityGroups(ctx, q)
		if err != nil {
			return err
		}
		n.WithLock(func() {
			cache.Put(n.securityGroups, q.Key(), foundSecurityGroups{answer, start}, func(f foundSecurityGroups) bool { return !n.IsYounger(f.readAt, durations.CacheRetention) })
		})
		return nil
	})
}

func (n *nameFacts) readSecurityGroups(ctx context.Context, q model.AskNamedSecurityGroups) (observed.SecurityGroupAnswer, error) {
	var ids, names []string
	for _, r := range q.List {
		if strings.HasPrefix(r, "sg-") {
			ids = append(ids, r)
		} else {
			names = append(names, r)
		}
	}
	out := observed.SecurityGroupAnswer{ByName: map[string][]string{}}
	// The IDs are sent as a filter, because otherwise a single ID that does not exist would make the whole call fail.
	if len(ids) > 0 {
		err := n.forEachSecurityGroup(ctx, sdk.Filters("group-id", sdk.SortedUnique(ids)...), func(id, _ string) { out.ByID = append(out.ByID, id) })
		if err != nil {
			return out, err
		}
	}
	if names = sdk.SortedUnique(names); len(names) > 0 {
		f := append(sdk.Filters("vpc-id", n.VPC), sdk.Filter("tag:"+convert.NameTag, names...))
		found := map[string]map[string]bool{} // distinct Name tags by name in the question
		err := n.forEachSecurityGroup(ctx, f, func(id, name string) {
			// AWS treats * and ? in the values of a filter as wildcards.
			for _, r := range names {
				if glob.Match(r, name, glob.AllEscapes) {
					out.ByName[r] = append(out.ByName[r], id)
					if found[r] == nil {
						found[r] = map[string]bool{}
					}
					found[r][name] = true
				}
			}
		})
		if err != nil {
			return out, err
		}
		for r, distinct := range found {
			if len(distinct) > 1 {
				delete(out.ByName, r) // ambiguous: the wildcards match security groups with different names
			}
		}
	}
	// The result is in the order of the question, not in that of AWS's answer.
	slices.SortFunc(out.ByID, func(a, b string) int { return slices.Index(ids, a) - slices.Index(ids, b) })
	for _, found := range out.ByName {
		slices.Sort(found)
	}
	for _, r := range q.List {
		if !slices.Contains(out.ByID, r) && len(out.ByName[r]) == 0 {
			out.Missing = append(out.Missing, r)
		}
	}
	return out, nil
}

func (n *nameFacts) forEachSecurityGroup(ctx context.Context, f []ec2types.Filter, do func(id, name string)) error {
	pages := ec2.NewDescribeSecurityGroupsPaginator(n.API.EC2, &ec2.DescribeSecurityGroupsInput{Filters: f})
	for pages.HasMorePages() {
		page, err := pages.NextPage(sdk.WithOptional(ctx))
		if err != nil {
			return fmt.Errorf("find security groups: %w", err)
		}
		for _, g := range page.SecurityGroups {
			do(aws.ToString(g.GroupId), convert.EC2TagsFromAWS(g.Tags)[convert.NameTag])
		}
	}
	return nil
}

// namespaceOfTargetGroup returns the namespace of the object for which the controller created a target group. known is false
// if the inventory does not contain the target group, or the cluster does not own it.
func namespaceOfTargetGroup(v *inventory.Inventory, arn string) (namespace string, known bool) {
	v.WithReadLock(func() {
		e := v.TargetGroups.Get(arn)
		if e == nil || !naming.BelongsToCluster(v.Cluster, e.Seen.Tags) {
			return
		}
		for _, k := range model.Kinds {
			if id, ok := e.Seen.Tags[naming.ResourceTag(k)]; ok {
				namespace, _, known = strings.Cut(id, "/")
			}
		}
	})
	return namespace, known
}

// askTargetGroup returns the ARN of a target group of any owner by name or ARN, or "" if it does not exist. Most target
// groups are in the inventory, and need no call.
func (n *nameFacts) askTargetGroup(ctx context.Context, ref string) (string, error) {
	known := func() (arn string, ok bool) {
		n.inv.WithReadLock(func() {
			for a := range n.inv.TargetGroups.EntriesWithKey(inventory.ByName, ref) {
				arn, ok = a, true
			}
			if n.inv.TargetGroups.Get(ref) != nil {
				arn, ok = ref, true
			}
		})
		if ok {
			return arn, ok
		}
		n.WithLock(func() {
			f := n.targetGroups[ref]
			arn, ok = f.arn, n.IsYounger(f.readAt, f.maxAge(n.targetGroups, durations.NotFoundAge))
		})
		return arn, ok
	}
	return sdk.CachedOrRead(ctx, n.ReadOptional, "target group "+ref, known, func() error {
		start := n.Config.Clock.Now()
		in := &elb.DescribeTargetGroupsInput{Names: []string{ref}}
		if strings.HasPrefix(ref, "arn:") {
			in = &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{ref}}
		}
		out, err := n.API.ELB.DescribeTargetGroups(sdk.WithOptional(ctx), in)
		if err != nil && !sdk.IsGone(err) && sdk.ClassOf(err) != failure.Invalid {
			return fmt.Errorf("find target group %s: %w", ref, err)
		}
		found := cachedARN{readAt: start}
		if err == nil && len(out.TargetGroups) == 1 {
			found.arn = aws.ToString(out.TargetGroups[0].TargetGroupArn)
		}
		n.WithLock(func() { cache.Put(n.targetGroups, ref, found, expiryCheck(n.Client)) })
		return nil
	})
}
