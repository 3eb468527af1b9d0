package adversary

import (
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// TestVictimsAreServedWithoutAnAttacker checks that a second run without the attacker meets the expectations that the first
// run has recorded.
func TestVictimsAreServedWithoutAnAttacker(t *testing.T) {
	t.Parallel()
	for i := range scenarios() {
		for a := range accessCount {
			if a != access(i)%accessCount && !seeds.Long() {
				continue
			}
			s := setup{access: a, scenario: i, isolated: i%2 == 1}
			c := runWithoutAttacker(t, s)
			failures := runInTestCluster(t, s, harness.Options{}, func(w *testCluster) {
				w.startComparison(c)
				for _, act := range scenarios()[i] {
					w.perform(act)
					w.advanceAndCompare(act.maxDelay)
				}
				w.rec.failures = append(w.rec.failures, w.comparison.failures...)
			})
			for _, f := range failures {
				t.Errorf("%v: %s", s, f)
			}
		}
	}
}

// TestFailuresAtTheEndAreRecorded checks that failures that the harness reports in its cleanup, such as a permission that the
// shipped policies lack, are failures of a history.
func TestFailuresAtTheEndAreRecorded(t *testing.T) {
	t.Parallel()
	failures := runInTestCluster(t, setup{}, harness.Options{}, func(w *testCluster) {
		w.rec.Cleanup(func() { w.rec.Errorf("reported at the end") })
	})
	if !slices.Equal(failures, []string{"reported at the end"}) {
		t.Errorf("failures %q", failures)
	}
}
