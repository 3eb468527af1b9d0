package cloud

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Whatever the inventory reads again is compared with what it held. What differs, and was neither
// written from here a moment ago nor unknown before, was changed by others: it is noted for its
// stack, and whoever asked is called. A note decides nothing by itself: the plan that is made next
// says whether there is something to restore.

const (
	// foreignKept is how long it is remembered that others have changed something of a stack.
	foreignKept = time.Hour
	// mostForeign is how many such changes are kept of a stack.
	mostForeign = 32
)

// foreign is what others have changed. It is part of the inventory, under its lock.
type foreign struct {
	cluster string
	now     func() time.Time
	of      map[foreignOf][]observed.Foreign
	dropped time.Time // when what is too old was last forgotten
	// changed, if not nil, is called with each stack of which a change is noted.
	changed func(model.StackID)
}

// foreignOf is a stack as its tags name it.
type foreignOf struct {
	kind  model.Kind
	value string
}

// note notes that others have changed a resource, which has tags. The time is that of the note and not of the reading,
// which may have begun long before: a plan that was made in between does not know of the change.
func (v *foreign) note(tags map[string]string, kind plan.ResourceKind, id string) {
	v.add(tags, observed.Foreign{Kind: string(kind), ID: id})
}

// gone notes that others have deleted a resource with tags.
func (v *foreign) gone(tags map[string]string, kind plan.ResourceKind, id string) {
	v.add(tags, observed.Foreign{Kind: string(kind), ID: id, Deleted: resourceOf(tags)})
}

// resourceOf is the id of a resource in its stack, as its tags name it.
func resourceOf(tags map[string]string) string {
	for _, k := range model.Kinds {
		if id := tags[naming.ResourceTag(k)]; id != "" {
			return id
		}
	}
	return ""
}

func (v *foreign) add(tags map[string]string, f observed.Foreign) {
	if !naming.Owns(v.cluster, tags) {
		return
	}
	now := v.now()
	f.At = now
	if now.Sub(v.dropped) > foreignKept {
		v.dropOld(now)
		v.dropped = now
	}
	for _, k := range model.Kinds {
		value, ok := tags[naming.StackTag(k)]
		if !ok || tags[naming.ResourceTag(k)] == "" {
			continue
		}
		of := foreignOf{k, value}
		list := slices.DeleteFunc(slices.Clone(v.of[of]), func(o observed.Foreign) bool {
			return now.Sub(o.At) > foreignKept || o.Kind == f.Kind && o.ID == f.ID
		})
		if len(list) >= mostForeign {
			list = list[1:]
		}
		v.of[of] = append(list, f)
		if v.changed != nil {
			v.changed(stackOf(k, value))
		}
	}
}

// to are the changes that others have made to a stack recently.
func (v *foreign) to(id model.StackID, now time.Time) (out []observed.Foreign) {
	for _, f := range v.of[foreignOf{id.Kind, naming.StackTagValue(id)}] {
		if now.Sub(f.At) <= foreignKept {
			out = append(out, f)
		}
	}
	return out
}

// dropOld forgets what is too old, of all stacks.
func (v *foreign) dropOld(now time.Time) {
	for of, list := range v.of {
		if now.Sub(list[len(list)-1].At) > foreignKept {
			delete(v.of, of)
		}
	}
}

// stackOf is the stack that a tag names.
func stackOf(kind model.Kind, value string) model.StackID {
	if namespace, name, ok := strings.Cut(value, "/"); ok {
		return model.StackID{Kind: kind, Namespace: namespace, Name: name}
	}
	return model.StackID{Kind: kind, Name: value}
}

// OnForeign has fn called with each stack of which others have changed something, as soon as that is
// read. fn must return at once and not call back.
func (c *Cloud) OnForeign(fn func(model.StackID)) { c.inv.write(func() { c.inv.foreign.changed = fn }) }

// loadBalancer compares a load balancer with how it was known. Its state changes by itself.
func (v *foreign) loadBalancer(arn string, e *lbEntry, now observed.LoadBalancer, at time.Time) {
	was := e.lb
	now.State, now.DNSName, now.Addresses, now.Mappings = was.State, was.DNSName, was.Addresses, was.Mappings
	if was.State != observed.Provisioning && cache.Settled(at, e.made, e.written) && !same(was, now) {
		v.note(was.Tags, plan.LoadBalancer, arn)
	}
}

// targetGroup does so for a target group. Which load balancers use it depends on their rules.
func (v *foreign) targetGroup(arn string, e *groupEntry, now observed.TargetGroup, at time.Time) {
	now.LoadBalancers = e.g.LoadBalancers
	if cache.Settled(at, e.made, e.written) && !same(e.g, now) {
		v.note(e.g.Tags, plan.TargetGroup, arn)
	}
}

