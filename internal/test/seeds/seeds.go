// Package seeds runs property tests: one property for many seeds, each of which determines a random case.
package seeds

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// batchCount is the number of batches of seeds that run in parallel.
const batchCount = 8

// Long reports whether tests run in their long form, as in "make soak": whether the environment variable FULCRUM_LONG is not
// empty. In the long form, tests check all cases instead of a selection.
func Long() bool { return os.Getenv("FULCRUM_LONG") != "" }

// Step returns the distance between tested cases in a series of similar cases: n, or 1 in the long form. An example of
// such a series is the list of AWS calls at which a test kills the process.
func Step(n int) int {
	if Long() {
		return 1
	}
	return n
}

// Amount returns short, or long in the long form. Long tests use it for their number of cases or their duration.
func Amount(short, long int) int {
	if Long() {
		return long
	}
	return short
}

// Each checks a property for the seeds from 0 to n-1, in parallel batches. A batch ends with its first failure. With the
// environment variable FULCRUM_SEEDS=20, Each checks 20 times as many seeds, and with FULCRUM_SEED=17 only seed 17. With
// -short, it checks a tenth of the seeds.
func Each(t *testing.T, n int, property func(t *testing.T, seed uint64)) {
	t.Helper()
	if seed, err := strconv.ParseUint(os.Getenv("FULCRUM_SEED"), 10, 64); err == nil {
		property(t, seed)
		return
	}
	all := uint64(n)
	if times, err := strconv.ParseUint(os.Getenv("FULCRUM_SEEDS"), 10, 64); err == nil {
		all *= times
	} else if testing.Short() {
		all = (all + 9) / 10
	}
	for lot := range min(batchCount, all) {
		t.Run(fmt.Sprint(lot), func(t *testing.T) {
			t.Parallel()
			for seed := lot; seed < all && !t.Failed(); seed += batchCount {
				property(t, seed)
			}
		})
	}
}
