package output

import (
	"context"
	"io"
	"time"

	"k8s.io/utils/clock"
)

// Environment has the arguments, streams and settings of the process.
type Environment struct {
	Args   []string // the command-line arguments, without the name of the program
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
	// Width returns the current width of the terminal in characters, or 0 if it is not known. It is nil if Stdout is not a
	// terminal.
	Width func() int
	// Wait waits for d before a command reads the same state again. It returns an error if the context has ended. If nil,
	// commands wait in real time.
	Wait func(ctx context.Context, d time.Duration) error
	// Clock gives the current time, for example for the age of cached answers of AWS. If nil, it is the real time.
	Clock clock.PassiveClock
	// CountRequest is called for each request to AWS, except for those of the controller. If nil, requests are not counted.
	CountRequest func()
	// AttemptTimeout is the timeout of one attempt of a call to AWS in a command other than the controller. If zero, it is
	// five seconds.
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

// Time returns the current time of Clock.
func (e Environment) Time() time.Time {
	if e.Clock == nil {
		return time.Now()
	}
	return e.Clock.Now()
}
