package ratelimit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// Calls that register and deregister targets share a small token bucket of AWS. They are sent in the order of their
// deadlines. The deadlines of registrations are earlier, but a deregistration becomes due too, so neither delays the other
// forever if AWS admits fewer calls than are made. Calls of a tenant beyond its share are sent after the calls of other
// tenants. A call that has to wait occupies no goroutine: its caller gets the time after which to try again, and then sends
// all changes that the target group needs by that time.

// callSpacing is the minimum time between calls for one target group, so that each call carries more targets. It does not
// apply while the bucket is nearly full.
var callSpacing = map[string]time.Duration{RegisterTargets: durations.Moment / 2, DeregisterTargets: durations.Moment}

const (
	RegisterTargets   = "RegisterTargets"
	DeregisterTargets = "DeregisterTargets"

	targetCallsOperation = "Targets" // the operation under which registrations and deregistrations use the share of a tenant
)

// TargetCall is a call that is about to be made.
type TargetCall struct {
	Operation   string
	TargetGroup string // ARN of the target group
	// Tenant is the tenant whose share the call uses.
	Tenant string
	// MaxDelay is how long the call may wait, counted from the first request for its admission.
	MaxDelay time.Duration
	// IsFull reports whether the call carries as many targets as one call can, so that no spacing follows it.
	IsFull bool
}

type callKey struct{ operation, targetGroup string }

func (c TargetCall) key() callKey { return callKey{c.Operation, c.TargetGroup} }

// scheduledCall is a call that was postponed, or that is in flight.
type scheduledCall struct {
	callKey
	tenant     queueKey
	deadline   time.Time // when the call is to be sent at the latest, if AWS admits it
	expectedAt time.Time // when the call was expected to be sent
	inFlight   bool      // whether the call is in flight
}

// Schedule orders the target calls of one AWS account. The lock of the Limiter guards it.
type Schedule struct {
	Limiter       *Limiter
	buckets       map[string][]*bucket // by operation
	waiting       map[callKey]*scheduledCall
	lastSentAt    map[callKey]time.Time  // when the last call that was not full was sent, by target group
	activeTenants map[queueKey]time.Time // when a tenant made its last call or is to make its next one; tenants that were active recently have equal shares
}

// NewSchedule returns a Schedule that orders calls before they take tokens from a Limiter.
func NewSchedule(l *Limiter) *Schedule {
	s := &Schedule{Limiter: l, buckets: map[string][]*bucket{}, waiting: map[callKey]*scheduledCall{}, lastSentAt: map[callKey]time.Time{}, activeTenants: map[queueKey]time.Time{}}
	for operation := range callSpacing {
		s.buckets[operation] = l.bucketsFor(services.ELB, operation)
	}
	return s
}

// reserveToken takes a token for a call. If there is none, the error is a PostponedError.
func (s *Schedule) reserveToken(c TargetCall) (*permit, error) {
	s.Limiter.mu.Lock()
	defer s.Limiter.mu.Unlock()
	buckets := s.buckets[c.Operation]
	if len(buckets) == 0 {
		return nil, nil
	}
	now := s.Limiter.clock.Now()
	s.dropOld(now)
	w := &scheduledCall{callKey: c.key(), tenant: queueKey{c.Tenant, targetCallsOperation}, deadline: now.Add(c.MaxDelay)}
	if old, ok := s.waiting[w.callKey]; ok && old.deadline.Before(w.deadline) {
		w.deadline = old.deadline
	}
	s.markActive(w.tenant, now)
	var wait time.Duration
	for _, b := range buckets {
		wait = max(wait, s.waitTime(w, b, now))
	}
	if wait > 0 {
		w.expectedAt = now.Add(wait)
		s.markActive(w.tenant, w.expectedAt)
		s.waiting[w.callKey] = w
		return nil, &PostponedError{Operation: c.Operation, After: wait, KeepsPosition: true}
	}
	w.expectedAt, w.inFlight = now, true
	s.waiting[w.callKey] = w
	if !c.IsFull {
		s.lastSentAt[w.callKey] = now
	}
	s.Limiter.charge(buckets, w.tenant, now, len(s.activeTenants))
	return s.Limiter.takeTokens(buckets, now), nil
}

// markActive makes a tenant one of those that share the rate, for durations.Recent after the given time.
func (s *Schedule) markActive(tenant queueKey, at time.Time) {
	if at.After(s.activeTenants[tenant]) {
		s.activeTenants[tenant] = at
	}
}

