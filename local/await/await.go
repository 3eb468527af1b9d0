// Package await waits for things to become true by asking again and again. It
// is for what shows itself only when asked: HTTP answers, states in AWS.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Interval between questions at the beginning. Everything asked is on this machine.
const Interval = 50 * time.Millisecond

// longest interval between questions.
const longest = 5 * Interval

// True asks until check returns nil. When limit is over or ctx ends, it
// returns an error with check's last one. check gets a context that ends at
// the limit. What takes long is asked for more rarely, since questions cost time, too.
func True(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	began := time.Now()
	return poll(ctx, limit, check, func() time.Duration {
		return min(max(Interval, time.Since(began)/20), longest)
	})
}

// Throughout asks at even intervals until limit is over or check returns an error, which it returns.
func Throughout(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	var broken error
	// The error of the wait says that nothing has broken until the end.
	_ = poll(ctx, limit, func(ctx context.Context) error {
		if err := check(ctx); err != nil && ctx.Err() == nil {
			broken = err
			return nil
		}
		return errHolds
	}, func() time.Duration { return Interval })
	return broken
}

var errHolds = errors.New("it still holds")

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
		// The error of a check that runs out of time would hide its earlier error.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		timer.Reset(interval())
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", limit, last)
		case <-timer.C:
		}
	}
}
