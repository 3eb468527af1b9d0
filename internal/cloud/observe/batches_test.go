package observe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// batchesOf returns n batches of one resource each.
func batchesOf(n int) (out [][]string) {
	for i := range n {
		out = append(out, []string{fmt.Sprint(i)})
	}
	return out
}

func TestBatchesAreReadConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var read atomic.Int64
		if err := readInBatches(slices.Values(batchesOf(2*maxConcurrentBatches+1)), func([]string) error {
			time.Sleep(time.Second)
			read.Add(1)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 3*time.Second || read.Load() != 2*maxConcurrentBatches+1 {
			t.Errorf("%d batches took %v, want %d in 3 s", read.Load(), got, 2*maxConcurrentBatches+1)
		}
	})
}

func TestNoBatchStartsAfterAFailedBatch(t *testing.T) {
	denied, throttled := errors.New("denied"), errors.New("throttled")
	var read atomic.Int64
	err := readInBatches(slices.Values(batchesOf(3*maxConcurrentBatches)), func(batch []string) error {
		switch read.Add(1); batch[0] {
		case fmt.Sprint(maxConcurrentBatches + 1):
			return denied
		case fmt.Sprint(maxConcurrentBatches + 2):
			return throttled
		}
		return nil
	})
	if !errors.Is(err, denied) || read.Load() != 1+2*maxConcurrentBatches {
		t.Errorf("%d batches are read, and the error is %v; want %d, and the first error", read.Load(), err, 1+2*maxConcurrentBatches)
	}
}

func TestTheFirstBatchIsReadAlone(t *testing.T) {
	denied := errors.New("denied")
	var read atomic.Int64
	if err := readInBatches(slices.Values(batchesOf(maxConcurrentBatches)), func([]string) error {
		read.Add(1)
		return denied
	}); !errors.Is(err, denied) || read.Load() != 1 {
		t.Errorf("AWS denies all batches: %d were read, and the error is %v", read.Load(), err)
	}
}

func TestPanicInABatchFailsTheRead(t *testing.T) {
	err := readInBatches(slices.Values(batchesOf(2)), func(batch []string) error {
		if batch[0] == "1" {
			panic("broken")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "panic: broken") {
		t.Errorf("want the panic as an error, got %v", err)
	}
}
