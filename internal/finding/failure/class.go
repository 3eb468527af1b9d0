package failure

import (
	"time"
)

// Class is the class of a failed call, which decides what happens next.
type Class int

// The values of Class.
const (
	Unknown   Class = iota // retry with back-off
	Throttled              // retry with back-off, lower the rate
	Denied                 // wait for a change of input, retry slowly
	Conflict               // the plan was made from an old view: plan again now
	Quota                  // free first, then try again; retry slowly
	Invalid                // AWS refuses the value: wait for a change of input
	Gone                   // the resource does not exist (any more): plan again now
	InUse                  // a dependent still exists: retry soon, quietly
	NotReady               // a resource that was just made is not visible yet: retry soon, quietly
	Fenced                 // this process must not write any more
)

// PostponedFor returns the time until a postponed call or run is to be tried again: a call that the rate limiter did not
// admit, so that nothing was sent, or a run that read an object which has changed since. For several joined errors it is the
// shortest time. It is 0 for other errors, and if one of several joined errors is another one.
func PostponedFor(err error) time.Duration {
	switch e := err.(type) {
	case interface{ RetryAfter() time.Duration }:
		return e.RetryAfter()
	case interface{ Unwrap() error }:
		return PostponedFor(e.Unwrap())
	case interface{ Unwrap() []error }:
		first := time.Duration(0)
		for _, each := range e.Unwrap() {
			turn := PostponedFor(each)
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
