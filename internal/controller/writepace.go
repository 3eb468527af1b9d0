package controller

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// keepRate is how many bytes a second are stored of what each write replaces as a whole.
const keepRate = 256 << 10

// writePace spaces writes that replace everything. Of many changes that come at once, many share a write: a write costs
// durations.KeepEach, and at least what its text takes at keepRate. Up to durations.Glance is saved for the next writes,
// so that only a flood waits.
type writePace struct{ next time.Time }

// left returns how long the next write waits.
func (p *writePace) left() time.Duration { return time.Until(p.next) }

// wait waits until the next write may begin, and reports whether ctx has not ended before.
func (p *writePace) wait(ctx context.Context) bool {
	select {
	case <-time.After(p.left()):
		return true
	case <-ctx.Done():
		return false
	}
}

// wrote counts a write of so many bytes.
func (p *writePace) wrote(bytes int) {
	if saved := time.Now().Add(-durations.Glance); p.next.Before(saved) {
		p.next = saved
	}
	p.next = p.next.Add(max(durations.KeepEach, time.Duration(bytes)*time.Second/keepRate))
}
