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

// mostAtOnce is how many batches are asked for at the same time. Each waits for AWS nearly all of its time, and after a
// start there are a hundred of them for a thousand load balancers. More would spend the token bucket of all reads at once.
const mostAtOnce = 8

// inBatches reads batches, some at the same time. After one that fails no more are begun; its error is returned. The first is
// read alone: it finds out whether AWS answers, which others beside it would take for granted or give up on.
func inBatches(batches iter.Seq[[]string], read func(batch []string) error) error {
	most := 1
	for left := slices.Collect(batches); len(left) > 0; most = mostAtOnce {
		some := left[:min(most, len(left))]
		left = left[len(some):]
		errs := make([]error, len(some))
		var reading sync.WaitGroup
		for i, batch := range some {
			reading.Go(func() {
				// It would end the process here; as an error it ends the run, like any other panic of it.
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

// inHalves reads resources in batches, some at the same time. One that does not exist makes AWS refuse its whole batch,
// which is then read in halves. What a batch has shown is entered at once, so that a reading that is cut
// short goes on where it was.
func inHalves(arns []string, size int, read func(batch []string) error) error {
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
	return inBatches(slices.Chunk(slices.Sorted(slices.Values(arns)), size), halves)
}
