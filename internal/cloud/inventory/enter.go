package inventory

import (
	"iter"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// FoundLoadBalancer is a load balancer as AWS describes it.
type FoundLoadBalancer struct {
	Seen    observed.LoadBalancer
	Created time.Time
}

// EnterLoadBalancers enters the load balancers that a reading found, by ARN. A load balancer that was requested and not
// found does not exist any more, and is dropped. start is the time at which the reading began.
func (v *Inventory) EnterLoadBalancers(seen map[string]FoundLoadBalancer, requested iter.Seq[string], start time.Time) {
	for arn, x := range seen {
		v.SetAccount(arn)
		e := v.LoadBalancers.Get(arn)
		switch {
		case v.hasTombstone(arn, start):
			continue
		case e == nil:
			v.LoadBalancers.Put(arn, &LoadBalancer{Seen: x.Seen, ReadAt: start, createdAt: x.Created})
		case !e.WrittenAt.After(start) && !e.ReadAt.After(start):
			x.Seen.Tags, x.Seen.Attributes, x.Seen.Capacity = e.Seen.Tags, e.Seen.Attributes, e.Seen.Capacity
			v.OutsideChanges.compareLoadBalancer(arn, e, x.Seen, start)
			v.LoadBalancers.Edit(arn, func(e *LoadBalancer) { e.Seen, e.ReadAt = x.Seen, start })
		}
	}
	for arn := range requested {
		e := v.LoadBalancers.Get(arn)
		if _, ok := seen[arn]; !ok && e != nil && start.Sub(e.MadeAt) > durations.SettleWindow && !e.ReadAt.After(start) {
			v.OutsideChanges.noteDeleted(e.Seen.Tags, plan.LoadBalancer, arn)
			v.DropLoadBalancer(arn)
		}
	}
}

// FoundTargetGroup is a target group as AWS describes it.
type FoundTargetGroup struct {
	Seen observed.TargetGroup
	VPC  string
}

// EnterTargetGroups enters target groups as EnterLoadBalancers enters load balancers.
func (v *Inventory) EnterTargetGroups(seen map[string]FoundTargetGroup, requested iter.Seq[string], start time.Time) {
	for arn, x := range seen {
		v.SetAccount(arn)
		e := v.TargetGroups.Get(arn)
		switch {
		case v.hasTombstone(arn, start):
			continue
		case e == nil:
			v.TargetGroups.Put(arn, &TargetGroup{Seen: x.Seen, VPC: x.VPC, ReadAt: start})
		case !e.WrittenAt.After(start) && !e.ReadAt.After(start):
			x.Seen.Tags, x.Seen.Attributes = e.Seen.Tags, e.Seen.Attributes
			v.OutsideChanges.compareTargetGroup(arn, e, x.Seen, start)
			v.TargetGroups.Edit(arn, func(e *TargetGroup) { e.Seen, e.VPC, e.ReadAt = x.Seen, x.VPC, start })
		}
	}
	for arn := range requested {
		e := v.TargetGroups.Get(arn)
		if _, ok := seen[arn]; !ok && e != nil && start.Sub(e.MadeAt) > durations.SettleWindow && !e.ReadAt.After(start) {
			v.OutsideChanges.noteDeleted(e.Seen.Tags, plan.TargetGroup, arn)
			v.TargetGroups.Drop(arn)
		}
	}
}

// SetAccount sets the account id from an ARN, unless the id is already known.
func (v *Inventory) SetAccount(arn string) {
	if v.Account != "" {
		return
	}
	if part := strings.SplitN(arn, ":", 6); len(part) == 6 {
		v.Account = part[4]
	}
}

// EnterSecurityGroups enters security groups, by id, as EnterLoadBalancers enters load balancers.
func (v *Inventory) EnterSecurityGroups(seen map[string]observed.SecurityGroup, requested iter.Seq[string], start time.Time) {
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
			v.OutsideChanges.noteDeleted(e.Seen.Tags, plan.SecurityGroup, id)
			v.SecurityGroups.Drop(id)
		}
	}
}
