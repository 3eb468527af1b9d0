package seeds

import (
	"slices"
	"sync"
	"testing"
)

// checkedSeeds returns the seeds for which Each checks a property, in ascending order.
func checkedSeeds(t *testing.T, n int) []uint64 {
	var mu sync.Mutex
	var got []uint64
	t.Run("seeds", func(t *testing.T) {
		Each(t, n, func(_ *testing.T, seed uint64) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, seed)
		})
	})
	slices.Sort(got)
	return got
}

func TestEachSeedIsCheckedOnce(t *testing.T) {
	for _, c := range []struct {
		times   string
		n, want int
	}{{"", 1, 1}, {"1", 7, 7}, {"1", 20, 20}, {"3", 11, 33}} {
		t.Setenv("FULCRUM_SEEDS", c.times)
		t.Setenv("FULCRUM_SEED", "")
		got := checkedSeeds(t, c.n)
		for i, seed := range got {
			if seed != uint64(i) {
				t.Fatalf("%+v: seed %d is %d", c, i, seed)
			}
		}
		if len(got) != c.want {
			t.Errorf("%+v: %d seeds", c, len(got))
		}
	}
}

func TestSeedVariableChecksOneSeed(t *testing.T) {
	t.Setenv("FULCRUM_SEED", "17")
	if got := checkedSeeds(t, 5); !slices.Equal(got, []uint64{17}) {
		t.Errorf("seeds %v", got)
	}
}
