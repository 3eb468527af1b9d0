package bindings

import (
	"context"
	"errors"
	"time"
)

// turn is when a call that was not sent, because its pace is used up, would have its turn; zero if
// the error does not say.
func turn(err error) time.Duration {
	var paced interface{ RetryAfter() time.Duration }
	if errors.As(err, &paced) {
		return paced.RetryAfter()
	}
	return 0
}

// putOff asks for another run when a call has its turn. Until then more may come to do for the same
// target group, which then goes in the same call. False: the error is another one.
func (p *pass) putOff(err error) bool {
	d := turn(err)
	if d <= 0 {
		return false
	}
	p.later = true
	p.retry(true, d)
	return true
}

// stopped ends a run at an error of AWS.
func (p *pass) stopped(ctx context.Context, err error) error {
	if p.putOff(err) {
		return nil
	}
	return p.failed(ctx, err)
}
