package model

import (
	"fmt"
	"testing"
)

// spend has each of the namespaces in turn take all that it may.
func spend(quota int, have []float64, turns ...int) (all float64) {
	for _, h := range have {
		all += h
	}
	for _, n := range turns {
		for {
			others := append(append([]float64{}, have[:n]...), have[n+1:]...)
			if !MayTakeOneMore(float64(quota), all, have[n], others) {
				break
			}
			have[n]++
			all++
		}
	}
	return all
}

func TestMayHaveOneMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quota, others int
		want          float64 // what one has that comes after the others took all that they may
	}{
		{10, 0, 5}, {100, 0, 50}, {2500, 0, 1250}, {100, 1, 12}, {2500, 1, 312}, {2500, 10, 10}, {2500, 20, 10}, {2500, 49, 10},
	} {
		have := make([]float64, c.others)
		for n := range c.others {
			// The later ones are not known yet.
			spend(c.quota, have[:n+1], n)
		}
		have = append(have, 0)
		all := spend(c.quota, have, c.others)
		if got := have[c.others]; got < c.want {
			t.Errorf("quota %d: after %d others took %v there are %v, want %v at least", c.quota, c.others, all-got, got, c.want)
		}
		if all > float64(c.quota) {
			t.Errorf("quota %d: %v are spent", c.quota, all)
		}
	}
}

// Those that are known keep a half of an equal share, whoever takes all that it may before.
func TestMayHaveOneMoreOfThoseThatAreKnown(t *testing.T) {
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
			spend(quota, have, turns...)
			if half := float64(quota / 2 / (n + 2)); have[n] < half {
				t.Errorf("the last one has %v, want %v: %v", have[n], half, have)
			}
		})
	}
}
