package cluster

import "iter"

// setsByKey maps each key to a set of members. A key without members has no entry.
type setsByKey[Q, K comparable] map[Q]set[K]

// set is a set with at least one member. Most sets have exactly one member. For example, usually only one binding reads a
// pod. The first member is stored outside of the map, which saves a quarter of the memory in a large cluster.
type set[K comparable] struct {
	first  K
	others map[K]struct{}
}

// add adds a member to the set of a key.
func (s setsByKey[Q, K]) add(q Q, k K) {
	members, ok := s[q]
	switch {
	case !ok:
		s[q] = set[K]{first: k}
	case members.first == k:
	case members.others == nil:
		members.others = map[K]struct{}{k: {}}
		s[q] = members
	default:
		members.others[k] = struct{}{}
	}
}

// remove removes a member from the set of a key.
func (s setsByKey[Q, K]) remove(q Q, k K) {
	members := s[q]
	if members.first != k {
		delete(members.others, k)
		return
	}
	for other := range members.others { // any of the members, because a set has no order
		delete(members.others, other)
		members.first = other
		s[q] = members
		return
	}
	delete(s, q)
}

// members returns the members of the set of a key, in unspecified order.
func (s setsByKey[Q, K]) members(q Q) iter.Seq[K] {
	return func(yield func(K) bool) {
		members, ok := s[q]
		if !ok || !yield(members.first) {
			return
		}
		for k := range members.others {
			if !yield(k) {
				return
			}
		}
	}
}
