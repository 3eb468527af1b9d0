// Package inventory caches the state of AWS: what was read, and what this process has written since. It saves calls and
// makes no decisions.
package inventory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Inventory is the cached state of AWS. Maps and slices that were returned to callers are never modified. A change of an
// entry replaces them by new maps and slices. A zero time means that a value was not read, or may be outdated.
type Inventory struct {
	mu sync.RWMutex

	keys
	loadBalancing
	SecurityGroups *Table[SecurityGroup] // the security groups of the cluster in its VPC, by ID

	// Lists has the lists of the region that were read, by key.
	Lists map[string]*List
	// TagsDue reports whether the next run must read tags that are not fresh.
	TagsDue bool

	// OutsideChanges are the changes that another process or user has made to resources of the cluster.
	OutsideChanges outsideChanges
	// tombstones are the times at which this process deleted resources, by ARN or ID.
	tombstones map[string]time.Time
	Account    string // account ID; "" if it is not known yet
}

// The keys of the lists of the region.
const (
	LoadBalancerList  = "load balancers"
	TargetGroupList   = "target groups"
	SecurityGroupList = "security groups"
	TaggedList        = "tagged resources" // read with the Resource Groups Tagging API
)

// List describes how a list of the region was last read.
type List struct {
	ReadAt time.Time // when the last complete read began
	// ExtraAge is the additional time for which the list stays fresh. It is longer if reading the list took a long time.
	ExtraAge time.Duration
	// Unfinished is an interrupted read, which the next read resumes; nil if there is none.
	Unfinished any
}

// LoadBalancer is the cached state of a load balancer.
type LoadBalancer struct {
	Seen          observed.LoadBalancer // without listeners
	ReadAt        time.Time             // when the load balancer was read; zero if the values may be outdated
	TagsAt        time.Time
	DetailAt      time.Time // when the listeners, with their rules and certificates, were read
	PartialDetail *PartialDetail
	AttributesAt  time.Time
	CapacityAt    time.Time
	StateAt       time.Time // when the state was read without the other values
	RuleTagsAt    time.Time // when the tags of all listeners and rules were read
	// RuleTagsDue reports whether the tags of listeners and rules must be read, because reading them failed when the
	// listeners were read.
	RuleTagsDue bool
	Created     time.Time // creation time in AWS; zero if AWS has not listed the load balancer yet
	MadeAt      time.Time // when this process created the load balancer, zero if it did not
	WrittenAt   time.Time // when this process last changed the load balancer
	// Invalidated reports whether the listeners must be read again, because AWS reported that a resource of the stack does
	// not exist.
	Invalidated bool
	Listeners   map[string]*Listener
	// TargetGroupUses is the number of actions that forward to each target group, by ARN of the target group.
	TargetGroupUses map[string]int
}

// Listener is the cached state of a listener with its rules.
type Listener struct {
	Seen         observed.Listener // without rules
	AttributesAt time.Time
	MadeAt       time.Time // when this process created the listener, zero if it did not
	// CertificatesDue reports whether the additional certificates must be read, because reading them failed when the
	// listener was read.
	CertificatesDue bool
	Rules           map[string]observed.Rule
}

// PartialDetail has the listeners that an interrupted read has found. The next read resumes it.
type PartialDetail struct {
	Start     time.Time
	Listeners map[string]*Listener
	Done      map[string]bool // ARNs of the listeners whose rules and certificates were read
}

// TargetGroup is the cached state of a target group. The time fields have the same meaning as in LoadBalancer.
type TargetGroup struct {
	Seen         observed.TargetGroup
	VPC          string // ID of the VPC
	ReadAt       time.Time
	TagsAt       time.Time
	AttributesAt time.Time
	MadeAt       time.Time
	WrittenAt    time.Time
}

// SecurityGroup is the cached state of a security group. The time fields have the same meaning as in LoadBalancer.
type SecurityGroup struct {
	Seen      observed.SecurityGroup
	ReadAt    time.Time
	MadeAt    time.Time
	WrittenAt time.Time
}

// New returns an empty inventory of a cluster in a VPC. refresh is how long values that were read stay fresh.
func New(cluster, vpc string, refresh time.Duration, clock clock.PassiveClock) *Inventory {
	v := &Inventory{keys: keys{Cluster: cluster, VPC: vpc, refresh: refresh}}
	v.OutsideChanges.clock = clock
	v.Reset()
	return v
}

