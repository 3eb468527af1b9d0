package ratelimit

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// Limiter delays calls until AWS has a token for them, and learns the rates of AWS from its answers. There is one Limiter
// for each AWS account, because AWS limits calls per account. Tenants share the queue. The queue position of a call is the
// time at which the earlier calls of its tenant would be finished at the current rate (fair queueing). Other tenants
// therefore do not wait for all calls of a tenant with many calls.
type Limiter struct {
	clock   clock.PassiveClock
	maxWait time.Duration // the longest time that a call waits

	buckets     []*bucket
	byOperation sync.Map // maps service and operation to the buckets for the operation

	mu             sync.Mutex
	queue          []*waiter                // ordered by since
	reservations   map[queueKey]reservation // of postponed calls
	nextEligibleAt map[queueKey]time.Time   // the queue position, as a time, of the next call of a tenant
	changed        chan struct{}            // closed when waiting calls may be sent earlier than computed
}

type waiter struct {
	buckets []*bucket
	since   time.Time // when the call first arrived, or later if its tenant has made many calls
}

// queueKey identifies the calls of one operation by one caller or one tenant. Each key has its own queue position.
type queueKey struct{ caller, operation string }

// reservation is the queue position of a postponed call, and the time at which the call is expected to be made again.
type reservation struct {
	waiter
	expectedAt time.Time
}

// NewLimiter returns a Limiter that starts with the rates in table. A call that would wait for longer than limit is
// postponed.
func NewLimiter(table []TokenBucket, clock clock.PassiveClock, limit time.Duration) *Limiter {
	l := &Limiter{clock: clock, maxWait: limit, changed: make(chan struct{}), reservations: map[queueKey]reservation{}, nextEligibleAt: map[queueKey]time.Time{}}
	for _, e := range table {
		l.buckets = append(l.buckets, newBucket(e, clock.Now()))
	}
	return l
}

// bucketsFor returns the buckets from which an operation takes tokens.
func (l *Limiter) bucketsFor(service, operation string) []*bucket {
	call := [2]string{service, operation}
	if known, ok := l.byOperation.Load(call); ok {
		return known.([]*bucket)
	}
	var out []*bucket
	for _, b := range l.buckets {
		if b.Service == service && b.Operation.MatchString(operation) {
			out = append(out, b)
		}
	}
	l.byOperation.Store(call, out)
	return out
}

