package cloud

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// limiter lets calls wait for their turn, and learns from their answers what AWS admits. Each AWS
// account has its own, as AWS's limits are those of an account. Tenants take turns: a call comes as late
// as its tenant's calls before it would have taken at the present rate, so that whoever makes many does
// not keep others waiting for all of them (as in fair queueing).
type limiter struct {
	now   func() time.Time
	limit time.Duration // the longest wait

	buckets []*bucket
	found   sync.Map // from service and operation to the buckets of it

	mu      sync.Mutex
	queue   []*waiter             // by since
	away    map[place]appointment // of calls that were put off
	turns   map[place]time.Time   // from when the next call of a tenant counts, if that is not now
	changed chan struct{}         // closed when a call that waits may have its turn earlier
}

// waiter is a call that waits.
type waiter struct {
	buckets []*bucket
	since   time.Time // when it came first, or later by what its tenant has used
}

// place is that of a call in the queue, which it keeps while it is put off.
type place struct{ caller, operation string }

// longestTurn bounds how much later a call of a tenant counts than it came.
const longestTurn = 5 * time.Minute

// appointment is when a call that was put off comes back.
type appointment struct {
	waiter
	at time.Time
}

// longestAway is when a call that was put off is to look again at the latest, as its turn may come
// earlier than it seemed.
const longestAway = 15 * time.Second

func newLimiter(table []TokenBucket, now func() time.Time, limit time.Duration) *limiter {
	l := &limiter{now: now, limit: limit, changed: make(chan struct{}), away: map[place]appointment{}, turns: map[place]time.Time{}}
	for _, e := range table {
		l.buckets = append(l.buckets, newBucket(e, now()))
	}
	return l
}

// of are the buckets that an operation takes tokens from.
func (l *limiter) of(service, operation string) []*bucket {
	call := [2]string{service, operation}
	if known, ok := l.found.Load(call); ok {
		return known.([]*bucket)
	}
	var out []*bucket
	for _, b := range l.buckets {
		if b.Service == service && b.Operation.MatchString(operation) {
			out = append(out, b)
		}
	}
	l.found.Store(call, out)
	return out
}

