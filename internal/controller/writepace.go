package controller

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// keepBytesPerSecond limits the bytes that writes of one Secret store. Each write replaces the whole content.
const keepBytesPerSecond = 256 << 10

// writePace limits the rate of writes that replace the whole content of a Secret, so that many changes share a write. A
// write takes durations.KeepEach of the time, or what its text takes at keepBytesPerSecond if that is longer. Unused time of
// up to durations.Glance is saved for later writes, so that writes wait only if very many changes come at once. The zero
// value has saved that much.
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
	p.next = p.next.Add(max(durations.KeepEach, time.Duration(bytes)*time.Second/keepBytesPerSecond))
}
