package ratelimit

import "context"

type (
	permitKey struct{}
	callerKey struct{}
)

// Caller is the tenant that makes a call: its position in the queue is kept while it is postponed, and it shares what
// AWS admits with the others of its tenant.
type Caller struct {
	Tenant, Name string
	// Cause of its calls, as metrics name it.
	Cause string
}

// WithCaller names the caller of the calls that are made with the context.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller, zero if none is named.
func CallerOf(ctx context.Context) Caller {
	of, _ := ctx.Value(callerKey{}).(Caller)
	return of
}

// withPermit hands a permit that the schedule has given to the call.
func withPermit(ctx context.Context, p *permit) context.Context {
	return context.WithValue(ctx, permitKey{}, p)
}

// Call is a call as the rate limiter sees it, with all of its attempts. One goroutine uses it.
type Call struct {
	limiter            *Limiter
	service, operation string

	permit    *permit
	planned   bool // the schedule has admitted it
	attempts  int
	throttled bool // so was the last attempt
}

// Begin waits until the call may be made.
func (l *Limiter) Begin(ctx context.Context, service, operation string) (*Call, error) {
	c := &Call{limiter: l, service: service, operation: operation}
	if p, ok := ctx.Value(permitKey{}).(*permit); ok && p != nil && !p.used {
		p.used, c.permit, c.planned = true, p, true
		return c, nil
	}
	var err error
	c.permit, err = l.wait(ctx, service, operation)
	return c, err
}

// End gives back what the last attempt has not used.
func (c *Call) End() { c.permit.report(Unanswered) }

// Attempt is called before each attempt. The first has its permit. One after a throttled answer
// waits until it is admitted; others, which the SDK has held back, only take their token.
func (c *Call) Attempt(ctx context.Context) error {
	c.attempts++
	if c.attempts == 1 || c.permit == nil || !c.permit.learns {
		return nil
	}
	c.permit.report(Unanswered)
	l := c.limiter
	switch {
	case !c.throttled:
		l.mu.Lock()
		defer l.mu.Unlock()
		c.permit = l.send(l.bucketsFor(c.service, c.operation), l.clock.Now())
		return nil
	case c.planned: // the schedule admits it again
		l.mu.Lock()
		defer l.mu.Unlock()
		return &Postponed{Operation: c.operation, After: l.until(&waiter{buckets: l.bucketsFor(c.service, c.operation)}, l.clock.Now())}
	}
	p, err := l.wait(ctx, c.service, c.operation)
	if err == nil {
		c.permit = p
	}
	return err
}

// Answered learns from an attempt. The error of one that AWS throttled is a ThrottledError, if the rate limiter decides
// when the next attempt is made.
func (c *Call) Answered(err error, o Outcome) error {
	if c.permit == nil {
		return err
	}
	c.throttled = o == Throttled
	c.permit.report(o)
	if c.throttled && c.permit.learns {
		return &ThrottledError{err}
	}
	return err
}

// ThrottledError is the error of an attempt after which the rate limiter, and not the SDK, decides when the
// next is made.
type ThrottledError struct{ error }

// Unwrap gives AWS's error.
func (e *ThrottledError) Unwrap() error { return e.error }
