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

// Resource is what a step needs to know about a resource before it changes the resource.
type Resource struct {
	// VPC and Tags are the VPC and tags of the resource. For a listener or a rule, they are the VPC and tags of its load
	// balancer.
	VPC  string
	Tags map[string]string
	// MadeAt is when this process created the resource. It is zero if another process created it, or if the resource is a
	// rule.
	MadeAt time.Time
}

// Resource returns what the inventory contains about a resource. id is the ARN, or the ID of a security group. known is
// false if the inventory does not contain the resource.
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
			if e, le := v.ListenerOfRule(id); le != nil {
				out, known = Resource{VPC: e.Seen.VPC, Tags: e.Seen.Tags}, true
			}
		case plan.SecurityGroup, plan.BackendSecurityGroup:
			if e := v.SecurityGroups.Get(id); e != nil {
				out, known = Resource{e.Seen.VPC, e.Seen.Tags, e.MadeAt}, true
			}
		}
	})
	return out, known
}

// Forget makes the next run read a resource again. A listener or a rule is read with all listeners of its load balancer. Any
// other resource is read with the list of all resources of its kind. The caller holds the lock.
func (v *Inventory) Forget(kind plan.ResourceKind, id string) {
	switch kind {
	case plan.LoadBalancer:
		v.ForgetList(LoadBalancerList)
	case plan.TargetGroup:
		v.ForgetList(TargetGroupList)
	case plan.SecurityGroup, plan.BackendSecurityGroup:
		v.ForgetList(SecurityGroupList)
	case plan.Rule:
		v.Forget(plan.Listener, v.Parent[id])
	case plan.Listener:
		if e, _ := v.Listener(id); e != nil {
			e.DetailAt = time.Time{}
		}
	}
}

// ForgetTags makes the next run read the tags of a load balancer or a target group again. It does nothing for other kinds.
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
	tags   map[string]string // the tags of the resource, or of its load balancer, which name the stack
}

// attributesOf returns the cached attributes of the resource in q. It returns false if the resource is not in the inventory.
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

// AttributesAt returns when the attributes of a resource were last read or written; zero if they are not cached.
func (v *Inventory) AttributesAt(q model.AskAttributes) (at time.Time) {
	v.WithReadLock(func() {
		if a, ok := v.attributesOf(q); ok {
			at = *a.readAt
		}
	})
	return at
}

// SetAttributes stores all attributes of a resource, which were written at the time at.
func (v *Inventory) SetAttributes(q model.AskAttributes, values map[string]string, at time.Time) {
	v.WithWriteLock(func() {
		if a, ok := v.attributesOf(q); ok {
			*a.values, *a.readAt = values, at
		}
	})
}

// ForgetAttributes removes the attributes of a resource, so that the next run reads them.
func (v *Inventory) ForgetAttributes(q model.AskAttributes) { v.SetAttributes(q, nil, time.Time{}) }

// StoreAttributes stores all attributes of a resource. start is when the read began; attributes that were read or written
// later are not changed. It records a difference as an outside change, unless the last read or write was within the settle
// window.
func (v *Inventory) StoreAttributes(q model.AskAttributes, values map[string]string, start time.Time) {
	v.WithWriteLock(func() {
		a, ok := v.attributesOf(q)
		if !ok || a.readAt.After(start) {
			return
		}
		if !a.readAt.IsZero() && cache.IsSettled(start, *a.readAt) && !maps.Equal(*a.values, values) {
			v.OutsideChanges.Record(a.tags, plan.ResourceKind(q.Of), q.ARN)
		}
		*a.values, *a.readAt = values, start
	})
}

// IsCapacityFresh reports whether the cached capacity is fresh and was not read before the time since. While the load
// balancer is in state provisioning, the capacity is fresh only for durations.Recent.
func (e *LoadBalancer) IsCapacityFresh(c *sdk.Client, since time.Time) bool {
	if e.Seen.State == observed.LoadBalancerProvisioning {
		return c.IsYounger(e.CapacityAt, durations.Recent)
	}
	return c.IsCurrent(e.CapacityAt, since, e.Seen.ARN)
}

// SetCapacity stores the reserved capacity of a load balancer, in LCUs, which was read at the time at. It records a
// difference as an outside change.
func (v *Inventory) SetCapacity(arn string, units int32, at time.Time) {
	v.WithWriteLock(func() {
		if e := v.LoadBalancers.Get(arn); e != nil {
			v.OutsideChanges.compareCapacity(e, units, at)
			e.Seen.Capacity, e.CapacityAt = &units, at
		}
	})
}
