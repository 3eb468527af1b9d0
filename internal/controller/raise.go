package controller

import (
	"context"
	"time"
)

// raiseEvery is how often it is looked which events of warnings are about to be dropped.
const raiseEvery = time.Minute

// RaiseEvents calls raise again and again until ctx ends.
func RaiseEvents(ctx context.Context, raise func(context.Context)) error {
	tick := time.NewTicker(raiseEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			raise(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}
