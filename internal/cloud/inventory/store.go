package inventory

import (
	"cmp"
	"iter"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// StoreLoadBalancers stores the load balancers that were read, by ARN, and records outside changes. Only the fields Seen and
// Created of the given load balancers are set. requested has the ARNs that the read should find. A requested load balancer
// that was not found is removed, unless this process created it within the settle window. start is when the read began;
// entries that were read or written later are not changed. The caller holds the lock.
func (v *Inventory) StoreLoadBalancers(seen map[string]*LoadBalancer, requested iter.Seq[string], start time.Time) {
	for arn, x := range seen {
		v.SetAccount(arn)
		e := v.LoadBalancers.Get(arn)
		switch {
		case v.hasTombstone(arn, start):
			continue
		case e == nil:
			x.ReadAt = start
			v.LoadBalancers.Put(arn, x)
		case !e.WrittenAt.After(start) && !e.ReadAt.After(start):
			x.Seen.Tags, x.Seen.Attributes, x.Seen.Capacity = e.Seen.Tags, e.Seen.Attributes, e.Seen.Capacity
			v.OutsideChanges.compareLoadBalancer(arn, e, x.Seen, start)
			v.LoadBalancers.Edit(arn, func(e *LoadBalancer) { e.Seen, e.Created, e.ReadAt = x.Seen, x.Created, start })
		}
	}
	for arn := range requested {
		e := v.LoadBalancers.Get(arn)
		if _, ok := seen[arn]; !ok && e != nil && start.Sub(e.MadeAt) > durations.SettleWindow && !e.ReadAt.After(start) {
			v.OutsideChanges.recordDeleted(e.Seen.Tags, plan.LoadBalancer, arn)
			v.DropLoadBalancer(arn)
		}
	}
}

// StoreTargetGroups stores target groups, by ARN, in the same way as StoreLoadBalancers. Only the fields Seen and VPC of the
// target groups are set.
func (v *Inventory) StoreTargetGroups(seen map[string]*TargetGroup, requested iter.Seq[string], start time.Time) {
	for arn, x := range seen {
		v.SetAccount(arn)
		e := v.TargetGroups.Get(arn)
		switch {
		case v.hasTombstone(arn, start):
			continue
		case e == nil:
			x.ReadAt = start
			v.TargetGroups.Put(arn, x)
		case !e.WrittenAt.After(start) && !e.ReadAt.After(start):
			x.Seen.Tags, x.Seen.Attributes = e.Seen.Tags, e.Seen.Attributes
			v.OutsideChanges.compareTargetGroup(arn, e, x.Seen, start)
			v.TargetGroups.Edit(arn, func(e *TargetGroup) { e.Seen, e.VPC, e.ReadAt = x.Seen, x.VPC, start })
		}
	}
	for arn := range requested {
		e := v.TargetGroups.Get(arn)
		if _, ok := seen[arn]; !ok && e != nil && start.Sub(e.MadeAt) > durations.SettleWindow && !e.ReadAt.After(start) {
			v.OutsideChanges.recordDeleted(e.Seen.Tags, plan.TargetGroup, arn)
			v.TargetGroups.Drop(arn)
		}
	}
}

// SetAccount takes the account ID from an ARN, unless the account ID is already known.
func (v *Inventory) SetAccount(arn string) { v.Account = cmp.Or(v.Account, AccountOfARN(arn)) }

// AccountOfARN returns the account ID in an ARN, or "" if there is none.
func AccountOfARN(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}

// StoreSecurityGroups stores security groups, by ID, in the same way as StoreLoadBalancers.
func (v *Inventory) StoreSecurityGroups(seen map[string]observed.SecurityGroup, requested iter.Seq[string], start time.Time) {
	for id, x := range seen {
		e := v.SecurityGroups.Get(id)
		switch {
		case v.hasTombstone(id, start):
			continue
		case e == nil:
			v.SecurityGroups.Put(id, &SecurityGroup{Seen: x, ReadAt: start})
		case !e.WrittenAt.After(start) && !e.ReadAt.After(start):
			if cache.IsSettled(start, e.MadeAt, e.WrittenAt) && !equality.Semantic.DeepEqual(e.Seen, x) {
				v.OutsideChanges.Record(e.Seen.Tags, plan.SecurityGroup, id)
			}
			v.SecurityGroups.Edit(id, func(e *SecurityGroup) { e.Seen, e.ReadAt = x, start })
		}
	}
	for id := range requested {
		e := v.SecurityGroups.Get(id)
		if _, ok := seen[id]; !ok && e != nil && start.Sub(e.MadeAt) > durations.SettleWindow && !e.ReadAt.After(start) {
			v.OutsideChanges.recordDeleted(e.Seen.Tags, plan.SecurityGroup, id)
			v.SecurityGroups.Drop(id)
		}
	}
}
