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

// Calls that register and deregister targets share a small token bucket in AWS. These calls are sent in the order of their
// deadlines. A registration usually has an earlier deadline than a deregistration that is requested at the same time. But a
// deregistration that has waited for a long time is sent before new registrations. Therefore no call waits forever if AWS
// admits fewer calls than are needed. Calls of a tenant beyond its share are sent after the calls of other tenants. A call
// that must wait blocks no goroutine: its caller gets the time to wait, and then repeats the call with all changes that the
// target group needs at that time.

// callSpacing is the minimum time between calls for one target group, by operation, so that each call has more targets. It
// does not apply while the bucket is nearly full.
var callSpacing = map[string]time.Duration{RegisterTargets: durations.Moment / 2, DeregisterTargets: durations.Moment}

const (
	RegisterTargets   = "RegisterTargets"
	DeregisterTargets = "DeregisterTargets"

	targetCallsOperation = "Targets" // the operation in the queue keys of tenants; registrations and deregistrations share it
)

// TargetCall is a call that registers or deregisters targets and asks for admission.
type TargetCall struct {
	Operation   string
	TargetGroup string // ARN of the target group
	// Tenant is the tenant whose share the call uses.
	Tenant string
	// MaxDelay is how long the call may wait after its admission is first requested.
	MaxDelay time.Duration
	// IsFull reports whether the call has the maximum number of targets. The next call for the target group then need not
	// wait for callSpacing.
	IsFull bool
}

type callKey struct{ operation, targetGroup string }

func (c TargetCall) key() callKey { return callKey{c.Operation, c.TargetGroup} }

// scheduledCall is a call that was postponed, or that is in flight.
type scheduledCall struct {
	callKey
	tenant     queueKey
	deadline   time.Time // when the call should be sent at the latest
	expectedAt time.Time // when the call is expected to be sent, or was sent
	inFlight   bool      // whether the call was sent and has no answer yet
}

// Schedule orders the calls that register and deregister targets in one AWS account. The lock of the Limiter guards it.
type Schedule struct {
	Limiter    *Limiter
	buckets    map[string][]*bucket // by operation
	waiting    map[callKey]*scheduledCall
	lastSentAt map[callKey]time.Time // when the last call was sent that was not full, by operation and target group
	// activeTenants has the tenants that share the rate equally, with the time at which each tenant made its last call or is
	// expected to make its next call.
	activeTenants map[queueKey]time.Time
}

// NewSchedule returns a Schedule that orders calls before they take tokens from a Limiter.
func NewSchedule(l *Limiter) *Schedule {
	s := &Schedule{Limiter: l, buckets: map[string][]*bucket{}, waiting: map[callKey]*scheduledCall{}, lastSentAt: map[callKey]time.Time{}, activeTenants: map[queueKey]time.Time{}}
	for operation := range callSpacing {
		s.buckets[operation] = l.bucketsFor(services.ELB, operation)
	}
	return s
}

// reserveToken takes a token for a call and returns its permit; nil if the operation is not limited. If the call must wait,
// it returns a PostponedError.
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
		return nil, &PostponedError{Operation: c.Operation, After: wait, HasReservedPosition: true}
	}
	w.expectedAt, w.inFlight = now, true
	s.waiting[w.callKey] = w
	if !c.IsFull {
		s.lastSentAt[w.callKey] = now
	}
	s.Limiter.charge(buckets, w.tenant, now, len(s.activeTenants))
	return s.Limiter.takeTokens(buckets, now), nil
}

// markActive gives a tenant a share of the rate until durations.Recent after the time at.
func (s *Schedule) markActive(tenant queueKey, at time.Time) {
	if at.After(s.activeTenants[tenant]) {
		s.activeTenants[tenant] = at
	}
}

// recordAnswer records that a call was answered. again reports whether the call will be made again; it then keeps its
// deadline.
func (s *Schedule) recordAnswer(key callKey, again bool) {
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

// Admission is the admission of a call that changes targets. The caller must call End, even if it does not make the call.
type Admission struct {
	schedule *Schedule
	key      callKey
	permit   *permit
}

// Admit takes a token for a call. If the call must wait, it returns a PostponedError, and End need not be called.
func (s *Schedule) Admit(c TargetCall) (Admission, error) {
	p, err := s.reserveToken(c)
	return Admission{s, c.key(), p}, err
}

// WithPermit returns a context with the permit, for the admitted call.
func (a Admission) WithPermit(ctx context.Context) context.Context { return withPermit(ctx, a.permit) }

// End must be called after the call. again reports whether the call will be repeated.
func (a Admission) End(again bool) {
	a.permit.report(Unanswered)
	a.schedule.recordAnswer(a.key, again)
}

// waitTime returns how long it takes until bucket b admits call w, if no call with an earlier deadline is requested before
// that time.
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

// callsAhead returns how many waiting calls must be sent before w. Calls within the share of their tenant come first, in the
// order of their deadlines. All other calls follow, in the order of the times from which they are within the share of their
// tenant. If this time is later than the deadline of a call, it replaces the deadline, so that a tenant with many waiting
// calls is not served before other tenants. Sending a call does not change the order of the remaining calls, so each call
// can be sent after the time in its PostponedError.
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
	// A tenant may exceed its share by the tokens of a full bucket minus one.
	most := time.Duration((b.burst() - 1) / b.rate() * float64(time.Second))
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

// compare compares calls by deadline, and then by target group and operation.
func (w *scheduledCall) compare(o *scheduledCall) int {
	if c := w.deadline.Compare(o.deadline); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(w.targetGroup, o.targetGroup), cmp.Compare(w.operation, o.operation))
}

// dropOld removes calls and tenants that no longer affect the order.
func (s *Schedule) dropOld(now time.Time) {
	maps.DeleteFunc(s.waiting, func(_ callKey, w *scheduledCall) bool { return now.Sub(w.expectedAt) > durations.CallDeadline })
	maps.DeleteFunc(s.lastSentAt, func(k callKey, at time.Time) bool { return now.Sub(at) >= callSpacing[k.operation] })
	maps.DeleteFunc(s.activeTenants, func(_ queueKey, at time.Time) bool { return now.Sub(at) > durations.Recent })
}
