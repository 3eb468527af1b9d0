package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// capacityRefusal records that the target group of a binding is full: AWS refused to register a number of targets because of a
// quota. The target group remains full until targets are deregistered or AWS raises the quota. Without this, a binding
// with too many endpoints would spend the calls that all bindings share, because each run that is postponed between two
// calls would begin with the refused call again.
type capacityRefusal struct {
	arn         string    // of the target group
	targetCount int       // calls with this many targets or more are not sent
	err         error     // the refusal of AWS
	retryAt     time.Time // when such calls are sent again
}

// refusalFor returns the remembered error for a call that registers n targets; nil if the call may be sent.
func (c capacityRefusal) refusalFor(arn string, n int, now time.Time) error {
	if c.arn != arn || n < c.targetCount || !now.Before(c.retryAt) {
		return nil
	}
	return c.err
}

// noteRegisterCall notes the result of a call that registers n targets. full reports whether AWS refused the call because of
// a quota.
func noteRegisterCall(arn string, n int, err error, full bool) note {
	return func(e entry, at moment) entry {
		switch c := &e.capacityRefusal; {
		case full:
			*c = capacityRefusal{arn: arn, targetCount: n, err: err, retryAt: at.now.Add(durations.DeniedWait)}
		case err == nil && c.arn == arn:
			c.targetCount = max(1, c.targetCount-n)
		}
		return e
	}
}
