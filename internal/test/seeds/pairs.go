package seeds

import "fmt"

// Pairs returns a small subset of the cases. Each pair of values that occurs in a case also occurs in the subset. Nearly
// all faults depend on one value or on a pair of values, so the other cases would find few more faults. In the long form
// (see Long), Pairs returns all cases.
//
// values returns the values of a case, at least two, always in the same order of dimensions. The result depends only on the
// cases and their order.
func Pairs[C any](cases []C, values func(C) []string) []C {
	if Long() {
		return cases
	}
	pairs := make([][]string, len(cases))
	for i, c := range cases {
		v := values(c)
		if len(v) < 2 {
			panic("seeds: a case needs two values; without a pair of values it is never run")
		}
		for a := range v {
			for b := range a {
				pairs[i] = append(pairs[i], fmt.Sprintf("%d %q %d %q", b, v[b], a, v[a]))
			}
		}
	}
	var out []C
	for _, i := range Cover(pairs) {
		out = append(out, cases[i])
	}
	return out
}
