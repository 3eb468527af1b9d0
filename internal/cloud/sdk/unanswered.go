package sdk

import (
	"context"
	"errors"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// pendingCall is a call in flight for which a run waits.
type pendingCall struct {
	service         string
	unansweredSince time.Time // when the call began to wait for an answer of AWS; zero while no attempt waits
}

type pendingCallKey struct{}

// beginCall records that a call is in flight until end is called. It does not record calls for optional facts.
func (d *deadlines) beginCall(ctx context.Context, service string) (_ context.Context, end func()) {
	if isOptional(ctx) {
		return ctx, func() {}
	}
	u := &pendingCall{service: service}
	d.WithLock(func() { d.pending[u] = true })
	return context.WithValue(ctx, pendingCallKey{}, u), func() { d.WithLock(func() { delete(d.pending, u) }) }
}

// recordAttempt records that an attempt of the call begins. The caller must call answered with the result of the attempt.
// After a timeout or an internal failure of AWS (status 500 and above), the call still counts as unanswered, because another
// attempt follows. Any other answer ends the wait, even if AWS refuses the call.
func (d *deadlines) recordAttempt(ctx context.Context) (answered func(error)) {
	u, ok := ctx.Value(pendingCallKey{}).(*pendingCall)
	if !ok {
		return func(error) {}
	}
	d.WithLock(func() {
		if u.unansweredSince.IsZero() {
			u.unansweredSince = d.clock.Now()
		}
	})
	return func(err error) {
		var response *smithyhttp.ResponseError
		if err != nil && (!isAnswer(err) || errors.As(err, &response) && response.HTTPStatusCode() >= 500) {
			return
		}
		d.WithLock(func() { u.unansweredSince = time.Time{} })
	}
}

// unansweredSince returns when the oldest unanswered call began to wait, among the calls that wait for longer than usual;
// zero if there is none. Longer than usual means durations.Recent, or 1.5 times the slowest recent answer of the service if
// that is longer.
func (d *deadlines) unansweredSince() (since time.Time) {
	now := d.clock.Now()
	d.WithLock(func() {
		for u := range d.pending {
			late := max(durations.Recent, d.responseTimesOf(u.service).slowest*3/2)
			if !u.unansweredSince.IsZero() && now.Sub(u.unansweredSince) >= late && (since.IsZero() || u.unansweredSince.Before(since)) {
				since = u.unansweredSince
			}
		}
	})
	return since
}

// WatchUnansweredCalls watches the calls in flight until stop is called. When one of them waits for an answer for longer
// than usual, it calls report once. stop ends the context of report, and waits until report has returned.
func (c *Client) WatchUnansweredCalls(ctx context.Context, report func(ctx context.Context, since time.Time)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		ticker := time.NewTicker(durations.Moment)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if since := c.Config.deadlines.unansweredSince(); !since.IsZero() {
				report(ctx, since)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}
