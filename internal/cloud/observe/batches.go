package observe

import (
	"cmp"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
)

// maxConcurrentBatches is the number of batches that are read concurrently. A reading mostly waits for AWS, and after a
// start there are a hundred batches for a thousand load balancers. More concurrent batches would use up the token bucket of
// all reads.
const maxConcurrentBatches = 8

// readInBatches reads batches, several of them concurrently. After a failure it begins no more batches and returns the
// error. It reads the first batch alone, so that only one call is made if AWS does not answer.
func readInBatches(batches iter.Seq[[]string], read func(batch []string) error) error {
	limit := 1
	for remaining := slices.Collect(batches); len(remaining) > 0; limit = maxConcurrentBatches {
		concurrent := remaining[:min(limit, len(remaining))]
		remaining = remaining[len(concurrent):]
		errs := make([]error, len(concurrent))
		var reading sync.WaitGroup
		for i, batch := range concurrent {
			reading.Go(func() {
				// A panic in this goroutine would end the process. Returned as an error it ends only the run, like a panic
				// in the goroutine of the run.
				defer func() {
					if p := recover(); p != nil {
						errs[i] = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
					}
				}()
				errs[i] = read(batch)
			})
		}
		reading.Wait()
		if err := cmp.Or(errs...); err != nil {
			return err
		}
	}
	return nil
}

// readInHalves reads resources in batches, several of them concurrently. If a resource does not exist, AWS refuses its whole
// batch, which is then read in halves. read enters each batch at once, so that an interrupted reading need not be repeated
// from its start.
func readInHalves(arns []string, size int, read func(batch []string) error) error {
	var halves func(batch []string) error
	halves = func(batch []string) error {
		err := read(batch)
		if !sdk.IsGone(err) {
			return err
		}
		if len(batch) == 1 {
			return nil
		}
		half := len(batch) / 2
		if err := halves(batch[:half]); err != nil {
			return err
		}
		return halves(batch[half:])
	}
	return readInBatches(slices.Chunk(slices.Sorted(slices.Values(arns)), size), halves)
}
