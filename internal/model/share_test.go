package model

import (
	"fmt"
	"testing"
)

// takeAllPermitted lets sharers take units, one sharer after the other, each until MayUseOneMore returns false. turns are
// the indexes of these sharers in have, which has the units of all sharers. It returns the total number of units in use.
func takeAllPermitted(quota int, have []float64, turns ...int) (all float64) {
	for _, h := range have {
		all += h
	}
	for _, n := range turns {
		for {
			others := append(append([]float64{}, have[:n]...), have[n+1:]...)
			if !MayUseOneMore(float64(quota), all, have[n], others) {
				break
			}
			have[n]++
			all++
		}
	}
	return all
}

func TestMayUseOneMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quota, others int
		want          float64 // units of the last sharer, after all others have taken their units
	}{
		{10, 0, 5}, {100, 0, 50}, {2500, 0, 1250}, {100, 1, 12}, {2500, 1, 312}, {2500, 10, 10}, {2500, 20, 10}, {2500, 49, 10},
	} {
		have := make([]float64, c.others)
		for n := range c.others {
			// The sharers with higher indexes are not known yet.
			takeAllPermitted(c.quota, have[:n+1], n)
		}
		have = append(have, 0)
		all := takeAllPermitted(c.quota, have, c.others)
		if got := have[c.others]; got < c.want {
			t.Errorf("quota %d: %d other namespaces took %v, the last namespace got %v, want at least %v", c.quota, c.others, all-got, got, c.want)
		}
		if all > float64(c.quota) {
			t.Errorf("quota %d: %v units are used, more than the quota", c.quota, all)
		}
	}
}

// TestKnownSharersGetHalfOfAnEqualShare checks that a sharer that is known from the start gets at least half of an equal
// share, even if all other sharers take their units before.
func TestKnownSharersGetHalfOfAnEqualShare(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 5, 10, 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			const quota = 2500
			have := make([]float64, n+1)
			var turns []int
			for i := range n + 1 {
				turns = append(turns, i)
			}
			takeAllPermitted(quota, have, turns...)
			if half := float64(quota / 2 / (n + 2)); have[n] < half {
				t.Errorf("the last namespace has %v, want %v: %v", have[n], half, have)
			}
		})
	}
}
