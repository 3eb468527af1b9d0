package cloud

import (
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// grace is how long AWS may take to show what was just made, or to stop showing what was just
// deleted.
const grace = time.Minute

// inventory is what is known of AWS. Values that have been handed out are never changed: an entry
// gets new maps and slices instead. A zero time means "not read, or not to be trusted".
type inventory struct {
	mu sync.Mutex

	lbs    map[string]*lbEntry    // all of the region, by ARN
	groups map[string]*groupEntry // all of the region, by ARN
	sgs    map[string]*sgEntry    // those of the cluster in its VPC, by id

	lbsAt, groupsAt, sgsAt time.Time
	// taggedAt is when the tagging service last told whose they are, where it is used.
	taggedAt time.Time
	// tagsDue says that old tags may be read again.
	tagsDue bool

	// buried are ids of what was deleted from here, with the time.
	buried map[string]time.Time
	// parent leads from a rule to its listener and from a listener to its load balancer.
	parent  map[string]string
	account string
}

type lbEntry struct {
	lb           observed.LoadBalancer // without listeners
	at           time.Time             // when it was read; zero: not to be trusted
	tagsAt       time.Time
	detailAt     time.Time // of the listeners with all that is on them
	attributesAt time.Time
	capacityAt   time.Time
	ruleTagsAt   time.Time // when the tags of all listeners and rules were read
	// ruleTagsDue says that the tags of listeners and rules could not be read with them.
	ruleTagsDue bool
	created     time.Time // as AWS tells, zero if it was not listed yet
	made        time.Time // when it was made from here, zero if it was not
	written     time.Time // when it was last changed from here
	listeners   map[string]*listenerEntry
}

type listenerEntry struct {
	l            observed.Listener // without rules
	attributesAt time.Time
	made         time.Time
	// certificatesDue says that the additional certificates could not be read with the listener.
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

func newInventory() *inventory {
	return &inventory{
		lbs: map[string]*lbEntry{}, groups: map[string]*groupEntry{}, sgs: map[string]*sgEntry{},
		buried: map[string]time.Time{}, parent: map[string]string{},
	}
}

// with runs fn under the lock. fn must not call AWS.
func (v *inventory) with(fn func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fn()
}

// fresh says whether what was read at a time is still taken as so. The period differs by up to a
// tenth from resource to resource, so that not all is read again at once.
func (c *Cloud) fresh(at time.Time, key string) bool {
	if at.IsZero() {
		return false
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	part := time.Duration(h.Sum32()%201) * c.cfg.Refresh / 1000 // 0 to 20%
	return c.cfg.Now().Sub(at) < c.cfg.Refresh*9/10+part
}

// bury notes a deletion, and forgets old ones.
func (v *inventory) bury(id string, now time.Time) {
	for k, at := range v.buried {
		if now.Sub(at) > grace {
			delete(v.buried, k)
		}
	}
	v.buried[id] = now
}

func (v *inventory) isBuried(id string, now time.Time) bool {
	at, ok := v.buried[id]
	return ok && now.Sub(at) <= grace
}

// dropLoadBalancer forgets a load balancer and what hangs on it.
func (v *inventory) dropLoadBalancer(arn string) {
	e := v.lbs[arn]
	if e == nil {
		return
	}
	v.unlink(e)
	delete(v.lbs, arn)
	v.link(arn, nil)
}

// unlink forgets whose the listeners and rules of an entry are.
func (v *inventory) unlink(e *lbEntry) {
	for l, le := range e.listeners {
		delete(v.parent, l)
		for r := range le.rules {
			delete(v.parent, r)
		}
	}
}

// setListeners replaces a load balancer's listeners.
func (v *inventory) setListeners(e *lbEntry, listeners map[string]*listenerEntry) {
	v.unlink(e)
	e.listeners = listeners
	for arn, le := range listeners {
		v.parent[arn] = e.lb.ARN
		for r := range le.rules {
			v.parent[r] = arn
		}
	}
	v.relink(e)
}

// putListener adds or replaces a listener.
func (v *inventory) putListener(e *lbEntry, le *listenerEntry) {
	if e.listeners == nil {
		e.listeners = map[string]*listenerEntry{}
	}
	e.listeners[le.l.ARN] = le
	v.parent[le.l.ARN] = e.lb.ARN
	v.relink(e)
}

// listener finds a listener and its load balancer, nil if they are not known.
func (v *inventory) listener(arn string) (*lbEntry, *listenerEntry) {
	e := v.lbs[v.parent[arn]]
	if e == nil {
		return nil, nil
	}
	return e, e.listeners[arn]
}

// rule finds the listener and load balancer of a rule.
func (v *inventory) rule(arn string) (*lbEntry, *listenerEntry) { return v.listener(v.parent[arn]) }

// relink brings the target groups' lists of load balancers in line with an entry's actions.
func (v *inventory) relink(e *lbEntry) {
	used := map[string]bool{}
	note := func(as []model.Action) {
		for _, a := range as {
			if f, ok := a.(model.Forward); ok {
				for _, g := range f.Groups {
					used[g.Group.ARN] = true
				}
			}
		}
	}
	for _, le := range e.listeners {
		note(le.l.Default)
		for _, r := range le.rules {
			note(r.Actions)
		}
	}
	v.link(e.lb.ARN, used)
}

func (v *inventory) link(lb string, used map[string]bool) {
	for arn, g := range v.groups {
		has := slices.Contains(g.g.LoadBalancers, lb)
		if has == used[arn] {
			continue
		}
		next := slices.Clone(g.g.LoadBalancers)
		if has {
			next = slices.DeleteFunc(next, func(s string) bool { return s == lb })
		} else {
			next = append(next, lb)
			slices.Sort(next)
		}
		g.g.LoadBalancers = next
	}
}

// view puts a load balancer together with its listeners and rules, in their order, and with what was
// read since a time.
func (e *lbEntry) view(c *Cloud, since time.Time) observed.LoadBalancer {
	out := e.lb
	if !c.current(e.attributesAt, since, e.lb.ARN) {
		out.Attributes = nil
	}
	if !c.capacityCurrent(e, since) {
		out.Capacity = nil
	}
	for _, le := range e.listeners {
		l := le.l
		if !c.current(le.attributesAt, since, l.ARN) {
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
