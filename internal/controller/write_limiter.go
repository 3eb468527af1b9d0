package controller

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// storedBytesPerSecond is the maximum average number of bytes per second that are written to one Secret. Each write replaces
// the whole content.
const storedBytesPerSecond = 256 << 10

// writeLimiter is a token bucket for writes that replace the whole content of a Secret, so that several changes share one
// write. The unit of its tokens is time. A write costs durations.StoreWriteCost, or the time that its text takes at
// storedBytesPerSecond if that is longer. The bucket holds up to durations.BriefWait of unused time for later writes, so
// that a write has to wait only after very many changes. The zero value is a full bucket.
type writeLimiter struct{ nextWrite time.Time }

// delay returns how long the next write has to wait. It is zero or negative if the write need not wait.
func (p *writeLimiter) delay() time.Duration { return time.Until(p.nextWrite) }

// countWrite takes the tokens for a write of the given number of bytes.
func (p *writeLimiter) countWrite(bytes int) {
	if saved := time.Now().Add(-durations.BriefWait); p.nextWrite.Before(saved) {
		p.nextWrite = saved
	}
	p.nextWrite = p.nextWrite.Add(max(durations.StoreWriteCost, time.Duration(bytes)*time.Second/storedBytesPerSecond))
}
