package queue

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Triggers finds the items that a change of an object in the cluster affects:
//   - The items that the object belongs to.
//   - The items of other objects that belong to an item because of the object.
//   - The items whose last run has read the object, or a list with the old or new state of the object.
type Triggers[K comparable] struct {
	cluster Cluster
	changes Changes[K]
	// rootKinds are the kinds of objects that may belong to an item because of other objects.
	rootKinds []cluster.Kind

	memberships *cluster.Tracker[cluster.Ref]
	reads       *cluster.Tracker[K]

	// mu ensures that the changes of an object are recorded in the order in which they arrive.
	mu sync.Mutex
	// activeRuns has the active run of each item. During a run, changes that do not affect its item yet are collected,
	// because the run may have read the changed object before the change, and may record this read only after the change.
	activeRuns map[K]*activeRun
}

// Cluster returns views of the cluster.
type Cluster interface{ View() *cluster.View }

// Changes determines which items of a controller a change of an object affects.
type Changes[K comparable] interface {
	// Items returns the items that an object belongs to.
	Items(v *cluster.View, obj cluster.Object) []K
	// Ignores reports whether a change affects no item, although runs may have read the object.
	Ignores(old, new cluster.Object) bool
	// RecordRootChange is called for each change of an object of a root kind, before Items.
	RecordRootChange(old, new cluster.Object)
}

// activeRun collects the changes of objects during a run.
type activeRun struct {
	changes     []*cluster.Change // changes without their objects, to save memory during long runs; active runs share the changes
	size        int               // sum of the sizes of the changes
	needsRepeat bool              // whether a change affects or may affect the item; no more changes are collected if it is true
}

// maxCollected is the maximum size of the changes that are collected for a run. If there are more changes, all of them are
// discarded, and the run is repeated in any case. The limit is necessary because a tenant may edit large objects while the
// run waits for AWS.
const maxCollected = 50_000

// NewTriggers returns Triggers without recorded runs.
func NewTriggers[K comparable](cl Cluster, roots []cluster.Kind, changes Changes[K]) *Triggers[K] {
	return &Triggers[K]{
		cluster: cl, changes: changes, rootKinds: roots,
		memberships: cluster.NewTracker[cluster.Ref](), reads: cluster.NewTracker[K](),
		activeRuns: map[K]*activeRun{},
	}
}

// Begin records that a run of an item is about to read the cluster.
func (t *Triggers[K]) Begin(k K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.activeRuns[k] = &activeRun{}
}

// RecordReads records the objects and lists that the run of an item has read.
func (t *Triggers[K]) RecordReads(k K, v *cluster.View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads.Record(k, v)
	if r := t.activeRuns[k]; r != nil && slices.ContainsFunc(r.changes, v.HasRead) {
		r.needsRepeat, r.changes = true, nil
	}
}

// End records that a run has ended. again reports whether the run must be repeated, because an object changed after the run
// had read the object and before the reads were recorded.
func (t *Triggers[K]) End(k K) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.activeRuns[k]
	delete(t.activeRuns, k)
	return r != nil && r.needsRepeat
}

// Forget removes an item that does not exist any more.
func (t *Triggers[K]) Forget(k K) { t.reads.Forget(k) }

// IsRead reports whether the last run of an item has read an object, or whether the object was read to determine the items
// of another object.
func (t *Triggers[K]) IsRead(r cluster.Ref) bool { return t.reads.IsRead(r) || t.memberships.IsRead(r) }

// isRoot reports whether an object is of a root kind.
func (t *Triggers[K]) isRoot(obj cluster.Object) bool {
	k, ok := cluster.KindOf(obj)
	return ok && slices.Contains(t.rootKinds, k)
}

// AffectedItems returns the items that a change affects, without duplicates. old is nil for a new object, and new is nil for
// a deleted object. If a read of the cluster fails, AffectedItems returns the error together with the items that it has
// found.
func (t *Triggers[K]) AffectedItems(old, new cluster.Object) ([]K, error) {
	if t.changes.Ignores(old, new) {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	subject := new
	if new == nil {
		subject = old
	}
	root := t.isRoot(subject)
	if root {
		t.changes.RecordRootChange(old, new)
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
		keys, err := t.itemsOf(v, obj)
		note(keys)
		fault = cmp.Or(fault, err)
		return v
	}

	if old != nil {
		belongs(old)
	}
	if new != nil {
		v := belongs(new)
		if root {
			t.memberships.Record(cluster.RefOf(new), v)
		}
	}
	self := cluster.RefOf(subject)
	for _, ref := range t.memberships.Affected(old, new) {
		if ref == self {
			continue
		}
		v := t.cluster.View()
		obj, err := v.Object(ref.Kind, ref.Namespace, ref.Name)
		fault = cmp.Or(fault, err)
		if obj == nil {
			continue
		}
		t.memberships.Record(ref, belongs(obj))
	}
	if new == nil {
		t.memberships.Forget(self)
	}
	note(t.reads.Affected(old, new))
	var change *cluster.Change // computed only if a run needs the change
	for k, r := range t.activeRuns {
		if _, affected := seen[k]; affected || r.needsRepeat {
			continue
		}
		if change == nil {
			change = cluster.ChangeOf(old, new)
		}
		if r.size += change.Size(); r.size > maxCollected {
			r.needsRepeat, r.changes = true, nil
			continue
		}
		r.changes = append(r.changes, change)
	}
	return out, fault
}

// itemsOf returns the items that an object belongs to. A panic becomes an error, because a panic in the goroutine of an
// informer would end the process, and would occur again after each restart. Items that have read the object are still
// enqueued.
func (t *Triggers[K]) itemsOf(v *cluster.View, obj cluster.Object) (keys []K, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("items of %s: panic: %v\n%s", cluster.RefOf(obj), p, debug.Stack())
		}
	}()
	return t.changes.Items(v, obj), v.Err()
}
