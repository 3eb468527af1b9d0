package cluster

import "slices"

// indexKey identifies a value in an index of a kind.
type indexKey struct {
	kind  Kind
	index Index
	value string
}

// reindex updates the indexes of a kind after a change of an object. The caller holds the lock.
func (m *Memory) reindex(ref Ref, old, new Object) {
	typ, ok := TypeOf(ref.Kind)
	if !ok {
		return
	}
	for _, ix := range typ.Indexes {
		if old != nil {
			for _, v := range IndexValues(ix, old) {
				m.refsByIndex.remove(indexKey{ref.Kind, ix, v}, ref)
			}
		}
		if new != nil {
			for _, v := range IndexValues(ix, new) {
				m.refsByIndex.add(indexKey{ref.Kind, ix, v}, ref)
			}
		}
	}
}

// queryCandidates returns the objects that a query with an index may select, sorted by namespace and name: the objects with
// the value in the index, or all objects of the kind if the kind does not have the index. The caller holds the lock.
func (m *Memory) queryCandidates(q Query) []Object {
	typ, ok := TypeOf(q.Kind)
	if !ok || !slices.Contains(typ.Indexes, q.Index) {
		return m.objectsInNamespace(q.Kind, q.Namespace)
	}
	var out []Object
	for _, ref := range slices.SortedFunc(m.refsByIndex.members(indexKey{q.Kind, q.Index, q.Value}), compareNames) {
		out = append(out, m.objects[ref])
	}
	return out
}
