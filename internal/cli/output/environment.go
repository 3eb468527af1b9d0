package output

import (
	"context"
	"io"
	"time"

	"k8s.io/utils/clock"
)

// Environment has the arguments, streams and settings of the process.
type Environment struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Version is the version of this binary.
	Version string
	// Program is the path or name with which the process was started; "fulcrum" if empty.
	Program string
	// IsTerminal reports whether Stdout is a terminal.
	IsTerminal bool
	// Width returns the current width of the terminal in characters, or 0 if it is not known. It is nil if Stdout is no
	// terminal.
	Width func() int
	// Wait waits before a command reads the same state again; by the real clock if nil. It returns an error if the
	// context has ended.
	Wait func(ctx context.Context, d time.Duration) error
	// Clock decides the age of cached answers of AWS; clock.RealClock if nil.
	Clock clock.PassiveClock
	// CountRequest is called for each request to AWS of a command that changes nothing. If nil, requests are not counted.
	CountRequest func()
	// AttemptTimeout is how long a command other than the controller waits for an attempt of a call to AWS; five seconds
	// if zero.
	AttemptTimeout time.Duration
}

// width returns the width of the terminal, or 0 if there is none.
func (e Environment) width() int {
	if !e.IsTerminal || e.Width == nil {
		return 0
	}
	return e.Width()
}

// hasColours reports whether text is shown in colours: on a terminal, unless NO_COLOR is set or TERM is "dumb".
func (e Environment) hasColours() bool {
	return e.IsTerminal && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
}

// Time returns the time by the clock of the environment.
func (e Environment) Time() time.Time {
	if e.Clock == nil {
		return time.Now()
	}
	return e.Clock.Now()
}
