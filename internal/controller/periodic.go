package controller

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// pause waits for the duration d. It returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// RepeatEvents calls repeat every minute until ctx ends.
func RepeatEvents(ctx context.Context, repeat func(context.Context)) error {
	for pause(ctx, durations.MinuteInterval) {
		repeat(ctx)
	}
	return nil
}
