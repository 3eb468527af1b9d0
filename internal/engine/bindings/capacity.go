package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// overCapacity is what does not fit into the target group of a binding. A target group that is full stays so until targets
// leave it or AWS raises the quota. What AWS has refused is remembered, so that a binding with more endpoints than fit does
// not spend the calls that all share: a run that is postponed between two calls would begin again with what was refused
// before.
type overCapacity struct {
	arn   string
	size  int // so many targets at once, or more
	err   error
	until time.Time
}

// refusalFor returns what AWS said when it refused as many targets, nil if they may fit.
func (c overCapacity) refusalFor(arn string, n int, now time.Time) error {
	if c.arn != arn || n < c.size || !now.Before(c.until) {
		return nil
	}
	return c.err
}

// noteSent notes a call that registers n targets, and what became of it.
func noteSent(arn string, n int, err error, full bool) note {
	return func(e entry, at moment) entry {
		switch c := &e.overCapacity; {
		case full:
			*c = overCapacity{arn: arn, size: n, err: err, until: at.now.Add(durations.DeniedWait)}
		case err == nil && c.arn == arn:
			c.size = max(1, c.size-n)
		}
		return e
	}
}
