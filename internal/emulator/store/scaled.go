package store

import "time"

// ScaledClock is a clock that starts at the real time, and then runs faster or slower than real time.
type ScaledClock struct {
	start  time.Time
	factor float64
}

// NewScaledClock returns a clock that runs factor times as fast as real time. The factor must be positive.
func NewScaledClock(factor float64) *ScaledClock {
	return &ScaledClock{start: time.Now(), factor: factor}
}

// Now implements [Clock].
func (c *ScaledClock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.factor))
}

// AfterFunc implements [Clock].
func (c *ScaledClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(time.Duration(float64(d)/c.factor), f).Stop
}
