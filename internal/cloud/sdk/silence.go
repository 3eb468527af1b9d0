package sdk

import (
	"context"
	"errors"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// unanswered is a call under way that a run needs: since when AWS has not answered it, zero while no attempt waits for an answer.
type unanswered struct {
	service string
	since   time.Time
}

type unansweredKey struct{}

// wait notes a call that begins, until end is called. A call that a run can do without is not noted.
func (d *deadlines) wait(ctx context.Context, service string) (_ context.Context, end func()) {
	if isOptional(ctx) {
		return ctx, func() {}
	}
	u := &unanswered{service: service}
	d.With(func() { d.waiting[u] = true })
	return context.WithValue(ctx, unansweredKey{}, u), func() { d.With(func() { delete(d.waiting, u) }) }
}

// noteAttempt notes that an attempt of the call begins. answered gets its result: one that AWS fails itself, or that
// gets no answer, is followed by another, and AWS is silent meanwhile. What AWS refuses or throttles is an answer.
func (d *deadlines) noteAttempt(ctx context.Context) (answered func(error)) {
	u, ok := ctx.Value(unansweredKey{}).(*unanswered)
	if !ok {
		return func(error) {}
	}
	d.With(func() {
		if u.since.IsZero() {
			u.since = d.clock.Now()
		}
	})
	return func(err error) {
		var response *smithyhttp.ResponseError
		if err != nil && (!isAnswer(err) || errors.As(err, &response) && response.HTTPStatusCode() >= 500) {
			return
		}
		d.With(func() { u.since = time.Time{} })
	}
}

// silent is since when AWS has not answered a call that waits longer than is usual; zero if there is none. Where AWS
// is slow, answers may take half as long again as the slowest of the last ones.
func (d *deadlines) silent() (since time.Time) {
	now := d.clock.Now()
	d.With(func() {
		for u := range d.waiting {
			late := max(durations.Recent, d.answersOf(u.service).slowest*3/2)
			if !u.since.IsZero() && now.Sub(u.since) >= late && (since.IsZero() || u.since.Before(since)) {
				since = u.since
			}
		}
	})
	return since
}

// WatchSilence calls report once if a call under way has no answer for longer than is usual, until stop is called. Stop
// ends the context of a report that has begun, and waits for it.
func (c *Client) WatchSilence(ctx context.Context, report func(ctx context.Context, since time.Time)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		ask := time.NewTicker(durations.Moment)
		defer ask.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ask.C:
			}
			if since := c.Config.deadlines.silent(); !since.IsZero() {
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
