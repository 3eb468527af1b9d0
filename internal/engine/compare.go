package engine

import (
	"errors"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// errUncompared is why a plan is not carried out but made again from a comparison.
var errUncompared = errors.New("the stack has to be compared with AWS first")

// Compared reports whether this process has compared a stack with AWS and left nothing to do, so that
// what differs from then on is the work of others.
func (e *Engine) Compared(id model.StackID) bool {
	x := e.memories.recall(id).comparison
	return x.Quiet()
}

// resync sees to it that a stack is looked at again when it is to be compared with AWS.
func (r *run) resync(now time.Time) {
	out := r.out
	if out.IsOver() {
		return
	}
	due := r.mem.comparison.End(out.Done && !out.refused, now)
	switch {
	case due == 0:
	case out.RetryAfter == 0:
		out.RetryAfter, out.Idle = due, out.Done
	default:
		out.RetryAfter = min(out.RetryAfter, due)
	}
}
