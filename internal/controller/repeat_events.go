package controller

import (
	"context"
	"time"
)

// repeatEvery is how often it is looked which events of warnings are about to be dropped.
const repeatEvery = time.Minute

// RepeatEvents calls repeat again and again until ctx ends.
func RepeatEvents(ctx context.Context, repeat func(context.Context)) error {
	tick := time.NewTicker(repeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			repeat(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}
