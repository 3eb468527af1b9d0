package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// capacityRefusal records that AWS refused to register targets because of a quota of the target group. The quota remains
// exhausted until targets are deregistered or AWS raises the quota. Until then, calls that AWS would refuse are not sent,
// because all bindings share the rate limit of the calls.
type capacityRefusal struct {
	arn          string    // ARN of the target group
	refusedCount int       // number of targets in the refused call; calls with at least as many targets are not sent
	err          error     // the error that AWS returned
	retryAt      time.Time // when such calls are sent again
}

// refusalFor returns the stored error of AWS if AWS would refuse a call that registers n targets. It returns nil if the call
// may be sent.
func (c capacityRefusal) refusalFor(arn string, n int, now time.Time) error {
	if c.arn != arn || n < c.refusedCount || !now.Before(c.retryAt) {
		return nil
	}
	return c.err
}

// recordRegisterCall returns an update that records the result of a call that registers n targets. full reports whether AWS
// refused the call because of a quota.
func recordRegisterCall(arn string, n int, err error, full bool) update {
	return func(e entry, at updateInput) entry {
		switch c := &e.capacityRefusal; {
		case full:
			*c = capacityRefusal{arn: arn, refusedCount: n, err: err, retryAt: at.now.Add(durations.LongestTransientBackOff)}
		case err == nil && c.arn == arn:
			c.refusedCount = max(1, c.refusedCount-n)
		}
		return e
	}
}
