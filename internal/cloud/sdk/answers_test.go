package sdk

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// TestOldAnswersAreRemoved checks that answers that were not read again for a long time do not stay in the cache.
func TestOldAnswersAreRemoved(t *testing.T) {
	now := time.Unix(1700000000, 0)
	c := &Client{Config: Config{Clock: testclock.FromVariable(&now)}}
	a := NewAnswers[int](c)
	for n := range 10 {
		_, err := a.Get(t.Context(), fmt.Sprint("vpc-", n), durations.Recent, func(context.Context) (int, error) { return n, nil })
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(durations.CacheRetention)
	}
	if n := a.Count(func(int) bool { return true }); n != 1 {
		t.Errorf("%d answers are cached, want 1", n)
	}
}

// TestAnswersAreReadAgain checks that a cached answer is used while it is young enough, that maxAge may depend on the answer,
// and that a failed read leaves the previous answer in the cache.
func TestAnswersAreReadAgain(t *testing.T) {
	now := time.Unix(1700000000, 0)
	c := &Client{Config: Config{Clock: testclock.FromVariable(&now)}}
	c.ForgetFaults()
	a, reads, failure := NewAnswers[int](c), 0, error(nil)
	get := func(maxAge func(int) time.Duration) int {
		got, err := a.GetWithAge(t.Context(), "key", maxAge, func(context.Context) (int, error) {
			reads++
			return reads, failure
		})
		if (err != nil) != (failure != nil) {
			t.Fatalf("the error is %v, want one if %v", err, failure)
		}
		return got
	}
	minute := func(int) time.Duration { return time.Minute }
	for i, want := range []int{1, 1, 2} {
		if got := get(minute); got != want {
			t.Errorf("answer %d is %d, want %d", i, got, want)
		}
		now = now.Add(40 * time.Second)
	}
	if got := get(func(n int) time.Duration { return time.Duration(n) * time.Minute }); got != 2 {
		t.Errorf("the answer is %d, want 2, which may be used for two minutes", got)
	}
	failure = errors.New("unreachable")
	now = now.Add(time.Hour)
	get(minute)
	if got := a.Cached("key"); got != 2 {
		t.Errorf("%d is cached after a failed read, want 2", got)
	}
	a.Forget("key")
	if got := a.Cached("key"); got != 0 {
		t.Errorf("%d is cached after Forget", got)
	}
}

// TestExpiredAnswersAreReadAgain checks that Expire makes the next call read an answer again, and leaves the answer to calls
// that have just read it. A list that is empty for such a call would mean that AWS has none of the resources.
func TestExpiredAnswersAreReadAgain(t *testing.T) {
	now := time.Unix(1700000000, 0)
	c := &Client{Config: Config{Clock: testclock.FromVariable(&now)}}
	a, reads := NewAnswers[int](c), 0
	get := func() int {
		got, err := a.Get(t.Context(), "key", time.Hour, func(context.Context) (int, error) {
			reads++
			return reads, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	get()
	a.Expire()
	if got := a.Cached("key"); got != 1 {
		t.Errorf("%d is cached after Expire, want 1", got)
	}
	if got := get(); got != 2 {
		t.Errorf("the answer is %d after Expire, want 2", got)
	}
}
