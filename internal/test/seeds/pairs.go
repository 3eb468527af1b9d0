package seeds

import "fmt"

// Pairs returns as few of the cases as have each two values that any case has, or all in the long form. Faults in a
// product of kinds, events and states are nearly always of one of them or of two together, so that the rest of the
// product finds little for what it costs.
//
// The values of a case, two or more, are in the order of what they are of. The result depends on the cases and their order
// alone.
func Pairs[C any](cases []C, values func(C) []string) []C {
	if Long() {
		return cases
	}
	pairs := make([][]string, len(cases))
	for i, c := range cases {
		v := values(c)
		if len(v) < 2 {
			panic("seeds: a case without two values has no pair, and would never be played")
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
