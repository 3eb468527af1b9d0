package failure_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

type postponedError time.Duration

func (postponedError) Error() string               { return "postponed" }
func (l postponedError) RetryAfter() time.Duration { return time.Duration(l) }

// TestPostponedForReturnsTheShortestDelay checks that PostponedFor returns the shortest delay of joined errors, and 0 if one
// of them is not a postponed error.
func TestPostponedForReturnsTheShortestDelay(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		err  error
		want time.Duration
	}{
		"no error":                          {nil, 0},
		"a failure":                         {failed, 0},
		"a postponed error":                 {fmt.Errorf("report: %w", postponedError(3)), 3},
		"several postponed errors":          {errors.Join(postponedError(5), fmt.Errorf("write: %w", postponedError(3))), 3},
		"a postponed error, then a failure": {errors.Join(postponedError(5), failed), 0},
		"a failure, then a postponed error": {fmt.Errorf("report: %w", errors.Join(failed, postponedError(5))), 0},
		"nested postponed errors":           {errors.Join(errors.Join(postponedError(7)), postponedError(9)), 7},
	} {
		if got := failure.PostponedFor(c.err); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
