package inventory

import (
	"iter"
	"maps"
	"slices"
)

// Table holds the resources of one kind by id and finds them by keys, so that a look at one stack
// costs in proportion to the stack and not to the account. What a key is made of changes only in Put,
// Edit and Drop: they file the entry under its keys, so that none is forgotten.
type Table[E any] struct {
	entries map[string]*E
	// KeysOf are the keys of an entry.
	KeysOf func(id string, e *E) []Key
	filed  map[string][]Key            // by id: the keys that the entry is filed under
	ByKey  map[Key]map[string]struct{} // ids
}

// Key is something that entries are looked for by, and its value.
type Key struct{ of, value string }

func newTable[E any](keysOf func(id string, e *E) []Key) *Table[E] {
	return &Table[E]{
		entries: map[string]*E{}, KeysOf: keysOf,
		filed: map[string][]Key{}, ByKey: map[Key]map[string]struct{}{},
	}
}

// Get returns an entry, nil if there is none. What its keys are made of is changed by Edit alone.
func (t *Table[E]) Get(id string) *E { return t.entries[id] }

// All returns the entries, in no order. They may be dropped meanwhile.
func (t *Table[E]) All() iter.Seq2[string, *E] { return maps.All(t.entries) }

// IDs returns the IDs of all entries now, in no order.
func (t *Table[E]) IDs() iter.Seq[string] { return slices.Values(slices.Collect(maps.Keys(t.entries))) }

// Put enters an entry in place of what has the id.
func (t *Table[E]) Put(id string, e *E) {
	t.entries[id] = e
	t.file(id, t.KeysOf(id, e))
}

// Edit changes an entry; it reports whether there is one.
func (t *Table[E]) Edit(id string, change func(e *E)) bool {
	e := t.entries[id]
	if e == nil {
		return false
	}
	change(e)
	t.file(id, t.KeysOf(id, e))
	return true
}

// Drop forgets an entry.
func (t *Table[E]) Drop(id string) {
	delete(t.entries, id)
	t.file(id, nil)
}

// file moves an entry to its present keys.
func (t *Table[E]) file(id string, keys []Key) {
	old := t.filed[id]
	if slices.Equal(old, keys) {
		return
	}
	for _, k := range old {
		delete(t.ByKey[k], id)
		if len(t.ByKey[k]) == 0 {
			delete(t.ByKey, k)
		}
	}
	for _, k := range keys {
		if t.ByKey[k] == nil {
			t.ByKey[k] = map[string]struct{}{}
		}
		t.ByKey[k][id] = struct{}{}
	}
	if t.filed[id] = keys; len(keys) == 0 {
		delete(t.filed, id)
	}
}

// Having returns the entries with a key, in no order.
func (t *Table[E]) Having(of, value string) iter.Seq2[string, *E] {
	return func(yield func(string, *E) bool) {
		for id := range t.ByKey[Key{of, value}] {
			if !yield(id, t.entries[id]) {
				return
			}
		}
	}
}

// Has reports whether the entry with an id has a key.
func (t *Table[E]) Has(id, of, value string) bool {
	_, ok := t.ByKey[Key{of, value}][id]
	return ok
}

// Count returns how many entries have a key.
func (t *Table[E]) Count(of, value string) int { return len(t.ByKey[Key{of, value}]) }
