package checkpoint

import (
	"context"
	"time"
)

// PendingWrites are the writes to the store for which a run waits before its first change. The zero value has none.
type PendingWrites struct {
	writes []<-chan struct{}
	// timedOut reports whether a call of Wait has reached its limit.
	timedOut bool
}

// Add adds a write. The channel is closed when the write has ended; a nil channel is ignored.
func (p *PendingWrites) Add(written <-chan struct{}) {
	if written != nil {
		p.writes = append(p.writes, written)
	}
}

// Wait waits until all writes have ended, but not longer than limit. If a call has reached its limit, later calls do not
// wait, so that a slow store delays a run only once.
func (p *PendingWrites) Wait(ctx context.Context, limit time.Duration) {
	if len(p.writes) == 0 || p.timedOut {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, written := range p.writes {
		select {
		case <-written:
		case <-ctx.Done():
			p.timedOut = true
		}
	}
	p.writes = nil
}
