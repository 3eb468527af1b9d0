// Package testclock has a clock whose time a test sets in a variable.
package testclock

import (
	"time"

	"k8s.io/utils/clock"
)

// FromVariable returns a clock whose current time is the value of the variable to which t points. Code that reads the clock
// must not run while the test sets the variable.
func FromVariable(t *time.Time) clock.PassiveClock { return variableClock{t} }

type variableClock struct{ t *time.Time }

// Now implements clock.PassiveClock.
func (v variableClock) Now() time.Time { return *v.t }

// Since implements clock.PassiveClock.
func (v variableClock) Since(t time.Time) time.Duration { return v.t.Sub(t) }