// wait waits until a call may be made, and returns a permit for the call; nil if the operation is not limited. If the call
// would wait for longer than maxWait, it returns a PostponedError.
func (l *Limiter) wait(ctx context.Context, service, operation string) (*permit, error) {
	buckets := l.bucketsFor(service, operation)
	if len(buckets) == 0 {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := CallerOf(ctx)
	at := queueKey{of.Name, operation}
	w := l.enqueue(buckets, at, queueKey{of.Tenant, operation})
	defer l.dequeue(w)
	end := l.clock.Now().Add(l.maxWait)
	for {
		now := l.clock.Now()
		wait := l.waitTime(w, now)
		if wait <= 0 {
			return l.takeTokens(buckets, now), nil
		}
		left := end.Sub(now)
		if wait > left && (left <= 0 || !slices.ContainsFunc(buckets, func(b *bucket) bool { return b.awaitsTrial(now) })) {
			wait = min(wait, durations.Recent) // the call may be admitted earlier than computed
			if at.caller != "" {
				l.reservations[at] = reservation{*w, now.Add(wait)}
			}
			return nil, &PostponedError{Operation: operation, After: wait, HasReservedPosition: at.caller != ""}
		}
		changed := l.changed
		l.mu.Unlock()
		err := pause(ctx, min(wait, left), changed)
		l.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
}

// PostponedError is the error of a call that was not sent, because it would exceed the rate limits of AWS.
type PostponedError struct {
	Operation string
	// After is the time to wait before the call is repeated.
	After time.Duration
	// HasReservedPosition reports whether the queue position of the caller is reserved until the call is repeated.
	HasReservedPosition bool
}

// Error implements error.
func (e *PostponedError) Error() string {
	return e.Operation + ": postponed to stay within the rate limits of AWS"
}

// RetryAfter returns the time to wait before the call is repeated.
func (e *PostponedError) RetryAfter() time.Duration { return e.After }

// pause waits until d is over or changed is closed. It returns an error if the context ends first.
func pause(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case <-changed:
	}
	return nil
}

// waitTime returns how long a waiting call has to wait. The caller holds the lock.
func (l *Limiter) waitTime(w *waiter, now time.Time) time.Duration {
	var longest time.Duration
	for _, b := range w.buckets {
		waiting, postponed := 0, 0
		for _, other := range l.queue {
			if other == w {
				break
			}
			if slices.Contains(other.buckets, b) {
				waiting++
			}
		}
		for _, other := range l.reservations {
			if other.since.Before(w.since) && !now.After(other.expectedAt.Add(durations.ReservationHold)) && slices.Contains(other.buckets, b) {
				postponed++
			}
		}
		longest = max(longest, b.waitTime(now, waiting, postponed))
	}
	return longest
}

// enqueue adds a call to the queue: at the reserved position if the call was postponed before, otherwise at the next
// position of its tenant. The caller holds the lock.
func (l *Limiter) enqueue(buckets []*bucket, at, tenant queueKey) *waiter {
	now := l.clock.Now()
	maps.DeleteFunc(l.reservations, func(_ queueKey, a reservation) bool { return now.Sub(a.expectedAt) > durations.CallDeadline })
	w := &waiter{buckets, now}
	if a, ok := l.reservations[at]; ok {
		w.since = a.since
		delete(l.reservations, at)
	} else if tenant.caller != "" {
		w.since = now.Add(l.chargedTimeLeft(tenant, now))
		l.charge(buckets, tenant, now, 1)
	}
	i := len(l.queue)
	for i > 0 && w.since.Before(l.queue[i-1].since) {
		i--
	}
	l.queue = slices.Insert(l.queue, i, w)
	return w
}

// chargedTimeLeft returns the remaining time for the earlier calls of a tenant (charge) at the current rate. The caller
// holds the lock.
func (l *Limiter) chargedTimeLeft(tenant queueKey, now time.Time) time.Duration {
	return max(l.nextEligibleAt[tenant].Sub(now), 0)
}

// charge charges a tenant for a number of calls: it adds the time that these calls take at the current rate to
// nextEligibleAt of the tenant. The caller holds the lock.
func (l *Limiter) charge(buckets []*bucket, tenant queueKey, now time.Time, calls int) {
	maps.DeleteFunc(l.nextEligibleAt, func(_ queueKey, next time.Time) bool { return next.Before(now) })
	var each time.Duration
	for _, b := range buckets {
		each = max(each, time.Duration(float64(time.Second)/b.rate()))
	}
	l.nextEligibleAt[tenant] = now.Add(min(l.chargedTimeLeft(tenant, now)+time.Duration(calls)*each, durations.LongestReadBackOff))
}

// dequeue removes a call from the queue. The caller holds the lock.
func (l *Limiter) dequeue(w *waiter) {
	l.queue = slices.DeleteFunc(l.queue, func(o *waiter) bool { return o == w })
	l.wakeWaitingCalls()
}

// wakeWaitingCalls makes all waiting calls compute their wait time again. The caller holds the lock.
func (l *Limiter) wakeWaitingCalls() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// takeTokens takes the tokens for one attempt of a call. The caller holds the lock.
func (l *Limiter) takeTokens(buckets []*bucket, now time.Time) *permit {
	p := &permit{limiter: l}
	for _, b := range buckets {
		flight := b.flightNumber
		p.bucketShares = append(p.bucketShares, bucketShare{b, flight, b.takeToken(now)})
		p.learnsFromAnswer = p.learnsFromAnswer || !b.Fixed
	}
	return p
}

// permit is the right to send one attempt of a call. It is nil for a call that is not limited.
type permit struct {
	limiter          *Limiter
	bucketShares     []bucketShare
	learnsFromAnswer bool // whether a bucket adapts to the answer
	used             bool // a call has taken the permit
	reported         bool
}

// bucketShare is the part of a permit that concerns one token bucket.
type bucketShare struct {
	bucket *bucket
	flight int
	trial  bool
}

// Outcome is the result of an attempt.
type Outcome int

// The values of Outcome.
const (
	Unanswered Outcome = iota // there was no answer, so AWS may or may not have handled the attempt
	Handled                   // AWS has handled the attempt, with success or an error
	Throttled                 // AWS has refused the attempt because of its rate limit
)

// report records the outcome of the attempt. Only the first report counts. Each permit must be reported, because a trial
// without a report would be treated as in flight forever.
func (p *permit) report(o Outcome) {
	if p == nil {
		return
	}
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	if p.reported {
		return
	}
	p.reported = true
	now := p.limiter.clock.Now()
	for _, x := range p.bucketShares {
		if x.trial {
			x.bucket.trialsInFlight--
		}
		switch {
		case o == Handled:
			x.bucket.adaptToHandledCall(now, x.trial, x.flight == x.bucket.flightNumber)
		case o == Throttled && x.flight == x.bucket.flightNumber:
			x.bucket.adaptToThrottledCall(now, x.trial)
		}
	}
	p.limiter.wakeWaitingCalls()
}

// CurrentRate is the rate that a token bucket currently admits.
type CurrentRate struct {
	// Service is the service ID, and Operations is the regular expression of the operations.
	Service, Operations string
	// Rate is in calls per second.
	Rate float64
}

// Rate returns the number of calls of an operation per second that are currently admitted; 0 if the operation is not
// limited.
func (l *Limiter) Rate(service, operation string) (rate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, b := range l.bucketsFor(service, operation) {
		if r := b.rate(); i == 0 || r < rate {
			rate = r
		}
	}
	return rate
}

// Rates returns the rates that the token buckets currently admit, in the order of the throttle table. If several token
// buckets have the same service and operations, it returns the lowest rate.
func (l *Limiter) Rates() []CurrentRate {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []CurrentRate
	for _, b := range l.buckets {
		x := CurrentRate{b.Service, b.Operation.String(), b.rate()}
		i := slices.IndexFunc(out, func(o CurrentRate) bool { return o.Service == x.Service && o.Operations == x.Operations })
		if i < 0 {
			out = append(out, x)
			continue
		}
		out[i].Rate = min(out[i].Rate, x.Rate)
	}
	return out
}
