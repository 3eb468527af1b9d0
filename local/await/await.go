// Package await waits for things to become true by asking again and again. It
// is for what shows itself only when asked: HTTP answers, states in AWS.
package await

import (
	"context"
	"fmt"
	"time"
)

// Interval between questions. Everything asked is on this machine.
const Interval = 50 * time.Millisecond

// True asks until check returns nil. When limit is over or ctx ends, it
// returns an error with check's last one. check gets a context that ends at
// the limit.
func True(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(Interval)
	defer tick.Stop()
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
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", limit, last)
		case <-tick.C:
		}
	}
}
