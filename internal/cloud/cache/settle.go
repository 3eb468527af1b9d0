package cache

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// Settled reports whether AWS has shown for long what was last written from here.
func Settled(now time.Time, writes ...time.Time) bool {
	return !slices.ContainsFunc(writes, func(at time.Time) bool { return now.Sub(at) <= durations.Settle })
}
