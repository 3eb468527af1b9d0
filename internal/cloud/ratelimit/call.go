package ratelimit

import "context"

type (
	permitKey struct{}
	callerKey struct{}
)

// Caller identifies who makes a call. A postponed call keeps its queue position under the Name of its caller. Callers with
// the same Tenant share the calls that AWS admits for the tenant.
type Caller struct {
	Tenant, Name string
	// Cause is the purpose of the calls, such as "stack" or "drift". It is a label of metrics.
	Cause string
}

// WithCaller returns a context for the calls of caller c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller in the context. It returns the zero value if there is none.
func CallerOf(ctx context.Context) Caller {
	of, _ := ctx.Value(callerKey{}).(Caller)
	return of
}

// withPermit returns a context for one call that has a permit of a Schedule.
func withPermit(ctx context.Context, p *permit) context.Context {
	return context.WithValue(ctx, permitKey{}, p)
}

// Call is one call to AWS with all of its attempts. Only one goroutine uses it.
type Call struct {
	limiter            *Limiter
	service, operation string

	permit    *permit
	scheduled bool // whether the permit comes from a Schedule
	attempts  int
	throttled bool // whether AWS throttled the last attempt
}

// Begin waits until a call may be made, unless the context already has a permit. It returns a PostponedError if the call
// would wait too long. If Begin succeeds, the caller must call End.
func (l *Limiter) Begin(ctx context.Context, service, operation string) (*Call, error) {
	c := &Call{limiter: l, service: service, operation: operation}
	if p, ok := ctx.Value(permitKey{}).(*permit); ok && p != nil && !p.used {
		p.used, c.permit, c.scheduled = true, p, true
		return c, nil
	}
	var err error
	c.permit, err = l.wait(ctx, service, operation)
	return c, err
}

// End releases the permit if the last attempt was not answered.
func (c *Call) End() { c.permit.report(Unanswered) }

// Attempt must be called before each attempt. The first attempt uses the permit from Begin. An attempt after a throttled
// attempt waits until it is admitted, or gets a PostponedError. An attempt after any other failure takes a token without
// waiting, because the SDK has already delayed the attempt. If all limits of the operation are fixed, only the first attempt
// takes a token.
func (c *Call) Attempt(ctx context.Context) error {
	c.attempts++
	if c.attempts == 1 || c.permit == nil || !c.permit.learnsFromAnswer {
		return nil
	}
	c.permit.report(Unanswered)
	l := c.limiter
	switch {
	case !c.throttled:
		l.mu.Lock()
		defer l.mu.Unlock()
		c.permit = l.takeTokens(l.bucketsFor(c.service, c.operation), l.clock.Now())
		return nil
	case c.scheduled: // only the schedule can admit the next attempt
		l.mu.Lock()
		defer l.mu.Unlock()
		return &PostponedError{Operation: c.operation, After: l.waitTime(&waiter{buckets: l.bucketsFor(c.service, c.operation)}, l.clock.Now())}
	}
	p, err := l.wait(ctx, c.service, c.operation)
	if err == nil {
		c.permit = p
	}
	return err
}

// RecordOutcome updates the token buckets after an attempt, and returns the error of the attempt. If AWS throttled the
// attempt and the rate limiter decides when the next attempt is made, the error is a ThrottledError.
func (c *Call) RecordOutcome(err error, o Outcome) error {
	if c.permit == nil {
		return err
	}
	c.throttled = o == Throttled
	c.permit.report(o)
	if c.throttled && c.permit.learnsFromAnswer {
		return &ThrottledError{err}
	}
	return err
}

// ThrottledError is the error of a throttled attempt after which the rate limiter, and not the SDK, decides when
// the next attempt is made.
type ThrottledError struct{ error }

// Unwrap returns AWS's error.
func (e *ThrottledError) Unwrap() error { return e.error }
