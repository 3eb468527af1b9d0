// Package testclock has a clock that a test sets by a variable.
package testclock

import (
	"time"

	"k8s.io/utils/clock"
)

// Of returns a clock that returns the time in a variable. Code that reads the clock must not run while the test sets
// it.
func Of(t *time.Time) clock.PassiveClock { return variable{t} }

type variable struct{ t *time.Time }

// Now implements clock.PassiveClock.
func (v variable) Now() time.Time { return *v.t }

// Since implements clock.PassiveClock.
func (v variable) Since(t time.Time) time.Duration { return v.t.Sub(t) }
