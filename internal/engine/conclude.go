package engine

import (
	"errors"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// minReportedStreak is the number of consecutive failures after which a failure of class InUse or NotReady is reported. It
// is reached after a few minutes.
const minReportedStreak = 7

// reportFailedSteps adds findings about the steps that failed in the last plan of a run, and determines when the stack runs
// again. lacksFacts reports whether a fact is missing in AWS.
func (r *run) reportFailedSteps(lacksFacts bool) {
	if again := r.mem.comparison.NextLookup(lacksFacts, r.e.now()); lacksFacts {
		r.requeueAfter(again)
	}
	for i := range r.out.FailedSteps {
		f := &r.out.FailedSteps[i]
		if f.Called && (f.Class == failure.Gone || f.Class == failure.Conflict) {
			// The plan was made again with new reads. Out-of-date reads are therefore not the cause.
			*f = r.mem.stepRefusals.recordRefusal(f.key, *f, r.e.now())
		}
	}
	// These failures are resolved: a rule that replaced another rule no longer exceeds the quota, and a load balancer whose
	// name was taken now has another name.
	r.heldSteps = slices.DeleteFunc(r.heldSteps, func(f FailedStep) bool {
		return f.lacksCapacity() && !f.Step.NeedsExtraQuota && !r.out.Plan.RulesOverQuota[f.Step.Rule] || f.isComputedNameTaken()
	})
	failed := append(slices.Clone(r.heldSteps), r.out.FailedSteps...)
	for _, f := range failed {
		if f.Class == failure.Quota && r.mem.stepRefusals.mayUseFreedQuota(f, r.e.now()) {
			f.Wait = durations.RecheckInterval
		}
		r.requeueForFailedStep(f)
	}
	r.out.holdsRefusedSteps = len(r.heldSteps) > 0
	r.out.Done = r.out.Done && !slices.ContainsFunc(r.heldSteps, func(f FailedStep) bool { return f.Class != failure.Invalid })
	r.out.Findings = append(r.out.Findings, r.findings(failed)...).Sorted()
	r.mem.stepRefusals.endRun(r.wasEdited, r.e.now())
	r.reportRepeatedChanges()
}

// requeueForFailedStep requeues the stack for the time at which a failed step may be called again.
func (r *run) requeueForFailedStep(f FailedStep) {
	switch postponed := failure.PostponedFor(f.Err); {
	case postponed > 0 && f.Called:
		r.requeueAfter(postponed)
		return
	case f.Wait > 0:
		r.requeueAfter(f.Wait)
	}
	if f.Called && (f.Class == failure.Throttled || f.Class == failure.Unknown) {
		r.out.Err, r.out.FailedPhase = errors.Join(r.out.Err, f.Err), ApplyPhase
	}
}
