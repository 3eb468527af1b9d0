package inventory

import (
	"maps"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// CreatedAt returns when this process created a resource, or zero if it did not.
func (v *Inventory) CreatedAt(kind plan.ResourceKind, id string) (at time.Time) {
	v.Read(func() {
		switch kind {
		case plan.LoadBalancer:
			if e := v.LoadBalancers.Get(id); e != nil {
				at = e.Made
			}
		case plan.TargetGroup:
			if e := v.TargetGroups.Get(id); e != nil {
				at = e.Made
			}
		case plan.Listener:
			if _, le := v.Listener(id); le != nil {
				at = le.Made
			}
		}
	})
	return at
}

// AttributesAt returns when the attributes of a resource were read.
func (v *Inventory) AttributesAt(q model.AskAttributes) (at time.Time) {
	v.Read(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			if e := v.LoadBalancers.Get(q.ARN); e != nil {
				at = e.AttributesAt
			}
		case plan.Listener:
			if _, le := v.Listener(q.ARN); le != nil {
				at = le.AttributesAt
			}
		case plan.TargetGroup:
			if e := v.TargetGroups.Get(q.ARN); e != nil {
				at = e.AttributesAt
			}
		}
	})
	return at
}

// SetAttributes enters all attributes of a resource, which were read at the given time.
func (v *Inventory) SetAttributes(q model.AskAttributes, attributes map[string]string, at time.Time) {
	v.Write(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			if e := v.LoadBalancers.Get(q.ARN); e != nil {
				e.Seen.Attributes, e.AttributesAt = attributes, at
			}
		case plan.Listener:
			if _, le := v.Listener(q.ARN); le != nil {
				le.Seen.Attributes, le.AttributesAt = attributes, at
			}
		case plan.TargetGroup:
			if e := v.TargetGroups.Get(q.ARN); e != nil {
				e.Seen.Attributes, e.AttributesAt = attributes, at
			}
		}
	})
}

// ForgetAttributes forgets the attributes of a resource, so that the next plan reads them.
func (v *Inventory) ForgetAttributes(q model.AskAttributes) { v.SetAttributes(q, nil, time.Time{}) }

// ForgetResource makes the next run read whether a resource still exists.
func (v *Inventory) ForgetResource(q model.AskAttributes) {
	v.Write(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			v.ForgetList(LoadBalancersListed)
		case plan.Listener:
			if e, _ := v.Listener(q.ARN); e != nil {
				e.DetailAt = time.Time{}
			}
		case plan.TargetGroup:
			v.ForgetList(TargetGroupsListed)
		}
	})
}

// IsCapacityFresh reports whether the capacity is fresh, and was not read before since.
func (e *LoadBalancer) IsCapacityFresh(c *sdk.Client, since time.Time) bool {
	if e.Seen.State == observed.Provisioning {
		return c.IsYounger(e.CapacityAt, durations.Recent)
	}
	return c.IsCurrent(e.CapacityAt, since, e.Seen.ARN)
}

// SetCapacity enters the capacity of a load balancer, in LCUs, which was read at the given time.
func (v *Inventory) SetCapacity(arn string, units int32, at time.Time) {
	v.Write(func() {
		if e := v.LoadBalancers.Get(arn); e != nil {
			v.Foreign.compareCapacity(e, units, at)
			e.Seen.Capacity, e.CapacityAt = &units, at
		}
	})
}

// NoteAttributes compares attributes that were just read with those of the inventory, and notes a difference as a change
// by others.
func NoteAttributes(v *Inventory, q model.AskAttributes, attributes map[string]string, now time.Time) {
	note := func(tags, previous map[string]string, at time.Time) {
		if !at.IsZero() && cache.Settled(now, at) && !maps.Equal(previous, attributes) {
			v.Foreign.Record(tags, plan.ResourceKind(q.Of), q.ARN)
		}
	}
	v.Write(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			if e := v.LoadBalancers.Get(q.ARN); e != nil {
				note(e.Seen.Tags, e.Seen.Attributes, e.AttributesAt)
			}
		case plan.Listener:
			if e, le := v.Listener(q.ARN); le != nil {
				note(e.Seen.Tags, le.Seen.Attributes, le.AttributesAt)
			}
		case plan.TargetGroup:
			if e := v.TargetGroups.Get(q.ARN); e != nil {
				note(e.Seen.Tags, e.Seen.Attributes, e.AttributesAt)
			}
		}
	})
}
