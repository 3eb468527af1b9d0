package store

import (
	"slices"
	"sort"
	"sync"
	"time"
)

// Clock is the emulator's clock. States that change with time, such as the state of a new load balancer or the health of a
// target, are computed from its time whenever they are read.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// AfterFunc calls f after the duration d. The returned function stops the timer. It reports whether it has prevented the
	// call of f.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// RealClock is the clock of package time. In the bubble of a synctest.Test, its time is virtual.
type RealClock struct{}

// Now implements [Clock].
func (RealClock) Now() time.Time { return time.Now() }

// AfterFunc implements [Clock].
func (RealClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// ManualClock is a clock whose time changes only when Advance is called. It is safe for concurrent use.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*manualTimer
}

type manualTimer struct {
	at  time.Time
	run func()
}

// NewManualClock returns a clock whose time is start.
func NewManualClock(start time.Time) *ManualClock { return &ManualClock{now: start} }

// Now implements [Clock].
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements [Clock]. Advance calls f in its goroutine, and calls due functions one after the other, in the order
// of their times.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &manualTimer{at: c.now.Add(d), run: f}
	c.timers = append(c.timers, t)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.timers, t)
		if i < 0 {
			return false
		}
		c.timers = slices.Delete(c.timers, i, i+1)
		return true
	}
}

// Advance moves the clock forward by d, and calls the functions of the timers that expire in this time.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	c.mu.Unlock()
	for {
		c.mu.Lock()
		sort.SliceStable(c.timers, func(i, j int) bool { return c.timers[i].at.Before(c.timers[j].at) })
		if len(c.timers) == 0 || c.timers[0].at.After(end) {
			c.now = end
			c.mu.Unlock()
			return
		}
		t := c.timers[0]
		c.timers = c.timers[1:]
		if t.at.After(c.now) {
			c.now = t.at
		}
		c.mu.Unlock()
		t.run()
	}
}
