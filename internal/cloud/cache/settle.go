package cache

import (
	"slices"
	"time"
)

// SettleWindow is how long AWS may take to show what was just made, or to stop showing what was just
// deleted.
const SettleWindow = time.Minute

// Settled reports whether AWS has shown for long what was last written from here.
func Settled(now time.Time, writes ...time.Time) bool {
	return !slices.ContainsFunc(writes, func(at time.Time) bool { return now.Sub(at) <= SettleWindow })
}
