package engine

import (
	"context"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// UnansweredCallWatcher watches for calls that AWS does not answer.
type UnansweredCallWatcher interface {
	// WatchUnansweredCalls calls report once if AWS does not answer a call for an unusually long time. since is the time
	// since which AWS has not answered. The watch ends when stop is called. stop waits for a call of report that has begun.
	WatchUnansweredCalls(ctx context.Context, report func(ctx context.Context, since time.Time)) (stop func())
}

// unansweredRunFindings returns a finding on each member of a stack that AWS does not answer calls. The message has the
// time of the first unanswered run, so it is the same in each run, and Kubernetes counts the runs as one event.
func (r *observation) unansweredRunFindings(stack model.Stack, since time.Time) (out finding.List) {
	if r.mem.unansweredSince.IsZero() {
		r.mem.unansweredSince = since
	}
	for _, m := range append(slices.Clone(stack.Members), stack.Leaving...) {
		out.Add(UnansweredCallFinding(m.Ref, r.mem.unansweredSince))
	}
	return out
}

// UnansweredCallFinding returns the finding that AWS has not answered the calls for an object since the given time.
func UnansweredCallFinding(object finding.Ref, since time.Time) finding.Finding {
	return finding.Finding{Object: object, Reason: finding.CallFailed, Severity: finding.Error,
		Message: "AWS has not answered since " + since.UTC().Format(time.DateTime) + " UTC; what exists in AWS stays unchanged, and changes are made when AWS answers again",
		Fix:     "see the AWS Health Dashboard and the network of the controller; no object has to be changed"}
}

// unansweredStepFindings returns findings on the objects whose steps AWS did not answer. If no step is unanswered, it resets
// unansweredSince.
func (r *run) unansweredStepFindings() (out finding.List) {
	waiting := map[finding.Ref]bool{}
	for _, f := range slices.Concat(r.out.FailedSteps, r.heldSteps) {
		for _, ref := range f.Step.RequestedBy {
			waiting[ref] = waiting[ref] || failure.IsUnanswered(f.Err)
		}
	}
	for ref, waits := range waiting {
		if waits && !r.mem.unansweredSince.IsZero() {
			out.Add(UnansweredCallFinding(ref, r.mem.unansweredSince))
		}
	}
	if len(out) == 0 {
		r.mem.unansweredSince = time.Time{}
	}
	return out
}

// watchUnansweredCalls writes events if AWS does not answer a call for the stack before stop is called. The events are
// useful because such a call may take minutes to fail. The call is not cancelled, because AWS may still answer it. The
// caller must not use the view and the memory of the run until it has called stop.
func (r *observation) watchUnansweredCalls(ctx context.Context, stack model.Stack) (stop func()) {
	if r.e.UnansweredCalls == nil {
		return func() {}
	}
	return r.e.UnansweredCalls.WatchUnansweredCalls(ctx, func(ctx context.Context, since time.Time) { r.reportUnansweredCalls(ctx, stack, since) })
}

// reportUnansweredCalls writes the events that report that AWS does not answer. It writes no conditions, because the run may
// succeed.
func (r *observation) reportUnansweredCalls(ctx context.Context, stack model.Stack, since time.Time) {
	defer func() { _ = recover() }() // a panic in this goroutine would end the process
	f, err := r.e.frontend(r.out.ID)
	if err != nil || r.e.checkFence() != nil {
		return
	}
	out := Outcome{ID: r.out.ID, Stack: stack, Findings: r.unansweredRunFindings(stack, since), Err: errUnanswered, FailedPhase: ObservePhase}
	events := slices.DeleteFunc(f.Report(r.view, out), func(p cluster.Patch) bool {
		_, event := p.(cluster.Event)
		return !event
	})
	// The run reports again at its end, so an event that cannot be written now is not lost.
	_ = r.e.Cluster.Write(ctx, events)
}
