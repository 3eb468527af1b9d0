package cluster

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Tracker records what each consumer, such as a stack, has read in its last run. It finds the consumers that an event
// affects. K is the type of the keys of consumers. Tracker is safe for concurrent use.
type Tracker[K comparable] struct {
	mu             sync.Mutex
	seq            uint64
	recordingOrder map[K]uint64 // number of each consumer in the order in which they were first recorded
	reads          map[K]viewReads
	byRef          setsByKey[Ref, K]
	byQuery        setsByKey[Query, K]
}

// viewReads are the objects and queries that a view has read.
type viewReads struct {
	refs    []Ref
	queries []Query
}

// NewTracker returns a Tracker without consumers.
func NewTracker[K comparable]() *Tracker[K] {
	return &Tracker[K]{
		recordingOrder: map[K]uint64{}, reads: map[K]viewReads{},
		byRef: setsByKey[Ref, K]{}, byQuery: setsByKey[Query, K]{},
	}
}

// Record replaces the recorded reads of a consumer with the reads of v, the view of its last run. If v has no reads, Record
// removes the consumer.
func (t *Tracker[K]) Record(k K, v *View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Most runs read the same objects as the run before. Index entries of such objects are retained, which is faster than to
	// remove and add them again.
	t.forget(k, v)
	if len(v.refs) == 0 && len(v.queries) == 0 {
		delete(t.recordingOrder, k)
		return
	}
	if _, ok := t.recordingOrder[k]; !ok {
		t.seq++
		t.recordingOrder[k] = t.seq
	}
	q := viewReads{make([]Ref, 0, len(v.refs)), make([]Query, 0, len(v.queries))}
	for r := range v.refs {
		q.refs = append(q.refs, r)
		t.byRef.add(r, k)
	}
	for s := range v.queries {
		q.queries = append(q.queries, s)
		t.byQuery.add(s, k)
	}
	t.reads[k] = q
}

// Forget removes a consumer that does not exist any more.
func (t *Tracker[K]) Forget(k K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(k, &View{})
	delete(t.recordingOrder, k)
}

// forget removes the reads of a consumer from the indexes, except those that the view v repeats. The caller holds the lock.
func (t *Tracker[K]) forget(k K, v *View) {
	q := t.reads[k]
	for _, r := range q.refs {
		if _, repeated := v.refs[r]; !repeated {
			t.byRef.remove(r, k)
		}
	}
	for _, s := range q.queries {
		if _, repeated := v.queries[s]; !repeated {
			t.byQuery.remove(s, k)
		}
	}
	delete(t.reads, k)
}

// Affected returns the consumers that a change of an object affects: the consumers that read the object by name, and the
// consumers with a query that selects its old or new state. old is nil for a new object, and new is nil for a deleted
// object. The result is in the order in which the consumers were first recorded.
func (t *Tracker[K]) Affected(old, new Object) []K {
	t.mu.Lock()
	defer t.mu.Unlock()
	affected := map[K]struct{}{}
	eachRead(old, new, func(r Ref) { addAll(affected, t.byRef.members(r)) }, func(q Query) { addAll(affected, t.byQuery.members(q)) })
	return t.sortConsumers(affected)
}

// sortConsumers returns consumers in the order in which they were first recorded. The caller holds the lock.
func (t *Tracker[K]) sortConsumers(affected map[K]struct{}) []K {
	return slices.SortedFunc(maps.Keys(affected), func(a, b K) int { return cmp.Compare(t.recordingOrder[a], t.recordingOrder[b]) })
}

// ConsumersOf returns the consumers that read an object by name, in the order in which they were first recorded.
func (t *Tracker[K]) ConsumersOf(r Ref) []K {
	t.mu.Lock()
	defer t.mu.Unlock()
	affected := map[K]struct{}{}
	addAll(affected, t.byRef.members(r))
	return t.sortConsumers(affected)
}

// IsRead reports whether any consumer has read an object by name in its last run.
func (t *Tracker[K]) IsRead(r Ref) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, read := t.byRef[r]
	return read
}

// Change names the object of a change, and the queries that select its old or new state. It does not contain the object, so
// that many changes need little memory.
type Change struct {
	ref     Ref
	queries map[Query]bool
}

// Size returns the number of reads that the change can affect. The memory that the change needs is proportional to this
// number.
func (c *Change) Size() int { return 1 + len(c.queries) }

// ChangeOf returns the Change of an object. old is nil for a new object, and new is nil for a deleted object.
func ChangeOf(old, new Object) *Change {
	out := &Change{queries: map[Query]bool{}}
	eachRead(old, new, func(r Ref) { out.ref = r }, func(q Query) { out.queries[q] = true })
	return out
}

// HasRead reports whether the view has read the object of a change by name, or with a query that selects its old or new
// state.
func (v *View) HasRead(c *Change) bool {
	if _, read := v.refs[c.ref]; read {
		return true
	}
	for q := range c.queries {
		if _, read := v.queries[q]; read {
			return true
		}
	}
	return false
}

// eachRead calls ref with the reference to an object, and query with each query that selects the old or the new state of the
// object. Either state may be nil. It makes no list, because it is called for each event.
func eachRead(old, new Object, ref func(Ref), query func(Query)) {
	for _, obj := range []Object{old, new} {
		if obj == nil {
			continue
		}
		kind, ok := KindOf(obj)
		if !ok {
			continue
		}
		ref(RefOf(obj))
		typ, _ := TypeOf(kind)
		both := func(q Query) { // query in all namespaces, and in the namespace of the object
			query(q)
			if q.Namespace = obj.GetNamespace(); q.Namespace != "" {
				query(q)
			}
		}
		both(Query{Kind: kind})
		for _, ix := range typ.Indexes {
			for _, value := range IndexValues(ix, obj) {
				both(Query{Kind: kind, Index: ix, Value: value})
			}
		}
	}
}

// Selects reports whether a query selects an object.
func (q Query) Selects(obj Object) bool {
	kind, ok := KindOf(obj)
	if !ok || kind != q.Kind || q.Namespace != "" && q.Namespace != obj.GetNamespace() {
		return false
	}
	return q.Index == "" || slices.Contains(IndexValues(q.Index, obj), q.Value)
}

func addAll[K comparable](into map[K]struct{}, from iter.Seq[K]) {
	for k := range from {
		into[k] = struct{}{}
	}
}