// noteAnswer records that a call was answered. A call that is to be sent again keeps its deadline.
func (s *Schedule) noteAnswer(key callKey, again bool) {
	s.Limiter.mu.Lock()
	defer s.Limiter.mu.Unlock()
	w, ok := s.waiting[key]
	if !ok || !w.inFlight {
		return
	}
	if !again {
		delete(s.waiting, key)
		return
	}
	w.inFlight = false
}

// Admission is the admission of a call that changes targets. The caller must call End, whether or not the call was made.
type Admission struct {
	schedule *Schedule
	key      callKey
	permit   *permit
}

// Admit takes a token for a call. If there is none, the error is a PostponedError, and End need not be called.
func (s *Schedule) Admit(c TargetCall) (Admission, error) {
	p, err := s.reserveToken(c)
	return Admission{s, c.key(), p}, err
}

// WithPermit returns a context for the admitted call, with its permit.
func (a Admission) WithPermit(ctx context.Context) context.Context { return withPermit(ctx, a.permit) }

// End is called after the call; again reports whether the call is to be sent once more.
func (a Admission) End(again bool) {
	a.permit.report(Unanswered)
	a.schedule.noteAnswer(a.key, again)
}

// waitTime returns how long it takes until a call may be sent, if no more urgent call is scheduled.
func (s *Schedule) waitTime(w *scheduledCall, b *bucket, now time.Time) time.Duration {
	wait := b.waitTime(now, s.callsAhead(w, b, now), 0)
	if b.awaitsTrial(now) {
		wait = min(wait, durations.TrialLatency)
	}
	if last, ok := s.lastSentAt[w.callKey]; ok && b.waitTimeForTokens(now, b.burst()*3/4) > 0 {
		wait = max(wait, last.Add(callSpacing[w.operation]).Sub(now))
	}
	return wait
}

// callsAhead returns how many waiting calls are to be sent before w. First are the calls within the share of their tenant,
// by deadline. Then come the others, by the time from which they are within that share. A deadline before that time counts
// as that time, so that a tenant with a backlog is not served before all others. Sending a call does not change the order of
// the others, so each can be sent at the time at which its caller was asked to try again.
func (s *Schedule) callsAhead(w *scheduledCall, b *bucket, now time.Time) (n int) {
	calls := make([]*scheduledCall, 1, len(s.waiting)+1)
	calls[0] = w
	for key, o := range s.waiting {
		if key != w.callKey && !o.inFlight && !now.After(o.expectedAt.Add(durations.ReservationHold)) {
			calls = append(calls, o)
		}
	}
	slices.SortFunc(calls, (*scheduledCall).compare)
	each := time.Duration(float64(len(s.activeTenants)) / b.rate() * float64(time.Second))
	most := time.Duration((b.burst() - 1) / b.rate() * float64(time.Second)) // a tenant may exceed its share by the tokens of a full bucket
	lead, orders, index := map[queueKey]time.Duration{}, make([][2]time.Duration, len(calls)), 0
	for i, c := range calls {
		if _, ok := lead[c.tenant]; !ok {
			lead[c.tenant] = s.Limiter.chargedTimeLeft(c.tenant, now)
		}
		within := lead[c.tenant] - most
		orders[i] = [2]time.Duration{max(within, 0), max(within, c.deadline.Sub(now))}
		lead[c.tenant] += each
		if c == w {
			index = i
		}
	}
	for i, order := range orders {
		if cmp.Or(slices.Compare(order[:], orders[index][:]), cmp.Compare(i, index)) < 0 {
			n++
		}
	}
	return n
}

// compare orders calls by deadline.
func (w *scheduledCall) compare(o *scheduledCall) int {
	if c := w.deadline.Compare(o.deadline); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(w.targetGroup, o.targetGroup), cmp.Compare(w.operation, o.operation))
}

// dropOld removes calls and tenants that have no effect on the order any more.
func (s *Schedule) dropOld(now time.Time) {
	maps.DeleteFunc(s.waiting, func(_ callKey, w *scheduledCall) bool { return now.Sub(w.expectedAt) > durations.CallDeadline })
	maps.DeleteFunc(s.lastSentAt, func(k callKey, at time.Time) bool { return now.Sub(at) >= callSpacing[k.operation] })
	maps.DeleteFunc(s.activeTenants, func(_ queueKey, at time.Time) bool { return now.Sub(at) > durations.Recent })
}
