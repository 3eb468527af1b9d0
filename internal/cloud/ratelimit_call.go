package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fulcrum-lb/fulcrum/internal/drift"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

type (
	permitKey  struct{}
	limitedKey struct{}
	callerKey  struct{}
)

// caller is who makes a call: its place in the queue is kept while it is put off, and it shares what AWS
// admits with the others of its tenant.
type caller struct {
	tenant, name string
	cause        string // of the calls, as metrics name it
}

// The causes of calls.
const (
	forStack   = "stack"
	forTargets = "targets"
	forDrift   = "drift"
	forOrphans = "orphans"
)

// withCaller names the caller. Whatever a check for drift calls is for drift.
func withCaller(ctx context.Context, tenant, name, cause string) context.Context {
	if drift.IsCheck(ctx) {
		cause = forDrift
	}
	return context.WithValue(ctx, callerKey{}, caller{tenant, name, cause})
}

// callerForStack names the caller of calls for a stack. Its tenant is its namespace, or the group that
// members share.
func callerForStack(ctx context.Context, id model.StackID) context.Context {
	return withCaller(ctx, cmp.Or(id.Namespace, "group "+id.Name), fmt.Sprint(id), forStack)
}

// callerOf is the caller, zero if none is named.
func callerOf(ctx context.Context) caller {
	of, _ := ctx.Value(callerKey{}).(caller)
	return of
}

// withPermit hands the permit of a call that took its turn elsewhere to the call.
func withPermit(ctx context.Context, p *permit) context.Context {
	return context.WithValue(ctx, permitKey{}, p)
}

// limited is one call as the rate limiter sees it, with all of its attempts. One goroutine uses it.
type limited struct {
	limiter            *limiter
	service, operation string

	permit    *permit
	planned   bool // it took its turn elsewhere
	attempts  int
	throttled bool // so was the last attempt
}

// begin waits until the call may be made.
func (l *limiter) begin(ctx context.Context, service, operation string) (*limited, error) {
	c := &limited{limiter: l, service: service, operation: operation}
	if p, ok := ctx.Value(permitKey{}).(*permit); ok && p != nil && !p.used {
		p.used, c.permit, c.planned = true, p, true
		return c, nil
	}
	var err error
	c.permit, err = l.wait(ctx, service, operation)
	return c, err
}

// end gives back what the last attempt has not used.
func (c *limited) end() { c.permit.settle(unanswered) }

// attempt is called before each attempt. The first has its permit. One after a throttled answer
// waits for its turn; others, which the SDK has held back, only take their token.
func (c *limited) attempt(ctx context.Context) error {
	c.attempts++
	if c.attempts == 1 || c.permit == nil || !c.permit.learns {
		return nil
	}
	c.permit.settle(unanswered)
	l := c.limiter
	switch {
	case !c.throttled:
		l.mu.Lock()
		defer l.mu.Unlock()
		c.permit = l.send(l.of(c.service, c.operation), l.now())
		return nil
	case c.planned: // it takes its turn again
		l.mu.Lock()
		defer l.mu.Unlock()
		return notNow(c.operation, l.until(&waiter{buckets: l.of(c.service, c.operation)}, l.now()))
	}
	p, err := l.wait(ctx, c.service, c.operation)
	if err == nil {
		c.permit = p
	}
	return err
}

// answered learns from an attempt. The error of one that is to wait for its turn says so.
func (c *limited) answered(err error) error {
	if c.permit == nil {
		return err
	}
	c.throttled = rateExceeded(err)
	var response *smithyhttp.ResponseError
	switch {
	case c.throttled:
		c.permit.settle(throttled)
	case err == nil, errors.As(err, &response) && response.HTTPStatusCode() > 0:
		c.permit.settle(taken)
	default:
		c.permit.settle(unanswered)
	}
	if c.throttled && c.permit.learns {
		return &inTurn{err}
	}
	return err
}

// rateExceeded reports whether AWS took no call because there were too many.
func rateExceeded(err error) bool {
	c := code(err)
	return codes[c] == engine.Throttled && c != "PriorRequestNotComplete"
}

// inTurn is the error of an attempt after which the rate limiter, and not the SDK, decides when the
// next is made.
type inTurn struct{ error }

// Unwrap gives AWS's error.
func (e *inTurn) Unwrap() error { return e.error }

// backOff is the SDK's own, but none where the rate limiter decides.
type backOff struct{ sdk retry.BackoffDelayer }

// BackoffDelay implements retry.BackoffDelayer.
func (b backOff) BackoffDelay(attempt int, err error) (time.Duration, error) {
	var turn *inTurn
	if errors.As(err, &turn) {
		return 0, nil
	}
	return b.sdk.BackoffDelay(attempt, err)
}
