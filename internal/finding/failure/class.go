package failure

import (
	"time"
)

// Class is the class of an error from AWS or the API server. It decides whether and when the call is tried again.
type Class int

// The values of Class.
const (
	Unknown   Class = iota // retry with back-off
	Throttled              // retry with back-off, lower the rate
	Denied                 // wait for a change of input, retry slowly
	Conflict               // the plan was made from an outdated state: plan again now
	Quota                  // a quota is reached: carry out the deletions first, then retry slowly
	Invalid                // AWS refuses the value: wait for a change of input
	Gone                   // the resource does not exist (any more): plan again now
	InUse                  // a dependent resource still exists: retry soon, without a report
	NotReady               // a resource that was just created is not visible yet: retry soon, without a report
	Fenced                 // this process must not write any more
)

// PostponedFor returns the time after which a postponed call or run is to be tried again: a call that the rate limiter did
// not admit, so that nothing was sent, or a run that read an object which has changed since. For several joined errors it
// returns the shortest time. It returns 0 for any other error, and also for joined errors of which one is not a
// postponement.
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
