// Package targets reads and changes the targets of target groups, with the credentials of the controller or of an IAM role.
// The target groups may have any owner, because users can name any target group in a TargetGroupBinding.
package targets

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Targets reads and changes the targets of target groups of any owner, with the credentials of the controller or of an IAM
// role.
type Targets struct {
	*sdk.Client
	inv    *inventory.Inventory
	owners *sdk.Answers[[]string] // results of ownerNamespacesIn for target groups that are not in the inventory

	cache.Guard
	descriptions map[targetGroupKey]describedTargetGroup
	health       map[targetGroupKey]observed.Health
	recentWrites map[targetGroupKey]ownWrites
	albTargets   map[string]cachedALBTargets // by ARN of the target group
	roles        map[bindings.Account]roleClient
	limits       accountLimits
}

// New returns Targets with an empty cache.
func New(client *sdk.Client, inv *inventory.Inventory) *Targets {
	t := &Targets{Client: client, inv: inv, owners: sdk.NewAnswers[[]string](client), roles: map[bindings.Account]roleClient{}}
	t.limits = accountLimits{ownSchedule: client.Limits, otherSchedules: map[string]*ratelimit.Schedule{}}
	t.Reset()
	return t
}

// Reset empties the caches of target groups and targets. It keeps the clients of IAM roles and the owners of target groups.
func (t *Targets) Reset() {
	t.WithLock(func() {
		t.descriptions, t.health, t.recentWrites = map[targetGroupKey]describedTargetGroup{}, map[targetGroupKey]observed.Health{}, map[targetGroupKey]ownWrites{}
		t.albTargets = map[string]cachedALBTargets{}
	})
}

type describedTargetGroup struct {
	group  bindings.TargetGroup
	err    error // the error with which AWS refused the call; group is then empty
	readAt time.Time
}

// TargetGroups accesses target groups with the credentials of an account.
type TargetGroups struct {
	*Targets
	account bindings.Account
}

// TargetGroupsOf returns access to target groups with the credentials of an account. It makes no call.
func (t *Targets) TargetGroupsOf(a bindings.Account) TargetGroups { return TargetGroups{t, a} }

// OwnTargetGroups returns access to target groups with the credentials of the controller.
func (t *Targets) OwnTargetGroups() TargetGroups { return TargetGroups{Targets: t} }

// targetGroupKey is the key of a target group in the caches. It contains the account, so that a value that was read with one
// role is not used for another role. Users choose all parts of a key, so different keys must have different texts.
type targetGroupKey struct {
	account   bindings.Account
	arn, name string // the ARN or the name of the target group, as given by the caller
}

// key returns the key of a target group that is named by its ARN.
func (t TargetGroups) key(arn string) targetGroupKey {
	return targetGroupKey{account: t.account, arn: arn}
}

// text returns the key as a text, which starts with prefix.
func (k targetGroupKey) text(prefix string) string {
	return fmt.Sprintf("%s %q %q %q %q", prefix, k.account.Role, k.account.ExternalID.Reveal(), k.arn, k.name)
}

// api returns the client with the credentials of the account. It assumes the IAM role if necessary.
func (t TargetGroups) api(ctx context.Context) (*elb.Client, error) {
	if t.account.Role == "" {
		return t.Targets.API.ELB, nil
	}
	return t.assumeRole(ctx, t.account)
}

// forTargetGroup returns a context for calls of a binding. It names the target group as the caller, so that postponed calls
// keep their position in the queue of the rate limiter.
func forTargetGroup(ctx context.Context, arn string) context.Context {
	return sdk.WithCaller(ctx, "", "target group "+arn, sdk.CauseTargets)
}

// ownTargetGroup returns a target group from the inventory, without a call. ok is false if the inventory does not contain
// it, or if an IAM role is used.
func (t TargetGroups) ownTargetGroup(arn string) (g bindings.TargetGroup, ok bool) {
	if t.account.Role != "" || arn == "" {
		return g, false
	}
	t.inv.WithReadLock(func() {
		if e := t.inv.TargetGroups.Get(arn); e != nil && !e.ReadAt.IsZero() {
			g, ok = bindings.TargetGroup{ARN: arn, Type: e.Seen.Type, Protocol: e.Seen.Protocol, AddressType: e.Seen.AddressType, VPC: e.VPC}, true
		}
	})
	return g, ok
}

