// Package inventory is what is known of AWS: what was read, and what was written from here. It saves calls and decides
// nothing.
package inventory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Inventory is what is known of AWS. Values that have been handed out are never changed: an entry
// gets new maps and slices instead. A zero time means "not read, or not to be trusted".
type Inventory struct {
	mu sync.RWMutex

	keys
	loadBalancing
	SecurityGroups *Table[SecurityGroup] // those of the cluster in its VPC, by id

	LoadBalancersAt, TargetGroupsAt, SecurityGroupsAt time.Time
	// Unfinished are readings of lists that were cut short, by the keys of the lists: the next ones go on from there.
	Unfinished map[string]any
	// Took is how much longer lists are taken as so because they took so long to read, by their keys.
	Took map[string]time.Duration
	// TaggedAt is when the tagging service last listed their tags, where it is used.
	TaggedAt time.Time
	// TagsDue reports whether old tags may be read again.
	TagsDue bool

	// Foreign is a change that another controller or user has made.
	Foreign foreign
	// tombstones are ids of what was deleted from here, with the time.
	tombstones map[string]time.Time
	Account    string
}

// LoadBalancer is what is known of a load balancer.
type LoadBalancer struct {
	Seen         observed.LoadBalancer // without listeners
	At           time.Time             // when it was read; zero: not to be trusted
	TagsAt       time.Time
	DetailAt     time.Time // of the listeners with all that is on them
	Partial      *PartialDetail
	AttributesAt time.Time
	CapacityAt   time.Time
	StateAt      time.Time // when its state was read for itself
	RuleTagsAt   time.Time // when the tags of all listeners and rules were read
	// RuleTagsDue reports whether the tags of listeners and rules could not be read with them.
	RuleTagsDue bool
	created     time.Time // as AWS says, zero if it was not listed yet
	Made        time.Time // when it was made from here, zero if it was not
	Written     time.Time // when it was last changed from here
	// Distrusted reports whether the listeners are read again because something of them is gone.
	Distrusted bool
	Listeners  map[string]*Listener
	// Uses are the target groups that actions forward to, with the number of times.
	Uses map[string]int
}

// Listener is what is known of a listener with its rules.
type Listener struct {
	Seen         observed.Listener // without rules
	AttributesAt time.Time
	Made         time.Time
	// CertificatesDue reports whether the additional certificates could not be read with the listener.
	CertificatesDue bool
	Rules           map[string]observed.Rule
}

// PartialDetail is what a reading of listeners that was cut short has seen since its start. The next one
// goes on from there.
type PartialDetail struct {
	Start     time.Time
	Listeners map[string]*Listener
	Done      map[string]bool // listeners with rules and certificates
}

// TargetGroup is what is known of a target group.
type TargetGroup struct {
	Seen         observed.TargetGroup
	VPC          string
	At           time.Time // likewise
	TagsAt       time.Time
	AttributesAt time.Time
	Made         time.Time
	Written      time.Time
}

// SecurityGroup is what is known of a security group.
type SecurityGroup struct {
	Seen    observed.SecurityGroup
	At      time.Time // likewise
	Made    time.Time
	Written time.Time
}

// New returns the inventory of a cluster in a VPC, which knows nothing yet.
func New(cluster, vpc string, refresh time.Duration, clock clock.PassiveClock) *Inventory {
	v := &Inventory{keys: keys{Cluster: cluster, VPC: vpc, refresh: refresh}, Took: map[string]time.Duration{}}
	v.Foreign.clock = clock
	v.Reset()
	return v
}

// Reset drops all that was read. Called under the lock, or before anybody else has the inventory.
func (v *Inventory) Reset() {
	v.LoadBalancers, v.TargetGroups, v.SecurityGroups = newTable(v.ofLoadBalancer), newTable(v.ofTargetGroup), newTable(v.ofSecurityGroup)
	v.tombstones, v.Parent = map[string]time.Time{}, map[string]string{}
	v.Foreign.cluster, v.Foreign.of = v.Cluster, map[foreignOf][]observed.Foreign{}
	v.Unfinished = map[string]any{}
	v.LoadBalancersAt, v.TargetGroupsAt, v.SecurityGroupsAt, v.TaggedAt, v.NextTags = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// The keys of the lists of a region.
const (
	LoadBalancersListed  = "load balancers"
	TargetGroupsListed   = "target groups"
	SecurityGroupsListed = "security groups"
)

// ForgetList makes the next look read a list from its start. Called under the lock.
func (v *Inventory) ForgetList(key string) {
	delete(v.Unfinished, key)
	switch key {
	case LoadBalancersListed:
		v.LoadBalancersAt = time.Time{}
	case TargetGroupsListed:
		v.TargetGroupsAt = time.Time{}
	case SecurityGroupsListed:
		v.SecurityGroupsAt = time.Time{}
	}
}

// Read runs fn under the lock that readers share. fn must change nothing and not call AWS.
func (v *Inventory) Read(fn func()) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	fn()
}

// Write runs fn under the exclusive lock. fn must not call AWS.
func (v *Inventory) Write(fn func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fn()
}

// AddTombstone notes a deletion, and forgets old ones.
func (v *Inventory) AddTombstone(id string, now time.Time) {
	for k, at := range v.tombstones {
		if now.Sub(at) > durations.Kept {
			delete(v.tombstones, k)
		}
	}
	v.tombstones[id] = now
}

func (v *Inventory) hasTombstone(id string, now time.Time) bool {
	at, ok := v.tombstones[id]
	return ok && now.Sub(at) <= durations.Settle
}

// View puts a load balancer together with its listeners and rules, in their order, and with what was
// read since the given time.
func (e *LoadBalancer) View(c *sdk.Client, since time.Time) observed.LoadBalancer {
	out := e.Seen
	if !c.Current(e.AttributesAt, since, e.Seen.ARN) {
		out.Attributes = nil
	}
	if !e.CapacityCurrent(c, since) {
		out.Capacity = nil
	}
	for _, le := range e.Listeners {
		l := le.Seen
		if !c.Current(le.AttributesAt, since, l.ARN) {
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

// Change gives a map with some keys put and others removed; the old map stays as it is.
func Change(m, put map[string]string, remove []string) map[string]string {
	out := make(map[string]string, len(m)+len(put))
	maps.Copy(out, m)
	for _, k := range remove {
		delete(out, k)
	}
	maps.Copy(out, put)
	return out
}

// Knows reports whether the inventory holds a resource of Elastic Load Balancing. A question about one
// that has left it is void: the plan that asked was made from an older observation.
func (v *Inventory) Knows(arn string) (known bool) {
	v.Read(func() {
		_, listener := v.Listener(arn)
		known = v.LoadBalancers.Get(arn) != nil || v.TargetGroups.Get(arn) != nil || listener != nil
	})
	return known
}

// MayLackTags reports whether a load balancer may be too new for the tagging service.
func (e *LoadBalancer) MayLackTags(c *sdk.Client) bool { return c.Younger(e.created, durations.TagLag) }
