package cluster

import (
	"cmp"
	"iter"
	"slices"
	"sync"
)

// Tracker holds what each consumer asked for in its last view, and so finds those that an event concerns. It
// is safe for concurrent use.
type Tracker[K comparable] struct {
	mu      sync.Mutex
	seq     uint64
	order   map[K]uint64 // first recording, which fixes the order of answers
	reads   map[K]viewReads
	byRef   sets[Ref, K]
	byQuery sets[Query, K]
}

type viewReads struct {
	refs    []Ref
	queries []Query
}

// NewTracker returns a tracker without dependents.
func NewTracker[K comparable]() *Tracker[K] {
	return &Tracker[K]{
		order: map[K]uint64{}, reads: map[K]viewReads{},
		byRef: sets[Ref, K]{}, byQuery: sets[Query, K]{},
	}
}

// Record replaces what is known of a consumer by the questions of the view of its last run. A consumer that
// asked for nothing is forgotten.
func (t *Tracker[K]) Record(k K, v *View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Most runs ask what the run before asked, which stays where it is.
	t.forget(k, v)
	if len(v.refs) == 0 && len(v.queries) == 0 {
		delete(t.order, k)
		return
	}
	if _, ok := t.order[k]; !ok {
		t.seq++
		t.order[k] = t.seq
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

// Forget drops a consumer that is gone.
func (t *Tracker[K]) Forget(k K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(k, &View{})
	delete(t.order, k)
}

// forget drops the questions of a consumer that a view did not ask again.
func (t *Tracker[K]) forget(k K, v *View) {
	q := t.reads[k]
	for _, r := range q.refs {
		if _, again := v.refs[r]; !again {
			t.byRef.remove(r, k)
		}
	}
	for _, s := range q.queries {
		if _, again := v.queries[s]; !again {
			t.byQuery.remove(s, k)
		}
	}
	delete(t.reads, k)
}

// Affected returns the consumers that a change concerns: those that asked for the object by name,
// and those with a query that the object enters, leaves or changes within. old is nil for an
// object that appeared, new for one that is gone. The order is that of first recording.
func (t *Tracker[K]) Affected(old, new Object) []K {
	t.mu.Lock()
	defer t.mu.Unlock()
	hit := map[K]struct{}{}
	for _, obj := range []Object{old, new} {
		if obj == nil {
			continue
		}
		kind, ok := KindOf(obj)
		if !ok {
			continue
		}
		addAll(hit, t.byRef.members(RefOf(obj)))
		for q := range queriesOf(kind, obj) {
			addAll(hit, t.byQuery.members(q))
		}
	}
	return t.ordered(hit)
}

func (t *Tracker[K]) ordered(hit map[K]struct{}) []K {
	out := make([]K, 0, len(hit))
	for k := range hit {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b K) int { return cmp.Compare(t.order[a], t.order[b]) })
	return out
}

// ConsumersOf returns the consumers that asked for an object by name, in the order of first recording.
func (t *Tracker[K]) ConsumersOf(r Ref) []K {
	t.mu.Lock()
	defer t.mu.Unlock()
	hit := map[K]struct{}{}
	addAll(hit, t.byRef.members(r))
	return t.ordered(hit)
}

// IsRead reports whether any consumer asked for the object by name.
func (t *Tracker[K]) IsRead(r Ref) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, asked := t.byRef[r]
	return asked
}

// queriesOf returns all queries whose answer holds the object, in no order. They are not gathered in a list, as each of
// them is looked up and forgotten, for every event.
func queriesOf(kind Kind, obj Object) iter.Seq[Query] {
	return func(yield func(Query) bool) {
		typ, _ := TypeOf(kind)
		namespace := obj.GetNamespace()
		in := func(q Query) bool {
			if !yield(q) {
				return false
			}
			q.Namespace = namespace
			return namespace == "" || yield(q)
		}
		if !in(Query{Kind: kind}) {
			return
		}
		for _, ix := range typ.Indexes {
			for _, value := range IndexValues(kind, ix, obj) {
				if !in(Query{Kind: kind, Index: ix, Value: value}) {
					return
				}
			}
		}
	}
}

// Selects reports whether an object belongs to the answer of a query.
func (q Query) Selects(obj Object) bool {
	kind, ok := KindOf(obj)
	if !ok || kind != q.Kind || q.Namespace != "" && q.Namespace != obj.GetNamespace() {
		return false
	}
	return q.Index == "" || slices.Contains(IndexValues(kind, q.Index, obj), q.Value)
}

func addAll[K comparable](into map[K]struct{}, from iter.Seq[K]) {
	for k := range from {
		into[k] = struct{}{}
	}
}