// TargetGroup implements bindings.TargetGroups.
func (t TargetGroups) TargetGroup(ctx context.Context, arn, name string, maxAge time.Duration) (bindings.TargetGroup, error) {
	if g, ok := t.ownTargetGroup(arn); ok {
		return g, nil
	}
	ctx = forTargetGroup(ctx, arn+name)
	key := t.key(arn)
	if arn == "" {
		key.name = name
	}
	cached := func() (d describedTargetGroup, ok bool) {
		t.WithLock(func() {
			d = t.descriptions[key]
			ok = t.IsYounger(d.readAt, maxAge)
			if d.err != nil {
				refusals := cache.Count(t.descriptions, func(d describedTargetGroup) bool { return d.err != nil })
				ok = t.IsYounger(d.readAt, max(durations.Recent, time.Duration(refusals)*durations.NotFoundAgePerName))
			}
		})
		return d, ok
	}
	d, err := sdk.CachedOrRead(ctx, t.ReadShared, key.text("describe"), cached, func() error {
		start := t.Config.Clock.Now()
		in := &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}}
		if arn == "" {
			in = &elb.DescribeTargetGroupsInput{Names: []string{name}}
		}
		api, err := t.api(ctx)
		if err != nil {
			return err
		}
		out, err := api.DescribeTargetGroups(ctx, in)
		switch {
		case err != nil:
			err = fmt.Errorf("find target group %s%s: %w", arn, name, err)
		case len(out.TargetGroups) != 1:
			err = sdk.NewError(failure.Gone, "find target group "+arn+name, "the target group does not exist")
		}
		if err != nil {
			if isRefused(err) {
				t.cacheDescription(key, describedTargetGroup{err: err, readAt: start})
			}
			return err
		}
		g := out.TargetGroups[0]
		found := bindings.TargetGroup{
			ARN: aws.ToString(g.TargetGroupArn), Type: model.TargetType(g.TargetType), Protocol: string(g.Protocol),
			AddressType: model.AddressType(g.IpAddressType), VPC: aws.ToString(g.VpcId),
		}
		t.cacheDescription(key, describedTargetGroup{group: found, readAt: start})
		return nil
	})
	if err != nil {
		return bindings.TargetGroup{}, err
	}
	return d.group, d.err
}

// IsInUse implements bindings.TargetGroups.
func (t TargetGroups) IsInUse(ctx context.Context, arn string) (bool, error) {
	ctx = forTargetGroup(ctx, arn)
	api, err := t.api(ctx)
	if err != nil {
		return false, err
	}
	out, err := api.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}})
	if err != nil {
		return false, fmt.Errorf("find target group %s: %w", arn, err)
	}
	return len(out.TargetGroups) == 1 && len(out.TargetGroups[0].LoadBalancerArns) > 0, nil
}

// cacheDescription caches a description, and removes old descriptions. Old descriptions are removed because users choose the
// names of target groups, so the number of entries has no limit.
func (t TargetGroups) cacheDescription(key targetGroupKey, d describedTargetGroup) {
	t.WithLock(func() {
		cache.Put(t.descriptions, key, d, func(old describedTargetGroup) bool { return !t.IsYounger(old.readAt, durations.CacheRetention) })
	})
}

// Forget removes a target group from the caches, because it was deleted or has changed. The inventory reads it again.
func (t TargetGroups) Forget(arn string) {
	if t.account.Role == "" {
		t.inv.WithWriteLock(func() {
			if e := t.inv.TargetGroups.Get(arn); e != nil {
				e.ReadAt = time.Time{}
			}
		})
	}
	t.WithLock(func() {
		delete(t.health, t.key(arn))
		maps.DeleteFunc(t.descriptions, func(_ targetGroupKey, d describedTargetGroup) bool { return d.group.ARN == arn })
	})
}

// isRefused reports whether AWS refused a call, and would refuse it again if it were repeated immediately.
func isRefused(err error) bool {
	switch sdk.ClassOf(err) {
	case failure.Gone, failure.Invalid, failure.Denied:
		return true
	}
	return false
}

// TargetHealth implements bindings.TargetGroups.
func (t TargetGroups) TargetHealth(ctx context.Context, arn string, maxAge time.Duration) (observed.Health, error) {
	ctx = forTargetGroup(ctx, arn)
	key := t.key(arn)
	start := t.Config.Clock.Now()
	cached := func() (h observed.Health) {
		t.WithLock(func() { h = t.health[key] })
		return h
	}
	if h := cached(); t.IsYounger(h.ReadAt, maxAge) {
		return h, nil
	}
	for {
		if err := t.ReadShared(ctx, key.text("health"), func() error { return t.readHealth(ctx, arn) }); err != nil {
			return observed.Health{}, err
		}
		// If another caller began the shared read before start, the health may be too old.
		if h := cached(); !h.ReadAt.Before(start) || t.IsYounger(h.ReadAt, maxAge) {
			return h, nil
		}
	}
}
