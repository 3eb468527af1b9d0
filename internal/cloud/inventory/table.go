package inventory

import (
	"iter"
	"maps"
	"slices"
)

// Table stores the resources of one kind by id and finds them by keys, so that the cost of reading a stack is proportional
// to the size of the stack and not of the account. Values on which keys depend are changed only by Put, Edit and Drop, which
// update the index.
type Table[E any] struct {
	entries map[string]*E
	// KeysOf returns the keys of an entry.
	KeysOf   func(id string, e *E) []Key
	keysByID map[string][]Key            // the indexed keys of each entry, by id
	IDsByKey map[Key]map[string]struct{} // the index: ids by key
}

// Key is a value by which entries are found, with the kind of key, such as byStack.
type Key struct{ kind, value string }

func newTable[E any](keysOf func(id string, e *E) []Key) *Table[E] {
	return &Table[E]{
		entries: map[string]*E{}, KeysOf: keysOf,
		keysByID: map[string][]Key{}, IDsByKey: map[Key]map[string]struct{}{},
	}
}

// Get returns an entry, or nil if there is none. The caller must not change values on which keys depend; Edit can change
// them.
func (t *Table[E]) Get(id string) *E { return t.entries[id] }

// All returns the entries in no particular order. Entries may be dropped during the iteration.
func (t *Table[E]) All() iter.Seq2[string, *E] { return maps.All(t.entries) }

// IDs returns the ids of the current entries in no particular order. The table may be changed during the iteration.
func (t *Table[E]) IDs() iter.Seq[string] { return slices.Values(slices.Collect(maps.Keys(t.entries))) }

// Put adds or replaces an entry.
func (t *Table[E]) Put(id string, e *E) {
	t.entries[id] = e
	t.updateIndex(id, t.KeysOf(id, e))
}

// Edit changes an entry. It reports whether the entry exists.
func (t *Table[E]) Edit(id string, change func(e *E)) bool {
	e := t.entries[id]
	if e == nil {
		return false
	}
	change(e)
	t.updateIndex(id, t.KeysOf(id, e))
	return true
}

// Drop removes an entry.
func (t *Table[E]) Drop(id string) {
	delete(t.entries, id)
	t.updateIndex(id, nil)
}

// updateIndex replaces the keys under which an entry is indexed.
func (t *Table[E]) updateIndex(id string, keys []Key) {
	old := t.keysByID[id]
	if slices.Equal(old, keys) {
		return
	}
	for _, k := range old {
		delete(t.IDsByKey[k], id)
		if len(t.IDsByKey[k]) == 0 {
			delete(t.IDsByKey, k)
		}
	}
	for _, k := range keys {
		if t.IDsByKey[k] == nil {
			t.IDsByKey[k] = map[string]struct{}{}
		}
		t.IDsByKey[k][id] = struct{}{}
	}
	if t.keysByID[id] = keys; len(keys) == 0 {
		delete(t.keysByID, id)
	}
}

// EntriesWithKey returns the entries with a key in no particular order.
func (t *Table[E]) EntriesWithKey(of, value string) iter.Seq2[string, *E] {
	return func(yield func(string, *E) bool) {
		for id := range t.IDsByKey[Key{of, value}] {
			if !yield(id, t.entries[id]) {
				return
			}
		}
	}
}

// HasKey reports whether the entry with an id has a key.
func (t *Table[E]) HasKey(id, of, value string) bool {
	_, ok := t.IDsByKey[Key{of, value}][id]
	return ok
}

// CountWithKey returns how many entries have a key.
func (t *Table[E]) CountWithKey(of, value string) int { return len(t.IDsByKey[Key{of, value}]) }
