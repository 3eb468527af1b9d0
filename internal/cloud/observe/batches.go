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

// maxConcurrentBatches is the maximum number of batches that are read concurrently. Several batches are concurrent because a
// read mostly waits for AWS, and a thousand load balancers need a hundred batches after a start. The number is small because
// one read must not use up the token bucket that all reads share.
const maxConcurrentBatches = 8

// readInBatches calls read for each batch, several of them concurrently. After a failure it begins no more batches and
// returns the error. It reads the first batch alone, so that only one call is made if AWS does not answer.
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

// readInHalves calls read for batches of at most size resources, several of them concurrently. If one resource does not
// exist, AWS refuses the whole batch, and readInHalves reads each half of it. read must store its result immediately,
// because finished batches are not read again after an interruption.
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
