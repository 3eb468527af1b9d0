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

// Resource is what steps need to know about a resource of any kind before they change it.
type Resource struct {
	// VPC and Tags belong to the resource. For a listener or a rule they belong to its load balancer.
	VPC  string
	Tags map[string]string
	// MadeAt is when this process created the resource; zero if it did not create the resource, or if the resource is a
	// rule.
	MadeAt time.Time
}

// Resource finds a resource of a stack. known is false if the inventory does not contain it.
func (v *Inventory) Resource(kind plan.ResourceKind, id string) (out Resource, known bool) {
	v.WithReadLock(func() {
		switch kind {
		case plan.LoadBalancer:
			if e := v.LoadBalancers.Get(id); e != nil {
				out, known = Resource{e.Seen.VPC, e.Seen.Tags, e.MadeAt}, true
			}
		case plan.TargetGroup:
			if e := v.TargetGroups.Get(id); e != nil {
				out, known = Resource{e.VPC, e.Seen.Tags, e.MadeAt}, true
			}
		case plan.Listener:
			if e, le := v.Listener(id); le != nil {
				out, known = Resource{e.Seen.VPC, e.Seen.Tags, le.MadeAt}, true
			}
		case plan.Rule:
			if e, le := v.Rule(id); le != nil {
				out, known = Resource{VPC: e.Seen.VPC, Tags: e.Seen.Tags}, true
			}
		case plan.SecurityGroup, plan.BackendGroup:
			if e := v.SecurityGroups.Get(id); e != nil {
				out, known = Resource{e.Seen.VPC, e.Seen.Tags, e.MadeAt}, true
			}
		}
	})
	return out, known
}

// Forget makes the next run read a resource again, and whether it exists. It then reads a listener or a rule with all
// listeners of the load balancer, and any other resource with the list of its kind. The caller holds the lock.
func (v *Inventory) Forget(kind plan.ResourceKind, id string) {
	switch kind {
	case plan.LoadBalancer:
		v.ForgetList(LoadBalancerList)
	case plan.TargetGroup:
		v.ForgetList(TargetGroupList)
	case plan.SecurityGroup, plan.BackendGroup:
		v.ForgetList(SecurityGroupList)
	case plan.Rule:
		v.Forget(plan.Listener, v.Parent[id])
	case plan.Listener:
		if e, _ := v.Listener(id); e != nil {
			e.DetailAt = time.Time{}
		}
	}
}

// ForgetTags makes the next run read the tags of a load balancer or a target group again.
func (v *loadBalancing) ForgetTags(kind plan.ResourceKind, id string) {
	switch kind {
	case plan.LoadBalancer:
		v.LoadBalancers.Edit(id, func(e *LoadBalancer) { e.TagsAt = time.Time{} })
	case plan.TargetGroup:
		v.TargetGroups.Edit(id, func(e *TargetGroup) { e.TagsAt = time.Time{} })
	}
}

// cachedAttributes are the cached attributes of a resource.
type cachedAttributes struct {
	values *map[string]string
	readAt *time.Time        // when values was read
	tags   map[string]string // the tags that name the stack of the resource
}

// attributesOf finds the attributes that a question asks for. It returns false if the resource is not in the inventory.
func (v *loadBalancing) attributesOf(q model.AskAttributes) (cachedAttributes, bool) {
	switch plan.ResourceKind(q.Of) {
	case plan.LoadBalancer:
		if e := v.LoadBalancers.Get(q.ARN); e != nil {
			return cachedAttributes{&e.Seen.Attributes, &e.AttributesAt, e.Seen.Tags}, true
		}
	case plan.Listener:
		if e, le := v.Listener(q.ARN); le != nil {
			return cachedAttributes{&le.Seen.Attributes, &le.AttributesAt, e.Seen.Tags}, true
		}
	case plan.TargetGroup:
		if e := v.TargetGroups.Get(q.ARN); e != nil {
			return cachedAttributes{&e.Seen.Attributes, &e.AttributesAt, e.Seen.Tags}, true
		}
	}
	return cachedAttributes{}, false
}

// AttributesAt returns when the attributes of a resource were read.
func (v *Inventory) AttributesAt(q model.AskAttributes) (at time.Time) {
	v.WithReadLock(func() {
		if a, ok := v.attributesOf(q); ok {
			at = *a.readAt
		}
	})
	return at
}

// SetAttributes enters all attributes of a resource, which were read or written at the time at.
func (v *Inventory) SetAttributes(q model.AskAttributes, values map[string]string, at time.Time) {
	v.WithWriteLock(func() {
		if a, ok := v.attributesOf(q); ok {
			*a.values, *a.readAt = values, at
		}
	})
}

// ForgetAttributes removes the attributes of a resource, so that the next plan reads them.
func (v *Inventory) ForgetAttributes(q model.AskAttributes) { v.SetAttributes(q, nil, time.Time{}) }

// CompareAttributes compares attributes that were just read with those of the inventory, and records a difference as a
// change by others.
func (v *Inventory) CompareAttributes(q model.AskAttributes, values map[string]string, now time.Time) {
	v.WithWriteLock(func() {
		if a, ok := v.attributesOf(q); ok && !a.readAt.IsZero() && cache.IsSettled(now, *a.readAt) && !maps.Equal(*a.values, values) {
			v.OutsideChanges.Record(a.tags, plan.ResourceKind(q.Of), q.ARN)
		}
	})
}

// IsCapacityFresh reports whether the capacity was read at or after since, and is fresh.
func (e *LoadBalancer) IsCapacityFresh(c *sdk.Client, since time.Time) bool {
	if e.Seen.State == observed.LoadBalancerProvisioning {
		return c.IsYounger(e.CapacityAt, durations.Recent)
	}
	return c.IsCurrent(e.CapacityAt, since, e.Seen.ARN)
}

// SetCapacity enters the capacity of a load balancer, in LCUs, which was read at the given time.
func (v *Inventory) SetCapacity(arn string, units int32, at time.Time) {
	v.WithWriteLock(func() {
		if e := v.LoadBalancers.Get(arn); e != nil {
			v.OutsideChanges.compareCapacity(e, units, at)
			e.Seen.Capacity, e.CapacityAt = &units, at
		}
	})
}
