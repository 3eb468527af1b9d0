package bindings

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// watchSilence watches the AWS calls of a run until stop is called. If AWS does not answer, it writes an event on the
// binding, because the calls may take minutes to fail. It does not cancel them. The event names the start of the first run
// without an answer, so that its message is the same in each run.
func (p *run) watchSilence(ctx context.Context, f *bindingplan.Facts) (stop func()) {
	if p.r.Silence == nil || f.Absent {
		return func() {}
	}
	object, silent := targets.BindingRef(f.StoredBinding), false
	end := p.r.Silence.WatchSilence(ctx, func(ctx context.Context, since time.Time) {
		silent = true
		p.r.memory.noteIfKnown(p.key, noteUnanswered(since))
		if first := p.r.memory.get(p.key).silentSince; !first.IsZero() {
			since = first
		}
		// The run reports again when it fails, so an event that cannot be written now is not lost.
		_ = p.r.writePatches(ctx, []cluster.Patch{bindingplan.Event(engine.SilenceFinding(object, since), "")})
	})
	return func() {
		if end(); !silent {
			p.r.memory.noteIfKnown(p.key, noteAnswered)
		}
	}
}

// noteUnanswered notes that AWS has not answered a call since a time.
func noteUnanswered(since time.Time) note {
	return func(e entry, _ moment) entry {
		if e.silentSince.IsZero() {
			e.silentSince = since
		}
		return e
	}
}

// noteAnswered notes a run whose calls AWS has answered.
func noteAnswered(e entry, _ moment) entry {
	e.silentSince = time.Time{}
	return e
}
