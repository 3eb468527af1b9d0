package seeds

import (
	"slices"
	"testing"
)

func TestSpreadTakesEveryNthCase(t *testing.T) {
	cases := []int{0, 1, 2, 3, 4, 5, 6}
	t.Setenv("FULCRUM_LONG", "")
	if got := Spread(3, cases); !slices.Equal(got, []int{0, 3, 6}) {
		t.Errorf("%v", got)
	}
	if got := SpreadKeys(2, map[string]bool{"b": true, "a": true, "c": true}); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("%v", got)
	}
	t.Setenv("FULCRUM_LONG", "1")
	if got := Spread(3, cases); !slices.Equal(got, cases) {
		t.Errorf("%v in the long form", got)
	}
}

func TestCoverIncludesEachElement(t *testing.T) {
	cases := [][]int{{1}, {1, 2}, {3, 4, 5}, {2, 3}, {5, 5}, {6}}
	if got := Cover(cases); !slices.Equal(got, []int{1, 2, 5}) {
		t.Errorf("%v", got)
	}
}