// wait waits until the call may be made. A call that would have to wait for longer than the limit
// is not made; its error says when to try again.
func (l *limiter) wait(ctx context.Context, service, operation string) (*permit, error) {
	buckets := l.of(service, operation)
	if len(buckets) == 0 {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := callerOf(ctx)
	at := place{of.name, operation}
	w := l.enter(buckets, at, place{of.tenant, operation})
	defer l.leave(w)
	end := l.now().Add(l.limit)
	for {
		now := l.now()
		wait := l.until(w, now)
		if wait <= 0 {
			return l.send(buckets, now), nil
		}
		left := end.Sub(now)
		if wait > left && (left <= 0 || !slices.ContainsFunc(buckets, func(b *bucket) bool { return b.undecided(now) })) {
			wait = min(wait, longestAway)
			if at.caller != "" {
				l.away[at] = appointment{*w, now.Add(wait)}
			}
			return nil, notNow(operation, wait)
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

// notNow is the error of a call that was not made.
func notNow(operation string, wait time.Duration) error {
	return &Error{What: operation, class: engine.Throttled, after: wait, err: errors.New("put off, to keep below AWS's limits")}
}

// pause ends after a time, when something changes, or when the caller gives up.
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

// until is how long a call that waits has to wait. The lock is held.
func (l *limiter) until(w *waiter, now time.Time) time.Duration {
	var longest time.Duration
	for _, b := range w.buckets {
		here, away := 0, 0
		for _, other := range l.queue {
			if other == w {
				break
			}
			if slices.Contains(other.buckets, b) {
				here++
			}
		}
		for _, other := range l.away {
			if other.since.Before(w.since) && !now.After(other.at.Add(claimWithin)) && slices.Contains(other.buckets, b) {
				away++
			}
		}
		longest = max(longest, b.until(now, here, away))
	}
	return longest
}

// enter puts a call into the queue, at the place that it has kept if it was put off. The lock is held.
func (l *limiter) enter(buckets []*bucket, at, tenant place) *waiter {
	now := l.now()
	maps.DeleteFunc(l.away, func(_ place, a appointment) bool { return now.Sub(a.at) > waitingKept })
	w := &waiter{buckets, now}
	if a, ok := l.away[at]; ok {
		w.since = a.since
		delete(l.away, at)
	} else if tenant.caller != "" {
		w.since = l.turn(buckets, tenant, now)
	}
	i := len(l.queue)
	for i > 0 && w.since.Before(l.queue[i-1].since) {
		i--
	}
	l.queue = slices.Insert(l.queue, i, w)
	return w
}

// turn is from when a tenant's call counts. The lock is held.
func (l *limiter) turn(buckets []*bucket, tenant place, now time.Time) time.Time {
	maps.DeleteFunc(l.turns, func(_ place, next time.Time) bool { return next.Before(now) })
	since := now
	if next, ok := l.turns[tenant]; ok {
		since = next
	}
	var each time.Duration
	for _, b := range buckets {
		each = max(each, time.Duration(float64(time.Second)/b.rate()))
	}
	next := since.Add(each)
	if last := now.Add(longestTurn); next.After(last) {
		next = last
	}
	l.turns[tenant] = next
	return since
}

// leave takes a call out of the queue. The lock is held.
func (l *limiter) leave(w *waiter) {
	l.queue = slices.DeleteFunc(l.queue, func(o *waiter) bool { return o == w })
	l.wake()
}

// wake lets all that wait look again. The lock is held.
func (l *limiter) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// send takes what one attempt of a call needs. The lock is held.
func (l *limiter) send(buckets []*bucket, now time.Time) *permit {
	p := &permit{limiter: l}
	for _, b := range buckets {
		flight := b.flight
		p.parts = append(p.parts, part{b, flight, b.send(now)})
		p.learns = p.learns || !b.Fixed
	}
	return p
}

// permit is the right to send one attempt of a call. Nil is that of a call that is not limited.
type permit struct {
	limiter *limiter
	parts   []part
	learns  bool // from the answer
	used    bool // by a call
	settled bool
}

// part is what a permit has of one bucket.
type part struct {
	bucket *bucket
	flight int
	trial  bool
}

// An outcome is what became of an attempt.
type outcome int

const (
	unanswered outcome = iota // nothing is known
	taken
	throttled
)

// settle reports what became of the attempt. Only the first report counts. Each permit is settled,
// as otherwise the trials in flight would seem to last.
func (p *permit) settle(o outcome) {
	if p == nil {
		return
	}
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	if p.settled {
		return
	}
	p.settled = true
	now := p.limiter.now()
	for _, x := range p.parts {
		if x.trial {
			x.bucket.trying--
		}
		switch {
		case o == taken:
			x.bucket.taken(now, x.trial, x.flight == x.bucket.flight)
		case o == throttled && x.flight == x.bucket.flight:
			x.bucket.throttled(now, x.trial)
		}
	}
	p.limiter.wake()
}

// RateLimit is what a token bucket admits now.
type RateLimit struct {
	// Service and Operations are the service id and the expression as in the throttle table.
	Service, Operations string
	// Rate is in calls per second.
	Rate float64
}

// RateLimits of the controller's own account, in the order of the throttle table. Of equal entries
// the slowest counts.
func (c *Cloud) RateLimits() []RateLimit {
	l := c.targets.limits.own.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []RateLimit
	for _, b := range l.buckets {
		x := RateLimit{b.Service, b.Operation.String(), b.rate()}
		i := slices.IndexFunc(out, func(o RateLimit) bool { return o.Service == x.Service && o.Operations == x.Operations })
		if i < 0 {
			out = append(out, x)
			continue
		}
		out[i].Rate = min(out[i].Rate, x.Rate)
	}
	return out
}
