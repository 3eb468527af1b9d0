package output

import (
	"context"
	"io"
	"time"

	"k8s.io/utils/clock"
)

// Environment is what the process was started with.
type Environment struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Version is the version of this binary.
	Version string
	// Program is the name that the process was started by; "fulcrum" if empty.
	Program string
	// Terminal reports that Stdout is one.
	Terminal bool
	// Width returns the width of the terminal now, 0 if it is not known; nil if Stdout is none.
	Width func() int
	// Wait waits between two looks at the same thing; nil waits by the clock. It returns an error if the context
	// has ended.
	Wait func(ctx context.Context, d time.Duration) error
	// Clock is the clock by which answers of AWS grow old; clock.RealClock if nil.
	Clock clock.PassiveClock
	// Called is called for each request to AWS of a command that changes nothing; nil: they are not counted.
	Called func()
	// AnswerWithin is for how long a command for people waits for an attempt of a call to AWS; five seconds if zero.
	AnswerWithin time.Duration
}

// width returns the width of the terminal, 0 if there is none.
func (e Environment) width() int {
	if !e.Terminal || e.Width == nil {
		return 0
	}
	return e.Width()
}

// coloured reports whether text is shown in colours: on a terminal, unless NO_COLOR is set.
func (e Environment) coloured() bool {
	return e.Terminal && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
}

// Time returns the time by the clock of the environment.
func (e Environment) Time() time.Time {
	if e.Clock == nil {
		return time.Now()
	}
	return e.Clock.Now()
}
