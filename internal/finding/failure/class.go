package failure

import (
	"time"
)

// Class is the class of an error from AWS or the API server. The class determines whether and when the call is repeated.
type Class int

// The values of Class.
const (
	Unknown   Class = iota // retry with back-off
	Throttled              // retry with back-off, lower the rate
	Denied                 // a permission is missing: retry after a change of the objects, or slowly
	Conflict               // the plan was made from outdated state: plan again now
	Quota                  // a quota is reached: carry out the deletions first, then retry slowly
	Invalid                // AWS refuses the value: retry after a change of the objects
	Gone                   // the resource does not exist: plan again now
	InUse                  // a dependent resource still exists: retry soon, without a report
	NotReady               // a resource that was just created is not visible yet: retry soon, without a report
	Fenced                 // this process is not permitted to write any more
)

// PostponedFor returns the time after which a postponed call or run must be repeated. A call is postponed if the rate
// limiter did not admit it, so that it was not sent. A run is postponed if it read an outdated object. For joined errors,
// the result is the shortest time. The result is 0 for any other error, and if one of several joined errors is not a
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
			wait := PostponedFor(each)
			if wait <= 0 {
				return 0
			}
			if first == 0 || wait < first {
				first = wait
			}
		}
		return first
	}
	return 0
}
