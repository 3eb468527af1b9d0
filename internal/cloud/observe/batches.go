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

// maxConcurrentBatches is how many batches are read concurrently. A reading mostly waits for AWS, and after a
// start there are a hundred batches for a thousand load balancers. More would use up the token bucket of all reads.
const maxConcurrentBatches = 8

// readInBatches reads batches, several concurrently. After a failure it begins no more batches and returns the error. The first
// batch is read alone, so that only one call is made if AWS does not answer.
func readInBatches(batches iter.Seq[[]string], read func(batch []string) error) error {
	limit := 1
	for remaining := slices.Collect(batches); len(remaining) > 0; limit = maxConcurrentBatches {
		concurrent := remaining[:min(limit, len(remaining))]
		remaining = remaining[len(concurrent):]
		errs := make([]error, len(concurrent))
		var reading sync.WaitGroup
		for i, batch := range concurrent {
			reading.Go(func() {
				// In this goroutine a panic would end the process. As an error it ends the run, like a panic of the run's
				// own goroutine.
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

// readInHalves reads resources in batches, several concurrently. A resource that does not exist makes AWS refuse its whole
// batch, which is then read in halves. read enters each batch at once, so that a reading that is cut short need
// not be repeated from its start.
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
