package inventory

import (
	"iter"
	"maps"
	"slices"
)

// Table stores the resources of one kind by ARN or ID, and finds them by keys. With these keys, the time to find the
// resources of a stack depends on the size of the stack, and not on the size of the account. Values on which keys depend
// must be changed only with Put, Edit and Drop, which update the index.
type Table[E any] struct {
	entries map[string]*E
	// KeysOf returns the keys of an entry.
	KeysOf   func(id string, e *E) []Key
	keysByID map[string][]Key            // the indexed keys of each entry, by ID
	IDsByKey map[Key]map[string]struct{} // the index: IDs of entries by key
}

// Key is a value by which entries are found, and the kind of the key, such as ByName.
type Key struct{ kind, value string }

func newTable[E any](keysOf func(id string, e *E) []Key) *Table[E] {
	return &Table[E]{
		entries: map[string]*E{}, KeysOf: keysOf,
		keysByID: map[string][]Key{}, IDsByKey: map[Key]map[string]struct{}{},
	}
}

// Get returns an entry, or nil if there is none. The caller must change values on which keys depend only with Edit.
func (t *Table[E]) Get(id string) *E { return t.entries[id] }

// All returns the entries in no particular order. Entries may be removed during the iteration.
func (t *Table[E]) All() iter.Seq2[string, *E] { return maps.All(t.entries) }

// IDs returns the IDs of the entries in no particular order. The table may be changed during the iteration.
func (t *Table[E]) IDs() iter.Seq[string] { return slices.Values(slices.Collect(maps.Keys(t.entries))) }

// Put adds an entry, or replaces it.
func (t *Table[E]) Put(id string, e *E) {
	t.entries[id] = e
	t.updateIndex(id, t.KeysOf(id, e))
}

// Edit calls change with an entry and updates the index. It returns false if there is no such entry.
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

// updateIndex replaces the keys of an entry in the index.
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

// EntriesWithKey returns the entries that have a key, in no particular order. of is the kind of the key, such as ByName.
func (t *Table[E]) EntriesWithKey(of, value string) iter.Seq2[string, *E] {
	return func(yield func(string, *E) bool) {
		for id := range t.IDsByKey[Key{of, value}] {
			if !yield(id, t.entries[id]) {
				return
			}
		}
	}
}

// HasKey reports whether the entry with an ID has a key. of is the kind of the key.
func (t *Table[E]) HasKey(id, of, value string) bool {
	_, ok := t.IDsByKey[Key{of, value}][id]
	return ok
}

// CountWithKey returns the number of entries that have a key. of is the kind of the key.
func (t *Table[E]) CountWithKey(of, value string) int { return len(t.IDsByKey[Key{of, value}]) }
