package failure

import (
	"errors"
	"time"
)

// Class says what kind of failure an error is and so what to do next.
type Class int

// The classes.
const (
	Unknown   Class = iota // retry with back-off
	Throttled              // retry with back-off, lower the rate
	Denied                 // wait for a change of input, retry slowly
	Conflict               // the plan was made from an old view: plan again now
	Quota                  // free first, then try again; retry slowly
	Invalid                // AWS refuses the value: wait for a change of input
	Gone                   // the thing is not there (any more): plan again now
	InUse                  // a dependent still exists: retry soon, quietly
	NotReady               // something made a moment ago is not visible yet: retry soon, quietly
	Fenced                 // this process must not write any more
)

// Turn is when to try again what waits and has not failed: a call that the rate limiter did not admit, so that nothing was
// sent, or a run that read an object which has changed since. It is zero for other errors.
func Turn(err error) time.Duration {
	var later interface{ RetryAfter() time.Duration }
	if errors.As(err, &later) {
		return later.RetryAfter()
	}
	return 0
}
