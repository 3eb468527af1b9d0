package seeds

import (
	"fmt"
	"slices"
	"testing"
)

func TestPairsCoversEachPairOfValues(t *testing.T) {
	var all [][]string
	for a := range 5 {
		for b := range 4 {
			for c := range 3 {
				if a == 2 && b > 1 { // omits some combinations
					continue
				}
				all = append(all, []string{fmt.Sprint(a), fmt.Sprint(b), fmt.Sprint(c)})
			}
		}
	}
	whole := func(c []string) []string { return c }
	t.Setenv("FULCRUM_LONG", "")
	got := Pairs(all, whole)
	if len(got) > 26 { // at least 20 are needed
		t.Errorf("%d of %d cases", len(got), len(all))
	}
	for _, c := range all {
		for i := range c {
			for j := range i {
				if !slices.ContainsFunc(got, func(g []string) bool { return g[i] == c[i] && g[j] == c[j] }) {
					t.Errorf("no case has %s at %d with %s at %d", c[i], i, c[j], j)
				}
			}
		}
	}
	if again := Pairs(all, whole); fmt.Sprint(again) != fmt.Sprint(got) {
		t.Errorf("%v, then %v", got, again)
	}
	t.Setenv("FULCRUM_LONG", "1")
	if got := Pairs(all, whole); len(got) != len(all) {
		t.Errorf("%d of %d cases in the long form", len(got), len(all))
	}
}
