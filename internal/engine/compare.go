package engine

import (
	"errors"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// errUncompared is the error of a plan that is not carried out, because the stack has to be compared with AWS first.
var errUncompared = errors.New("the stack has to be compared with AWS first")

// Compared reports whether this process has compared a stack with AWS and left nothing to do, so that later differences
// are drift.
func (e *Engine) Compared(id model.StackID) bool {
	mem := e.memories.recall(id)
	return mem.comparison.IsConverged()
}

// resync requeues a stack for its next comparison with AWS.
func (r *run) resync(now time.Time) {
	out := r.out
	if out.IsOver() {
		return
	}
	due := r.mem.comparison.End(out.Done && !out.holdsRefused, now)
	switch {
	case due == 0:
	case out.RetryAfter == 0:
		out.RetryAfter, out.Idle = due, out.Done
	default:
		out.RetryAfter = min(out.RetryAfter, due)
	}
}
