package inventory

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// The result of each read is compared with the previous content of the inventory. A difference is an outside change, which
// means that another process or user has changed the resource, if the resource was already in the inventory and its settle
// window is over. The outside change is recorded for the stack of the resource, and Notifier is called. The next plan
// determines whether the controller must repair anything.

// maxOutsideChanges is the maximum number of outside changes that are recorded for each stack. The oldest is removed first.
const maxOutsideChanges = 32

// outsideChanges has the recorded outside changes. It belongs to the inventory, and the lock of the inventory guards it.
type outsideChanges struct {
	cluster  string
	clock    clock.PassiveClock
	byStack  map[stackTag][]observed.OutsideChange
	lastDrop time.Time // when old changes were last removed
	// Notifier is called for each recorded change, unless it is nil.
	Notifier drift.Notifier
}

// stackTag identifies a stack by the kind and value of its tag.
type stackTag struct {
	kind  model.Kind
	value string
}

// Record records an outside change: another process or user has changed a resource with the given tags. The recorded time is
// the current time, and not the time at which the read began. With the earlier time, the change would be ignored if a plan
// was made during the read.
func (v *outsideChanges) Record(tags map[string]string, kind plan.ResourceKind, id string) {
	v.addChange(tags, observed.OutsideChange{Kind: string(kind), ID: id})
}

// recordDeleted records that another process or user has deleted a resource with the given tags.
func (v *outsideChanges) recordDeleted(tags map[string]string, kind plan.ResourceKind, id string) {
	v.addChange(tags, observed.OutsideChange{Kind: string(kind), ID: id, DeletedResource: resourceIDFromTags(tags)})
}

// resourceIDFromTags returns the ID of a resource in its stack, from the tags of the resource, or "" if the tags have none.
func resourceIDFromTags(tags map[string]string) string {
	for _, k := range model.Kinds {
		if id := tags[naming.ResourceTag(k)]; id != "" {
			return id
		}
	}
	return ""
}

func (v *outsideChanges) addChange(tags map[string]string, f observed.OutsideChange) {
	if !naming.BelongsToCluster(v.cluster, tags) {
		return
	}
	now := v.clock.Now()
	f.ReadAt = now
	if now.Sub(v.lastDrop) > durations.CacheRetention {
		v.dropOld(now)
		v.lastDrop = now
	}
	for _, k := range model.Kinds {
		value, ok := tags[naming.StackTag(k)]
		if !ok || tags[naming.ResourceTag(k)] == "" {
			continue
		}
		of := stackTag{k, value}
		list := slices.DeleteFunc(slices.Clone(v.byStack[of]), func(o observed.OutsideChange) bool {
			return now.Sub(o.ReadAt) > durations.CacheRetention || o.Kind == f.Kind && o.ID == f.ID
		})
		if len(list) >= maxOutsideChanges {
			list = list[1:]
		}
		v.byStack[of] = append(list, f)
		if v.Notifier != nil {
			v.Notifier.ChangedOutside(StackFromTagValue(k, value))
		}
	}
}

// ChangesTo returns the outside changes of the resources of a stack within durations.CacheRetention.
func (v *outsideChanges) ChangesTo(id model.StackID, now time.Time) (out []observed.OutsideChange) {
	for _, f := range v.byStack[stackTag{id.Kind, naming.StackTagValue(id)}] {
		if now.Sub(f.ReadAt) <= durations.CacheRetention {
			out = append(out, f)
		}
	}
	return out
}

// dropOld removes the stacks whose last change is older than durations.CacheRetention.
func (v *outsideChanges) dropOld(now time.Time) {
	for of, list := range v.byStack {
		if now.Sub(list[len(list)-1].ReadAt) > durations.CacheRetention {
			delete(v.byStack, of)
		}
	}
}

// StackFromTagValue returns the stack that is named in the value of a stack tag.
func StackFromTagValue(kind model.Kind, value string) model.StackID {
	if namespace, name, ok := strings.Cut(value, "/"); ok {
		return model.StackID{Kind: kind, Namespace: namespace, Name: name}
	}
	return model.StackID{Kind: kind, Name: value}
}

// compareLoadBalancer records an outside change if a load balancer differs from its entry in the inventory. It ignores
// values that AWS changes itself, such as the state of the load balancer. at is the time of the read.
func (v *outsideChanges) compareLoadBalancer(arn string, e *LoadBalancer, now observed.LoadBalancer, at time.Time) {
	was := e.Seen
	now.State, now.DNSName, now.Addresses, now.Mappings = was.State, was.DNSName, was.Addresses, was.Mappings
	if was.State != observed.LoadBalancerProvisioning && cache.IsSettled(at, e.MadeAt, e.WrittenAt) && !equality.Semantic.DeepEqual(was, now) {
		v.Record(was.Tags, plan.LoadBalancer, arn)
	}
}