// Reset removes all entries. The caller holds the lock, or no other goroutine uses the inventory yet.
func (v *Inventory) Reset() {
	v.LoadBalancers, v.TargetGroups, v.SecurityGroups = newTable(v.keysOfLoadBalancer), newTable(v.keysOfTargetGroup), newTable(v.keysOfSecurityGroup)
	v.tombstones, v.Parent = map[string]time.Time{}, map[string]string{}
	v.OutsideChanges.cluster, v.OutsideChanges.byStack = v.Cluster, map[stackTag][]observed.OutsideChange{}
	v.Lists = map[string]*List{LoadBalancerList: {}, TargetGroupList: {}, SecurityGroupList: {}, TaggedList: {}}
	v.NextTagsDueAt = time.Time{}
}

// ForgetList makes the next run read a list from the beginning. The caller holds the lock.
func (v *Inventory) ForgetList(key string) {
	v.Lists[key].ReadAt, v.Lists[key].Unfinished = time.Time{}, nil
}

// WithReadLock runs fn under the lock for reading, which several callers can hold at once. fn must not change the inventory
// and must not call AWS.
func (v *Inventory) WithReadLock(fn func()) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	fn()
}

// WithWriteLock runs fn under the lock for writing, which only one caller can hold. fn must not call AWS.
func (v *Inventory) WithWriteLock(fn func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fn()
}

// AddTombstone records that this process deleted a resource, and removes old tombstones. The caller holds the lock.
func (v *Inventory) AddTombstone(id string, now time.Time) {
	cache.Put(v.tombstones, id, now, func(at time.Time) bool { return now.Sub(at) > durations.CacheRetention })
}

// hasTombstone reports whether this process deleted a resource at most one settle window before now.
func (v *Inventory) hasTombstone(id string, now time.Time) bool {
	at, ok := v.tombstones[id]
	return ok && now.Sub(at) <= durations.SettleWindow
}

// Observed returns a load balancer with its listeners, sorted by port, and their rules, sorted by priority. It omits
// attributes and capacity that are not fresh or were read before the time since.
func (e *LoadBalancer) Observed(c *sdk.Client, since time.Time) observed.LoadBalancer {
	out := e.Seen
	if !c.IsCurrent(e.AttributesAt, since, e.Seen.ARN) {
		out.Attributes = nil
	}
	if !e.IsCapacityFresh(c, since) {
		out.Capacity = nil
	}
	for _, le := range e.Listeners {
		l := le.Seen
		if !c.IsCurrent(le.AttributesAt, since, l.ARN) {
			l.Attributes = nil
		}
		for _, r := range le.Rules {
			l.Rules = append(l.Rules, r)
		}
		slices.SortFunc(l.Rules, func(a, b observed.Rule) int { return int(a.Priority) - int(b.Priority) })
		out.Listeners = append(out.Listeners, l)
	}
	slices.SortFunc(out.Listeners, func(a, b observed.Listener) int { return int(a.Port) - int(b.Port) })
	return out
}

// ChangedCopy returns a copy of m without the keys in remove, and with the values in put.
func ChangedCopy(m, put map[string]string, remove []string) map[string]string {
	out := make(map[string]string, len(m)+len(put))
	maps.Copy(out, m)
	for _, k := range remove {
		delete(out, k)
	}
	maps.Copy(out, put)
	return out
}

// ChangeTags calls put and remove with the tags of a step, in the order that the step requires. It does not call put or
// remove if there is no tag to set or to remove.
func ChangeTags(a plan.SetTags, put func(plan.Tags) error, remove func(keys []string) error) error {
	calls := []func() error{}
	if len(a.Put) > 0 {
		calls = append(calls, func() error { return put(a.Put) })
	}
	if len(a.Remove) > 0 {
		calls = append(calls, func() error { return remove(a.Remove) })
	}
	if a.RemoveFirst {
		slices.Reverse(calls)
	}
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether the inventory contains a load balancer, target group or listener. If it does not, a question about the
// resource needs no answer, because the plan that asked it was made from an older observation.
func (v *Inventory) Has(arn string) (known bool) {
	v.WithReadLock(func() {
		_, listener := v.Listener(arn)
		known = v.LoadBalancers.Get(arn) != nil || v.TargetGroups.Get(arn) != nil || listener != nil
	})
	return known
}

// MayLackTags reports whether a load balancer is so new that the Resource Groups Tagging API may not list its tags yet.
func (e *LoadBalancer) MayLackTags(c *sdk.Client) bool {
	return c.IsYounger(e.Created, durations.TagLag)
}
