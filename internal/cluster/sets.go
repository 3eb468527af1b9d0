package cluster

import "iter"

// sets are sets by keys. A key without members has no entry.
type sets[Q, K comparable] map[Q]set[K]

// set has at least one member. Most have no other, as a pod has one binding that asks for it: with a map for each of them,
// the questions of a large cluster would take a quarter of the memory.
type set[K comparable] struct {
	one    K
	others map[K]struct{}
}

func (s sets[Q, K]) add(q Q, k K) {
	of, ok := s[q]
	switch {
	case !ok:
		s[q] = set[K]{one: k}
	case of.one == k:
	case of.others == nil:
		of.others = map[K]struct{}{k: {}}
		s[q] = of
	default:
		of.others[k] = struct{}{}
	}
}

func (s sets[Q, K]) remove(q Q, k K) {
	of := s[q]
	if of.one != k {
		delete(of.others, k)
		return
	}
	for other := range of.others { // whichever: members have no order
		delete(of.others, other)
		of.one = other
		s[q] = of
		return
	}
	delete(s, q)
}

// members returns the members of the set of a key, in no order.
func (s sets[Q, K]) members(q Q) iter.Seq[K] {
	return func(yield func(K) bool) {
		of, ok := s[q]
		if !ok || !yield(of.one) {
			return
		}
		for k := range of.others {
			if !yield(k) {
				return
			}
		}
	}
}
