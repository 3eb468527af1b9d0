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

// Long reports whether tests run in their long form, as in "make soak" (FULCRUM_LONG=1): all pairs instead of a
// third of them, and each call instead of every nth call (see Step).
func Long() bool { return os.Getenv("FULCRUM_LONG") != "" }

// Step returns the distance between tested cases in a series of similar cases, such as the calls at which the
// process is killed: n, or 1 in the long form.
func Step(n int) int {
	if Long() {
		return 1
	}
	return n
}

// Amount returns short, or long in the long form. It is for the length of long tests.
func Amount(short, long int) int {
	if Long() {
		return long
	}
	return short
}

// Each checks a property for the seeds from 0 to n-1, in parallel batches that each end with their first failure.
// FULCRUM_SEEDS=20 checks 20 times as many seeds, FULCRUM_SEED=17 only seed 17, and -short a tenth of the seeds.
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
