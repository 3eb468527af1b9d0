package failure_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

type later time.Duration

func (later) Error() string               { return "later" }
func (l later) RetryAfter() time.Duration { return time.Duration(l) }

// What waits has a turn, and what has failed has none, also beside something that waits.
func TestTurn(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		err  error
		want time.Duration
	}{
		"nothing":                     {nil, 0},
		"a failure":                   {failed, 0},
		"one that waits":              {fmt.Errorf("report: %w", later(3)), 3},
		"several that wait":           {errors.Join(later(5), fmt.Errorf("write: %w", later(3))), 3},
		"one that waits, one failed":  {errors.Join(later(5), failed), 0},
		"one failed, one that waits":  {fmt.Errorf("report: %w", errors.Join(failed, later(5))), 0},
		"one that waits, among those": {errors.Join(errors.Join(later(7)), later(9)), 7},
	} {
		if got := failure.PostponedFor(c.err); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
