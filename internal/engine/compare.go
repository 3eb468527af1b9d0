package engine

import (
	"errors"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// errNeedsComparison is the error for a plan that is not carried out because the stack has to be compared with AWS first.
var errNeedsComparison = errors.New("the stack has to be compared with AWS first")

// IsConverged reports whether this process has compared a stack with AWS and has left no difference. Later differences are
// drift.
func (e *Engine) IsConverged(id model.StackID) bool {
	mem := e.memories.memoryOf(id)
	return mem.comparison.IsConverged()
}

// scheduleComparison requeues the stack for its next comparison with AWS.
func (r *run) scheduleComparison(now time.Time) {
	out := r.out
	if out.IsStackDeleted() {
		return
	}
	due := r.mem.comparison.EndRun(out.Done && !out.holdsRefusedSteps, now)
	switch {
	case due == 0:
	case out.RetryAfter == 0:
		out.RetryAfter, out.Idle = due, out.Done
	default:
		out.RetryAfter = min(out.RetryAfter, due)
	}
}
