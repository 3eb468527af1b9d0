package controller

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// RepeatEvents calls repeat at a fixed interval until ctx ends.
func RepeatEvents(ctx context.Context, repeat func(context.Context)) error {
	tick := time.NewTicker(durations.MinuteInterval)
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
