package seeds

import (
	"cmp"
	"maps"
	"slices"
)

// Spread returns every nth of similar cases, beginning with the first, or all cases in the long form (see Long).
func Spread[C any](n int, cases []C) []C {
	var out []C
	for i := 0; i < len(cases); i += Step(n) {
		out = append(out, cases[i])
	}
	return out
}

// SpreadKeys sorts the keys of a table of similar cases and returns every nth key, or all keys in the long form (see Long).
func SpreadKeys[K cmp.Ordered, C any](n int, cases map[K]C) []K {
	return Spread(n, slices.Sorted(maps.Keys(cases)))
}

// Cover returns the indexes of a small subset of the cases, in ascending order. Each element of a case is also in a case of
// the subset. The result depends only on the cases and their order.
func Cover[E comparable](cases [][]E) []int {
	left := map[E]bool{}
	for _, elements := range cases {
		for _, e := range elements {
			left[e] = true
		}
	}
	var out []int
	for len(left) > 0 {
		best, most := 0, 0
		for i, elements := range cases {
			n := 0
			for _, e := range elements {
				if left[e] {
					n++
				}
			}
			if n > most {
				best, most = i, n
			}
		}
		for _, e := range cases[best] {
			delete(left, e)
		}
		out = append(out, best)
	}
	slices.Sort(out)
	return out
}