// listeners compares the listeners of a load balancer with how they were known.
func (v *foreign) listeners(e *lbEntry, now map[string]*listenerEntry, at time.Time) {
	if e.detailAt.IsZero() && !e.distrusted || !cache.Settled(at, e.made, e.written) {
		return
	}
	for arn, was := range e.listeners {
		le := now[arn]
		if le == nil {
			v.add(e.lb.Tags, observed.Foreign{Kind: string(plan.Listener), ID: arn, Deleted: listenerID(e.lb, was.l.Port)})
			continue
		}
		l := le.l
		l.Attributes = was.l.Attributes // compared where they are read
		if was.certificatesDue || le.certificatesDue {
			l.Certificates = was.l.Certificates
		}
		if e.ruleTagsAt.IsZero() || l.Tags == nil {
			l.Tags = was.l.Tags
		}
		if !same(was.l, l) {
			v.note(e.lb.Tags, plan.Listener, arn)
		}
		v.rules(e, was, le)
	}
	for arn := range now {
		if e.listeners[arn] == nil {
			v.add(e.lb.Tags, observed.Foreign{Kind: string(plan.Listener), ID: arn, Added: true})
		}
	}
}

// listenerID is the id in the address of the listener on a port.
func listenerID(lb observed.LoadBalancer, port int32) string {
	if resourceOf(lb.Tags) == model.FrontendNLBID {
		return naming.FrontendListenerID(port)
	}
	return naming.ListenerID(port)
}

func (v *foreign) rules(e *lbEntry, was, now *listenerEntry) {
	for arn, old := range was.rules {
		r, there := now.rules[arn]
		if e.ruleTagsAt.IsZero() || r.Tags == nil {
			r.Tags = old.Tags
		}
		switch {
		case !there:
			v.add(e.lb.Tags, observed.Foreign{Kind: string(plan.Rule), ID: arn, Deleted: observed.RuleText(was.l.Port, old.Conditions)})
		case !same(old, r):
			v.note(e.lb.Tags, plan.Rule, arn)
		}
	}
	for arn := range now.rules {
		if _, there := was.rules[arn]; !there {
			v.add(e.lb.Tags, observed.Foreign{Kind: string(plan.Rule), ID: arn, Added: true})
		}
	}
}

// tags compares the tags of a resource, which is there or not, with how they were known.
func (v *foreign) tags(kind plan.ResourceKind, arn string, was, tags map[string]string, there bool, at, now time.Time, writes ...time.Time) {
	switch {
	case at.IsZero() || !cache.Settled(now, writes...) || maps.Equal(was, tags):
	case !there:
		v.gone(was, kind, arn)
	default:
		v.note(was, kind, arn)
	}
}

// noteAttributes compares the attributes of a resource with how they were known.
func noteAttributes(v *inventory, q model.AskAttributes, got map[string]string, now time.Time) {
	note := func(tags, was map[string]string, at time.Time) {
		if !at.IsZero() && cache.Settled(now, at) && !maps.Equal(was, got) {
			v.foreign.note(tags, plan.ResourceKind(q.Of), q.ARN)
		}
	}
	v.write(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			if e := v.lbs.get(q.ARN); e != nil {
				note(e.lb.Tags, e.lb.Attributes, e.attributesAt)
			}
		case plan.Listener:
			if e, le := v.listener(q.ARN); le != nil {
				note(e.lb.Tags, le.l.Attributes, le.attributesAt)
			}
		case plan.TargetGroup:
			if e := v.groups.get(q.ARN); e != nil {
				note(e.g.Tags, e.g.Attributes, e.attributesAt)
			}
		}
	})
}

// capacity compares the capacity of a load balancer with how it was known.
func (v *foreign) capacity(e *lbEntry, units int32, now time.Time) {
	if e.lb.Capacity != nil && cache.Settled(now, e.written, e.capacityAt) && *e.lb.Capacity != units {
		v.note(e.lb.Tags, plan.LoadBalancer, e.lb.ARN)
	}
}

// tracked reports whether tags are those of a stack of the cluster.
func tracked(cluster string, tags map[string]string) bool {
	return naming.Owns(cluster, tags) && slices.ContainsFunc(model.Kinds, func(k model.Kind) bool {
		return tags[naming.StackTag(k)] != "" && tags[naming.ResourceTag(k)] != ""
	})
}

// same reports whether two values are equal, where what is empty equals what is not there.
func same(a, b any) bool { return sameValue(reflect.ValueOf(a), reflect.ValueOf(b)) }

func sameValue(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameValue(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, k := range a.MapKeys() {
			if !sameValue(a.MapIndex(k), b.MapIndex(k)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if !sameValue(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return sameValue(a.Elem(), b.Elem())
	}
	return a.Equal(b)
}
