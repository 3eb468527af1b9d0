package failure

import (
	"time"
)

// Class is what kind of failure an error is and so what to do next.
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

// Turn returns when to try again what waits and has not failed: a call that the rate limiter did not admit, so that
// nothing was sent, or a run that read an object which has changed since. Of several it is the first. It is zero for
// other errors, also where one of several has failed.
func Turn(err error) time.Duration {
	switch e := err.(type) {
	case interface{ RetryAfter() time.Duration }:
		return e.RetryAfter()
	case interface{ Unwrap() error }:
		return Turn(e.Unwrap())
	case interface{ Unwrap() []error }:
		first := time.Duration(0)
		for _, each := range e.Unwrap() {
			turn := Turn(each)
			if turn <= 0 {
				return 0
			}
			if first == 0 || turn < first {
				first = turn
			}
		}
		return first
	}
	return 0
}
