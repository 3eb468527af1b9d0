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
)

// Inventory is the cached state of AWS. Values that it has returned are never changed: an entry gets new maps and slices
// instead. The zero time means that a value was not read, or may be outdated.
type Inventory struct {
	mu sync.RWMutex

	keys
	loadBalancing
	SecurityGroups *Table[SecurityGroup] // those of the cluster in its VPC, by id

	// LoadBalancersAt, TargetGroupsAt and SecurityGroupsAt are when the lists of the region were last read.
	LoadBalancersAt, TargetGroupsAt, SecurityGroupsAt time.Time
	// UnfinishedLists are readings of lists that were cut short, by the keys of the lists. The next reading resumes them.
	UnfinishedLists map[string]any
	// ExtraAge is the additional time for which a list stays fresh because reading it took long, by the key of the list.
	ExtraAge map[string]time.Duration
	// TagsListedAt is when the tagging service last listed tags, if it is used.
	TagsListedAt time.Time
	// TagsDue reports whether tags that are not fresh may be read again.
	TagsDue bool

	// OutsideChanges are the changes that others have made.
	OutsideChanges outsideChanges
	// tombstones are the times at which this process deleted resources, by id of the resource.
	tombstones map[string]time.Time
	Account    string // id of the account, "" if it is not known yet
}

// LoadBalancer is the cached state of a load balancer.
type LoadBalancer struct {
	Seen          observed.LoadBalancer // without listeners
	ReadAt        time.Time             // when the load balancer was read; zero if the values may be outdated
	TagsAt        time.Time
	DetailAt      time.Time // when the listeners were read with their rules and certificates
	PartialDetail *PartialDetail
	AttributesAt  time.Time
	CapacityAt    time.Time
	StateAt       time.Time // when the state was read separately
	RuleTagsAt    time.Time // when the tags of all listeners and rules were read
	// RuleTagsDue reports whether reading the listeners succeeded, but reading the tags of listeners and rules failed.
	RuleTagsDue bool
	createdAt   time.Time // AWS's creation time, zero if it was not listed yet
	MadeAt      time.Time // when this process created the load balancer, zero if it did not
	WrittenAt   time.Time // when this process last changed the load balancer
	// Invalidated reports whether the listeners are to be read again because AWS reported that one of the resources does not
	// exist.
	Invalidated bool
	Listeners   map[string]*Listener
	// TargetGroupUses is the number of actions that forward to a target group, by ARN of the target group.
	TargetGroupUses map[string]int
}

// Listener is the cached state of a listener with its rules.
type Listener struct {
	Seen         observed.Listener // without rules
	AttributesAt time.Time
	MadeAt       time.Time // when this process created the listener, zero if it did not
	// CertificatesDue reports whether the additional certificates could not be read with the listener.
	CertificatesDue bool
	Rules           map[string]observed.Rule
}

// PartialDetail has the listeners that a reading had found before it was interrupted. The next reading resumes it.
type PartialDetail struct {
	Start     time.Time
	Listeners map[string]*Listener
	Done      map[string]bool // ARNs of the listeners whose rules and certificates were read
}

// TargetGroup is the cached state of a target group. The times are as in LoadBalancer.
type TargetGroup struct {
	Seen         observed.TargetGroup
	VPC          string // id
	ReadAt       time.Time
	TagsAt       time.Time
	AttributesAt time.Time
	MadeAt       time.Time
	WrittenAt    time.Time
}

// SecurityGroup is the cached state of a security group. The times are as in LoadBalancer.
type SecurityGroup struct {
	Seen      observed.SecurityGroup
	ReadAt    time.Time
	MadeAt    time.Time
	WrittenAt time.Time
}

// New returns the empty inventory of a cluster in a VPC. refresh is how long a reading stays fresh.
func New(cluster, vpc string, refresh time.Duration, clock clock.PassiveClock) *Inventory {
	v := &Inventory{keys: keys{Cluster: cluster, VPC: vpc, refresh: refresh}, ExtraAge: map[string]time.Duration{}}
	v.OutsideChanges.clock = clock
	v.Reset()
	return v
}

// Reset drops all entries. The caller holds the lock, or the inventory is not shared yet.
func (v *Inventory) Reset() {
	v.LoadBalancers, v.TargetGroups, v.SecurityGroups = newTable(v.keysOfLoadBalancer), newTable(v.keysOfTargetGroup), newTable(v.keysOfSecurityGroup)
	v.tombstones, v.Parent = map[string]time.Time{}, map[string]string{}
	v.OutsideChanges.cluster, v.OutsideChanges.byStack = v.Cluster, map[stackTag][]observed.OutsideChange{}
	v.UnfinishedLists = map[string]any{}
	v.LoadBalancersAt, v.TargetGroupsAt, v.SecurityGroupsAt, v.TagsListedAt, v.NextTagsDueAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// The keys of the lists of the region.
const (
	LoadBalancerList  = "load balancers"
	TargetGroupList   = "target groups"
	SecurityGroupList = "security groups"
)

// ForgetList makes the next run read a list from its start. The caller holds the lock.
func (v *Inventory) ForgetList(key string) {
	delete(v.UnfinishedLists, key)
	switch key {
	case LoadBalancerList:
		v.LoadBalancersAt = time.Time{}
	case TargetGroupList:
		v.TargetGroupsAt = time.Time{}
	case SecurityGroupList:
		v.SecurityGroupsAt = time.Time{}
	}
}

// WithReadLock runs fn under the lock that readers share. fn must not change the inventory and must not call AWS.
func (v *Inventory) WithReadLock(fn func()) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	fn()
}

// WithWriteLock runs fn under the exclusive lock. fn must not call AWS.
func (v *Inventory) WithWriteLock(fn func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fn()
}

// AddTombstone records that this process deleted a resource, and drops old tombstones.
func (v *Inventory) AddTombstone(id string, now time.Time) {
	cache.Put(v.tombstones, id, now, func(at time.Time) bool { return now.Sub(at) > durations.CacheRetention })
}

// hasTombstone reports whether this process deleted a resource within the settle window before now.
func (v *Inventory) hasTombstone(id string, now time.Time) bool {
	at, ok := v.tombstones[id]
	return ok && now.Sub(at) <= durations.SettleWindow
}

// Observed returns a load balancer with its listeners and rules, sorted. It omits attributes that are not fresh or were read
// before since.
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

// ChangedCopy returns a copy of a map with some keys removed and others set.
func ChangedCopy(m, put map[string]string, remove []string) map[string]string {
	out := make(map[string]string, len(m)+len(put))
	maps.Copy(out, m)
	for _, k := range remove {
		delete(out, k)
	}
	maps.Copy(out, put)
	return out
}

// Has reports whether the inventory contains a load balancer, target group or listener. If it does not, questions about the
// resource need no answer: the plan with the question was made from an older observation.
func (v *Inventory) Has(arn string) (known bool) {
	v.WithReadLock(func() {
		_, listener := v.Listener(arn)
		known = v.LoadBalancers.Get(arn) != nil || v.TargetGroups.Get(arn) != nil || listener != nil
	})
	return known
}

// MayLackTags reports whether a load balancer may be too new for the tagging service, which then does not list its tags.
func (e *LoadBalancer) MayLackTags(c *sdk.Client) bool {
	return c.IsYounger(e.createdAt, durations.TagLag)
}
