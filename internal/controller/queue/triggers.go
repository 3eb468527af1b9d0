package queue

import (
	"slices"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Triggers finds the items that a change in the cluster concerns. There are three ways to be
// concerned: the object belongs to the item; the object decided to which item another object
// belongs; the item's last run asked for the object, or for a list that it enters, leaves or
// changes within.
type Triggers[K comparable] struct {
	cluster Cluster
	changes Changes[K]
	// roots are the kinds whose membership has to be found again when something that it was read from
	// changes.
	roots []cluster.Kind

	members *cluster.Tracker[cluster.Ref]
	runs    *cluster.Tracker[K]

	// mu keeps the order of what is noted about an object the order in which it was read.
	mu sync.Mutex
	// running holds, for each item whose run has not recorded its questions yet, the changes since it
	// began: it may have read before a change and is not known to have asked.
	running map[K]*running
}

// Cluster is where views come from.
type Cluster interface{ View() *cluster.View }

// Changes is what a line makes of changes of objects.
type Changes[K comparable] interface {
	// Items are the items that an object belongs to.
	Items(v *cluster.View, obj cluster.Object) []K
	// Ignores reports whether a change concerns no item, although it is one of an object that runs read.
	Ignores(old, new cluster.Object) bool
	// Saw gets each change of an object of a root kind, before anything is found for it.
	Saw(old, new cluster.Object)
}

type running struct {
	changes  []change
	recorded bool
	again    bool
}

type change struct{ old, new cluster.Object }

// NewTriggers returns triggers that know of no run yet.
func NewTriggers[K comparable](cl Cluster, roots []cluster.Kind, changes Changes[K]) *Triggers[K] {
	return &Triggers[K]{
		cluster: cl, changes: changes, roots: roots,
		members: cluster.NewTracker[cluster.Ref](), runs: cluster.NewTracker[K](),
		running: map[K]*running{},
	}
}

// Begin notes that a run of an item is about to read the cluster.
func (t *Triggers[K]) Begin(k K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[k] = &running{}
}

// Ran notes the questions of an item's run.
func (t *Triggers[K]) Ran(k K, v *cluster.View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs.Record(k, v)
	r := t.running[k]
	if r == nil || r.recorded {
		return
	}
	for _, c := range r.changes {
		r.again = r.again || slices.Contains(t.runs.Affected(c.old, c.new), k)
	}
	r.recorded, r.changes = true, nil
}

// End notes that the run is over, and reports whether a change has come between its reading and its
// telling what it read, so that it has to be repeated.
func (t *Triggers[K]) End(k K) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.running[k]
	delete(t.running, k)
	return r != nil && r.again
}

// Gone forgets an item without members of which nothing is left.
func (t *Triggers[K]) Gone(k K) { t.runs.Forget(k) }

// Asked reports whether any item, or the membership of any object, depends on an object.
func (t *Triggers[K]) Asked(r cluster.Ref) bool { return t.runs.Asked(r) || t.members.Asked(r) }

func (t *Triggers[K]) isRoot(obj cluster.Object) bool {
	k, ok := cluster.KindOf(obj)
	return ok && slices.Contains(t.roots, k)
}

// Concerned returns the items that a change concerns, each once. The error is that of reading the
// cluster; the items found in spite of it are returned too.
func (t *Triggers[K]) Concerned(old, new cluster.Object) ([]K, error) {
	if t.changes.Ignores(old, new) {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.running {
		if !r.recorded {
			r.changes = append(r.changes, change{old, new})
		}
	}
	subject := new
	if new == nil {
		subject = old
	}
	root := t.isRoot(subject)
	if root {
		t.changes.Saw(old, new)
	}
	var out []K
	var fault error
	seen := map[K]struct{}{}
	note := func(keys []K) {
		for _, k := range keys {
			if _, ok := seen[k]; !ok {
				seen[k] = struct{}{}
				out = append(out, k)
			}
		}
	}
	belongs := func(obj cluster.Object) *cluster.View {
		v := t.cluster.View()
		note(t.changes.Items(v, obj))
		if err := v.Err(); err != nil && fault == nil {
			fault = err
		}
		return v
	}

	if old != nil {
		belongs(old)
	}
	if new != nil {
		v := belongs(new)
		if root {
			t.members.Record(cluster.RefOf(new), v)
		}
	}
	self := cluster.RefOf(subject)
	for _, ref := range t.members.Affected(old, new) {
		if ref == self {
			continue
		}
		v := t.cluster.View()
		obj, err := v.Object(ref.Kind, ref.Namespace, ref.Name)
		if err != nil && fault == nil {
			fault = err
		}
		if obj == nil {
			continue
		}
		t.members.Record(ref, belongs(obj))
	}
	if new == nil {
		t.members.Forget(self)
	}
	note(t.runs.Affected(old, new))
	return out, fault
}
