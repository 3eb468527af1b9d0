package cache

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// IsSettled reports whether the settle windows after the given writes are over. AWS is then expected to show what this
// process has written.
func IsSettled(now time.Time, writes ...time.Time) bool {
	return !slices.ContainsFunc(writes, func(at time.Time) bool { return now.Sub(at) <= durations.SettleWindow })
}