// compareTargetGroup records an outside change if a target group differs from its entry in the inventory. It ignores the
// load balancers of the target group, because they follow from the listeners and rules.
func (v *outsideChanges) compareTargetGroup(arn string, e *TargetGroup, now observed.TargetGroup, at time.Time) {
	now.LoadBalancers = e.Seen.LoadBalancers
	if cache.IsSettled(at, e.MadeAt, e.WrittenAt) && !equality.Semantic.DeepEqual(e.Seen, now) {
		v.Record(e.Seen.Tags, plan.TargetGroup, arn)
	}
}

// CompareListeners records an outside change for each listener and rule of a load balancer that differs from the inventory.
// at is the time of the read.
func (v *outsideChanges) CompareListeners(e *LoadBalancer, now map[string]*Listener, at time.Time) {
	if e.DetailAt.IsZero() && !e.Invalidated || !cache.IsSettled(at, e.MadeAt, e.WrittenAt) {
		return
	}
	for arn, was := range e.Listeners {
		le := now[arn]
		if le == nil {
			v.addChange(e.Seen.Tags, observed.OutsideChange{Kind: string(plan.Listener), ID: arn, DeletedResource: listenerID(e.Seen, was.Seen.Port)})
			continue
		}
		l := le.Seen
		l.Attributes = was.Seen.Attributes // attributes are compared where they are read
		if was.CertificatesDue || le.CertificatesDue {
			l.Certificates = was.Seen.Certificates
		}
		if e.RuleTagsAt.IsZero() || l.Tags == nil {
			l.Tags = was.Seen.Tags
		}
		if !equality.Semantic.DeepEqual(was.Seen, l) {
			v.Record(e.Seen.Tags, plan.Listener, arn)
		}
		v.compareRules(e, was, le)
	}
	for arn := range now {
		if e.Listeners[arn] == nil {
			v.addChange(e.Seen.Tags, observed.OutsideChange{Kind: string(plan.Listener), ID: arn, WasAdded: true})
		}
	}
}

// listenerID returns the ID, within the stack, of the listener on a port.
func listenerID(lb observed.LoadBalancer, port int32) string {
	if resourceIDFromTags(lb.Tags) == model.FrontendNLBID {
		return naming.FrontendListenerID(port)
	}
	return naming.ListenerID(port)
}

func (v *outsideChanges) compareRules(e *LoadBalancer, was, now *Listener) {
	for arn, old := range was.Rules {
		r, there := now.Rules[arn]
		if e.RuleTagsAt.IsZero() || r.Tags == nil {
			r.Tags = old.Tags
		}
		switch {
		case !there:
			v.addChange(e.Seen.Tags, observed.OutsideChange{Kind: string(plan.Rule), ID: arn, DeletedResource: plan.RuleText(was.Seen.Port, old.Conditions)})
		case !equality.Semantic.DeepEqual(old, r):
			v.Record(e.Seen.Tags, plan.Rule, arn)
		}
	}
	for arn := range now.Rules {
		if _, there := was.Rules[arn]; !there {
			v.addChange(e.Seen.Tags, observed.OutsideChange{Kind: string(plan.Rule), ID: arn, WasAdded: true})
		}
	}
}

// CompareTags records an outside change if the tags of a resource differ from its previous tags, which were read at the time
// at. exists is false if the resource does not exist any more. writes are the times at which this process created or changed
// the resource. Within the settle window after a write, nothing is recorded.
func (v *outsideChanges) CompareTags(kind plan.ResourceKind, arn string, previous, tags map[string]string, exists bool, at, now time.Time, writes ...time.Time) {
	switch {
	case at.IsZero() || !cache.IsSettled(now, writes...) || maps.Equal(previous, tags):
	case !exists:
		v.recordDeleted(previous, kind, arn)
	default:
		v.Record(previous, kind, arn)
	}
}

// compareCapacity records an outside change if the reserved capacity of a load balancer differs from the inventory.
func (v *outsideChanges) compareCapacity(e *LoadBalancer, units int32, now time.Time) {
	if e.Seen.Capacity != nil && cache.IsSettled(now, e.WrittenAt, e.CapacityAt) && *e.Seen.Capacity != units {
		v.Record(e.Seen.Tags, plan.LoadBalancer, e.Seen.ARN)
	}
}

// IsTracked reports whether a resource with these tags belongs to a stack of the cluster.
func IsTracked(cluster string, tags map[string]string) bool {
	return naming.BelongsToCluster(cluster, tags) && slices.ContainsFunc(model.Kinds, func(k model.Kind) bool {
		return tags[naming.StackTag(k)] != "" && tags[naming.ResourceTag(k)] != ""
	})
}
