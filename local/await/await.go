// Package await polls until a check succeeds. It is for states that cannot be watched, such as HTTP responses and
// resources in AWS.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Interval is the initial time between two checks. It is short because all servers are on this machine.
const Interval = 50 * time.Millisecond

// maxInterval is the maximum time between two checks.
const maxInterval = 20 * Interval

// Success calls check until it returns nil. When limit is over or ctx ends, Success returns the last error of check. The
// context of check ends at the limit. The interval between two checks grows, because checks use CPU time.
func Success(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	began := time.Now()
	return poll(ctx, limit, check, func() time.Duration {
		return min(max(Interval, time.Since(began)/20), maxInterval)
	})
}

// Consistently calls check at even intervals until limit is over, ctx ends, or check returns an error. It returns the
// error of check, or nil.
func Consistently(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	var broken error
	// At the end of limit, poll returns an error even if no check has failed, so its error is ignored.
	_ = poll(ctx, limit, func(ctx context.Context) error {
		if err := check(ctx); err != nil && ctx.Err() == nil {
			broken = err
			return nil
		}
		return errNoFailure
	}, func() time.Duration { return Interval })
	return broken
}

var errNoFailure = errors.New("no check has failed")

func poll(ctx context.Context, limit time.Duration, check func(context.Context) error, interval func() time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// Keep the earlier error: after the deadline, check only reports that its context has ended.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		timer.Reset(interval())
		select {
		case <-ctx.Done():
			return fmt.Errorf("no success within %s: %w", limit, last)
		case <-timer.C:
		}
	}
}
