package bindings

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// watchUnansweredCalls watches the AWS calls of a run until stop is called. If AWS does not answer, it writes an event on
// the binding, because such calls may take minutes to fail. The calls are not cancelled. The message has the start of the
// first run without an answer, so it is the same in each run.
func (p *run) watchUnansweredCalls(ctx context.Context, f *bindingplan.Facts) (stop func()) {
	if p.r.UnansweredCalls == nil || f.Absent {
		return func() {}
	}
	object, silent := targets.BindingRef(f.StoredBinding), false
	end := p.r.UnansweredCalls.WatchUnansweredCalls(ctx, func(ctx context.Context, since time.Time) {
		silent = true
		p.r.memory.updateIfKnown(p.key, recordUnansweredCall(since))
		if first := p.r.memory.get(p.key).unansweredSince; !first.IsZero() {
			since = first
		}
		// The run reports again when it fails, so an event that cannot be written now is not lost.
		_ = p.r.writeEvents(ctx, []cluster.Patch{bindingplan.Event(engine.UnansweredCallFinding(object, since), "")})
	})
	return func() {
		if end(); !silent {
			p.r.memory.updateIfKnown(p.key, recordAnsweredCall)
		}
	}
}

// recordUnansweredCall returns an update that records that AWS has not answered since the given time. If the entry already
// has an earlier time, it is not changed.
func recordUnansweredCall(since time.Time) update {
	return func(e entry, _ updateInput) entry {
		if e.unansweredSince.IsZero() {
			e.unansweredSince = since
		}
		return e
	}
}

// recordAnsweredCall records that AWS has answered the calls of a run.
func recordAnsweredCall(e entry, _ updateInput) entry {
	e.unansweredSince = time.Time{}
	return e
}
