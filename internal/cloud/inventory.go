package cloud

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// inventory is what is known of AWS. Values that have been handed out are never changed: an entry
// gets new maps and slices instead. A zero time means "not read, or not to be trusted".
type inventory struct {
	mu sync.RWMutex

	cluster, vpc string
	refresh      time.Duration

	lbs    *table[lbEntry]    // all of the region, by ARN
	groups *table[groupEntry] // all of the region, by ARN
	sgs    *table[sgEntry]    // those of the cluster in its VPC, by id

	lbsAt, groupsAt, sgsAt time.Time
	// took is how much longer lists are taken as so because they took so long to read, by their keys.
	took map[string]time.Duration
	// taggedAt is when the tagging service last listed their tags, where it is used.
	taggedAt time.Time
	// tagsDue reports whether old tags may be read again, and nextTags before when there are none.
	tagsDue  bool
	nextTags time.Time

	// foreign is what others have changed.
	foreign foreign
	// tombstones are ids of what was deleted from here, with the time.
	tombstones map[string]time.Time
	// parent leads from a rule to its listener and from a listener to its load balancer.
	parent  map[string]string
	account string
}

type lbEntry struct {
	lb           observed.LoadBalancer // without listeners
	at           time.Time             // when it was read; zero: not to be trusted
	tagsAt       time.Time
	detailAt     time.Time // of the listeners with all that is on them
	partial      *partialDetail
	attributesAt time.Time
	capacityAt   time.Time
	stateAt      time.Time // when its state was read for itself
	ruleTagsAt   time.Time // when the tags of all listeners and rules were read
	// ruleTagsDue reports whether the tags of listeners and rules could not be read with them.
	ruleTagsDue bool
	created     time.Time // as AWS says, zero if it was not listed yet
	made        time.Time // when it was made from here, zero if it was not
	written     time.Time // when it was last changed from here
	// distrusted reports whether the listeners are read again because something of them is gone.
	distrusted bool
	listeners  map[string]*listenerEntry
	// uses are the target groups that actions forward to, with the number of times.
	uses map[string]int
}

type listenerEntry struct {
	l            observed.Listener // without rules
	attributesAt time.Time
	made         time.Time
	// certificatesDue reports whether the additional certificates could not be read with the listener.
	certificatesDue bool
	rules           map[string]observed.Rule
}

type groupEntry struct {
	g            observed.TargetGroup
	vpc          string
	at           time.Time // likewise
	tagsAt       time.Time
	attributesAt time.Time
	made         time.Time
	written      time.Time
}

type sgEntry struct {
	g       observed.SecurityGroup
	at      time.Time // likewise
	made    time.Time
	written time.Time
}

func newInventory(cluster, vpc string, refresh time.Duration, now func() time.Time) *inventory {
	v := &inventory{cluster: cluster, vpc: vpc, refresh: refresh, took: map[string]time.Duration{}}
	v.foreign.now = now
	v.reset()
	return v
}

// reset drops all that was read. Called under the lock, or before anybody else has the inventory.
func (v *inventory) reset() {
	v.lbs, v.groups, v.sgs = newTable(v.loadBalancerKeys), newTable(v.targetGroupKeys), newTable(v.securityGroupKeys)
	v.tombstones, v.parent = map[string]time.Time{}, map[string]string{}
	v.foreign.cluster, v.foreign.of = v.cluster, map[foreignOf][]observed.Foreign{}
	v.lbsAt, v.groupsAt, v.sgsAt, v.taggedAt, v.nextTags = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// read runs fn under the lock that readers share. fn must change nothing and not call AWS.
func (v *inventory) read(fn func()) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	fn()
}

// write runs fn under the exclusive lock. fn must not call AWS.
func (v *inventory) write(fn func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fn()
}

// addTombstone notes a deletion, and forgets old ones.
func (v *inventory) addTombstone(id string, now time.Time) {
	for k, at := range v.tombstones {
		if now.Sub(at) > cache.SettleWindow {
			delete(v.tombstones, k)
		}
	}
	v.tombstones[id] = now
}

func (v *inventory) hasTombstone(id string, now time.Time) bool {
	at, ok := v.tombstones[id]
	return ok && now.Sub(at) <= cache.SettleWindow
}

// view puts a load balancer together with its listeners and rules, in their order, and with what was
// read since a time.
func (e *lbEntry) view(c *sdk.Client, since time.Time) observed.LoadBalancer {
	out := e.lb
	if !c.Current(e.attributesAt, since, e.lb.ARN) {
		out.Attributes = nil
	}
	if !e.capacityCurrent(c, since) {
		out.Capacity = nil
	}
	for _, le := range e.listeners {
		l := le.l
		if !c.Current(le.attributesAt, since, l.ARN) {
			l.Attributes = nil
		}
		for _, r := range le.rules {
			l.Rules = append(l.Rules, r)
		}
		slices.SortFunc(l.Rules, func(a, b observed.Rule) int { return int(a.Priority) - int(b.Priority) })
		out.Listeners = append(out.Listeners, l)
	}
	slices.SortFunc(out.Listeners, func(a, b observed.Listener) int { return int(a.Port) - int(b.Port) })
	return out
}

// change gives a map with some keys put and others removed; the old map stays as it is.
func change(m, put map[string]string, remove []string) map[string]string {
	out := make(map[string]string, len(m)+len(put))
	maps.Copy(out, m)
	for _, k := range remove {
		delete(out, k)
	}
	maps.Copy(out, put)
	return out
}
