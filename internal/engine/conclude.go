package engine

import (
	"errors"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// reportedAfter is after how many failures in a row something that is in use is reported: a few minutes.
const reportedAfter = 7

// conclude turns what failed at last into findings, and sets when to look again.
func (r *run) conclude(lacksFacts bool) {
	if again := r.mem.comparison.LookAgain(lacksFacts, r.e.now()); lacksFacts {
		r.requeueAfter(again)
	}
	for i := range r.out.Failed {
		f := &r.out.Failed[i]
		if f.Called && (f.Class == Gone || f.Class == Conflict) {
			// It was planned again and again, so the view is not old.
			*f = r.mem.refused.refused(f.key, *f, r.e.now())
		}
	}
	// A rule that has the place of another of its namespace lacks nothing, nor does a load balancer with another name.
	r.held = slices.DeleteFunc(r.held, func(f FailedStep) bool {
		return f.lacksCapacity() && !f.Step.Staged && !r.out.Plan.OverCapacity[f.Step.Rule] || f.computedNameTaken()
	})
	failed := append(slices.Clone(r.held), r.out.Failed...)
	for _, f := range failed {
		if f.Class == Quota && r.mem.refused.wasFreed(f, r.e.now()) {
			f.Wait = durations.Soon
		}
		r.retryFailed(f)
	}
	r.out.refused = len(r.held) > 0
	r.out.Done = r.out.Done && !slices.ContainsFunc(r.held, func(f FailedStep) bool { return f.Class != Invalid })
	r.out.Findings = append(r.out.Findings, r.findings(failed)...).Sorted()
	r.mem.refused.end(r.edited, r.e.now())
	r.reportRepeats()
}

// retryFailed looks again when a failed step may be called again.
func (r *run) retryFailed(f FailedStep) {
	switch turn := failure.PostponedFor(f.Err); {
	case turn > 0 && f.Called:
		r.requeueAfter(turn)
		return
	case f.Wait > 0:
		r.requeueAfter(f.Wait)
	}
	if f.Called && (f.Class == Throttled || f.Class == Unknown) {
		r.out.Err, r.out.FailedIn = errors.Join(r.out.Err, f.Err), Applying
	}
}
