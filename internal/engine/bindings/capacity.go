package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// overCapacity records that the target group of a binding is full: AWS refused to register a number of targets because of a
// quota. The target group remains full until targets are deregistered or AWS raises the quota. Without this, a binding
// with too many endpoints would spend the calls that all bindings share, because each run that is postponed between two
// calls would begin with the refused call again.
type overCapacity struct {
	arn     string    // of the target group
	targets int       // calls with this many targets or more are not sent
	err     error     // the refusal of AWS
	until   time.Time // when such calls are sent again
}

// refusalFor returns the remembered error for a call that registers n targets; nil if the call may be sent.
func (c overCapacity) refusalFor(arn string, n int, now time.Time) error {
	if c.arn != arn || n < c.targets || !now.Before(c.until) {
		return nil
	}
	return c.err
}

// noteRegisterCall notes the result of a call that registers n targets. full reports that AWS refused it because of a quota.
func noteRegisterCall(arn string, n int, err error, full bool) note {
	return func(e entry, at moment) entry {
		switch c := &e.overCapacity; {
		case full:
			*c = overCapacity{arn: arn, targets: n, err: err, until: at.now.Add(durations.DeniedWait)}
		case err == nil && c.arn == arn:
			c.targets = max(1, c.targets-n)
		}
		return e
	}
}
