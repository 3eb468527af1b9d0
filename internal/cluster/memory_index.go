package cluster

import "slices"

// indexKey is a value of an index of a kind.
type indexKey struct {
	kind  Kind
	index Index
	value string
}

// reindex moves an object to its present values of all indexes of its kind. The lock is held.
func (m *Memory) reindex(ref Ref, old, new Object) {
	typ, ok := TypeOf(ref.Kind)
	if !ok {
		return
	}
	for _, ix := range typ.Indexes {
		if old != nil {
			for _, v := range IndexValues(ref.Kind, ix, old) {
				m.indexed.remove(indexKey{ref.Kind, ix, v}, ref)
			}
		}
		if new != nil {
			for _, v := range IndexValues(ref.Kind, ix, new) {
				m.indexed.add(indexKey{ref.Kind, ix, v}, ref)
			}
		}
	}
}

// candidates returns the objects among which the answer of a query is, in order. The lock is held.
func (m *Memory) candidates(q Query) []Object {
	typ, ok := TypeOf(q.Kind)
	if !ok || !slices.Contains(typ.Indexes, q.Index) {
		return m.all(q.Kind, q.Namespace)
	}
	var out []Object
	for _, ref := range slices.SortedFunc(m.indexed.of(indexKey{q.Kind, q.Index, q.Value}), byName) {
		out = append(out, m.objects[ref])
	}
	return out
}
