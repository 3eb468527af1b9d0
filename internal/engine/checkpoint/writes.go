package checkpoint

import (
	"context"
	"time"
)

// PendingWrites are the writes to the store for which the first change of a run waits. The zero value contains none.
type PendingWrites struct {
	writes []<-chan struct{}
	// timedOut reports whether the run has waited up to the limit.
	timedOut bool
}

// Add adds a write, whose channel is closed once it has ended. A nil channel is ignored.
func (p *PendingWrites) Add(written <-chan struct{}) {
	if written != nil {
		p.writes = append(p.writes, written)
	}
}

// Wait waits until all writes have ended, and at most for limit. After it has reached the limit once,
// it does not wait again, so that a slow store delays a run only once.
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
