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
	unansweredSince time.Time // since when AWS has not answered; zero while no attempt waits for an answer
}

type pendingCallKey struct{}

// beginCall records that a call is in flight, until end is called. It does not record calls for optional facts.
func (d *deadlines) beginCall(ctx context.Context, service string) (_ context.Context, end func()) {
	if isOptional(ctx) {
		return ctx, func() {}
	}
	u := &pendingCall{service: service}
	d.WithLock(func() { d.pending[u] = true })
	return context.WithValue(ctx, pendingCallKey{}, u), func() { d.WithLock(func() { delete(d.pending, u) }) }
}

// noteAttempt records that an attempt of the call begins. The caller passes the result of the attempt to answered. A timeout
// or an internal failure of AWS (status 500 and above) does not end the silence, because another attempt follows. A refused
// or throttled attempt ends it.
func (d *deadlines) noteAttempt(ctx context.Context) (answered func(error)) {
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

// silentSince returns since when AWS has not answered a call that waits longer than usual; zero if there is no such call. If
// AWS is slow, an answer may take 1.5 times as long as the slowest recent answer.
func (d *deadlines) silentSince() (since time.Time) {
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

// WatchSilence watches the calls in flight until stop is called. If one has no answer for longer than usual, it calls report
// once. stop ends the context of a running report, and waits for the report to end.
func (c *Client) WatchSilence(ctx context.Context, report func(ctx context.Context, since time.Time)) (stop func()) {
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
			if since := c.Config.deadlines.silentSince(); !since.IsZero() {
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
