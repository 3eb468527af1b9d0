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

// SilenceWatcher notices that AWS does not answer.
type SilenceWatcher interface {
	// WatchSilence calls report once if a call to AWS has no answer for longer than is usual, until stop is called, which
	// waits for a report that has begun.
	WatchSilence(ctx context.Context, report func(ctx context.Context, since time.Time)) (stop func())
}

// silence reports to the members of a stack that AWS does not answer, in the same words at each attempt, so that they
// are one event.
func (r *observation) silence(stack model.Stack, since time.Time) (out finding.List) {
	if r.mem.silentSince.IsZero() {
		r.mem.silentSince = since
	}
	for _, m := range append(slices.Clone(stack.Members), stack.Leaving...) {
		out.Add(Silence(m.Ref, r.mem.silentSince))
	}
	return out
}

// Silence returns the finding about an object that waits for answers of AWS.
func Silence(object finding.Ref, since time.Time) finding.Finding {
	return finding.Finding{Object: object, Reason: finding.CallFailed, Severity: finding.Error,
		Message: "AWS has not answered since " + since.UTC().Format(time.DateTime) + " UTC; what is live stays as it is, and changes are made when AWS answers again",
		Fix:     "see the AWS Health Dashboard and the network of the controller; no object has to be changed"}
}

// reportUnanswered reports the silence of AWS to those whose steps got no answer, as long as these are tried again. It
// is over once there is no such step.
func (r *run) reportUnanswered() (out finding.List) {
	waiting := map[finding.Ref]bool{}
	for _, f := range slices.Concat(r.out.Failed, r.held) {
		for _, ref := range f.Step.Blames {
			waiting[ref] = waiting[ref] || failure.HasNoAnswer(f.Err)
		}
	}
	for ref, waits := range waiting {
		if waits && !r.mem.silentSince.IsZero() {
			out.Add(Silence(ref, r.mem.silentSince))
		}
	}
	if len(out) == 0 {
		r.mem.silentSince = time.Time{}
	}
	return out
}

// watch raises the events of silence while a call to AWS is made for the stack, as it may take minutes until it fails. The
// call goes on, because what is slow is served as well. The caller leaves the view and the memory of the run alone until
// it has called stop.
func (r *observation) watch(ctx context.Context, stack model.Stack) (stop func()) {
	if r.e.Silence == nil {
		return func() {}
	}
	return r.e.Silence.WatchSilence(ctx, func(ctx context.Context, since time.Time) { r.reportSilence(ctx, stack, since) })
}

// reportSilence writes the events of a run that fails for silence, and nothing of its conditions: the run may yet succeed.
func (r *observation) reportSilence(ctx context.Context, stack model.Stack, since time.Time) {
	defer func() { _ = recover() }() // it would end the process here; the report at the end of the run does not
	f, err := r.e.frontend(r.out.ID)
	if err != nil || r.e.fence() != nil {
		return
	}
	out := Outcome{ID: r.out.ID, Stack: stack, Findings: r.silence(stack, since), Err: errSilent, FailedIn: Observing}
	events := slices.DeleteFunc(f.Report(r.v, out), func(p cluster.Patch) bool {
		_, event := p.(cluster.Event)
		return !event
	})
	// The run reports again when it ends, so that an event that is not written now is not lost.
	_ = r.e.Cluster.Write(ctx, events)
}
