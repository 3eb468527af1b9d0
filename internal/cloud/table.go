package cloud

import (
	"iter"
	"maps"
	"slices"
)

// table holds the resources of one kind by id and finds them by keys, so that a look at one stack
// costs in proportion to the stack and not to the account. What a key is made of changes only in put,
// edit and drop: they file the entry under its keys, so that none is forgotten.
type table[E any] struct {
	entries map[string]*E
	// keysOf are the keys of an entry.
	keysOf func(id string, e *E) []tableKey
	filed  map[string][]tableKey            // by id: the keys that the entry is filed under
	byKey  map[tableKey]map[string]struct{} // ids
}

// tableKey is something that entries are looked for by, and its value.
type tableKey struct{ of, value string }

func newTable[E any](keysOf func(id string, e *E) []tableKey) *table[E] {
	return &table[E]{
		entries: map[string]*E{}, keysOf: keysOf,
		filed: map[string][]tableKey{}, byKey: map[tableKey]map[string]struct{}{},
	}
}

// get returns an entry, nil if there is none. What its keys are made of is changed by edit alone.
func (t *table[E]) get(id string) *E { return t.entries[id] }

// all are the entries, in no order. They may be dropped meanwhile.
func (t *table[E]) all() iter.Seq2[string, *E] { return maps.All(t.entries) }

// ids are those of all entries now, in no order.
func (t *table[E]) ids() iter.Seq[string] { return slices.Values(slices.Collect(maps.Keys(t.entries))) }

// put enters an entry in place of what has the id.
func (t *table[E]) put(id string, e *E) {
	t.entries[id] = e
	t.file(id, t.keysOf(id, e))
}

// edit changes an entry; it reports whether there is one.
func (t *table[E]) edit(id string, change func(e *E)) bool {
	e := t.entries[id]
	if e == nil {
		return false
	}
	change(e)
	t.file(id, t.keysOf(id, e))
	return true
}

func (t *table[E]) drop(id string) {
	delete(t.entries, id)
	t.file(id, nil)
}

// file moves an entry to its present keys.
func (t *table[E]) file(id string, keys []tableKey) {
	old := t.filed[id]
	if slices.Equal(old, keys) {
		return
	}
	for _, k := range old {
		delete(t.byKey[k], id)
		if len(t.byKey[k]) == 0 {
			delete(t.byKey, k)
		}
	}
	for _, k := range keys {
		if t.byKey[k] == nil {
			t.byKey[k] = map[string]struct{}{}
		}
		t.byKey[k][id] = struct{}{}
	}
	if t.filed[id] = keys; len(keys) == 0 {
		delete(t.filed, id)
	}
}

// having are the entries with a key, in no order.
func (t *table[E]) having(of, value string) iter.Seq2[string, *E] {
	return func(yield func(string, *E) bool) {
		for id := range t.byKey[tableKey{of, value}] {
			if !yield(id, t.entries[id]) {
				return
			}
		}
	}
}

// has reports whether the entry with an id has a key.
func (t *table[E]) has(id, of, value string) bool {
	_, ok := t.byKey[tableKey{of, value}][id]
	return ok
}

// count is how many entries have a key.
func (t *table[E]) count(of, value string) int { return len(t.byKey[tableKey{of, value}]) }
