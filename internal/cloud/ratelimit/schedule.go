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

// Calls that register and deregister targets share a small token bucket of AWS. They are sent in the
// order of their deadlines, which are near for registrations, so that neither kind delays the other for ever where AWS
// admits fewer calls than are made. Calls of a tenant beyond its share are sent after the calls of other tenants. A call
// that has to wait occupies no goroutine: its caller gets the time after which to try again, and then sends all changes
// that the target group needs by that time.

// spacing is the time between calls for one target group, so that each call carries more targets. It does not apply
// while the bucket is nearly full.
var spacing = map[string]time.Duration{RegisterTargets: durations.Moment / 2, DeregisterTargets: durations.Moment}

const (
	RegisterTargets   = "RegisterTargets"
	DeregisterTargets = "DeregisterTargets"

	targetCalls = "Targets" // the operation under which registrations and deregistrations use the share of a tenant
)

// TargetCall is a call that is about to be made.
type TargetCall struct {
	Operation   string
	TargetGroup string // ARN of the target group
	// Tenant is the tenant whose share the call uses.
	Tenant string
	// Within is how long the call may wait from when its admission is first requested.
	Within time.Duration
	// Full reports whether the call carries as many targets as one call can, so that no spacing follows it.
	Full bool
}

type callKey struct{ operation, targetGroup string }

func (c TargetCall) key() callKey { return callKey{c.Operation, c.TargetGroup} }

// callInSchedule is a call that was postponed, or that is in flight.
type callInSchedule struct {
	callKey
	tenant queueKey
	due    time.Time // its deadline: when it is to be sent at the latest, if AWS admits it
	at     time.Time // when it was expected to be sent
	sent   bool      // it is in flight
}

// Schedule orders the calls of one AWS account. The lock of the limiter guards it.
type Schedule struct {
	Limiter *Limiter
	buckets map[string][]*bucket // by operation
	waiting map[callKey]*callInSchedule
	sent    map[callKey]time.Time  // when the last call that was not full was sent
	active  map[queueKey]time.Time // when a tenant made its last call or is to make its next one; tenants that were active recently have equal shares
}

// NewSchedule orders calls above the token buckets of a limiter.
func NewSchedule(l *Limiter) *Schedule {
	s := &Schedule{Limiter: l, buckets: map[string][]*bucket{}, waiting: map[callKey]*callInSchedule{}, sent: map[callKey]time.Time{}, active: map[queueKey]time.Time{}}
	for operation := range spacing {
		s.buckets[operation] = l.bucketsFor(services.ELB, operation)
	}
	return s
}

// reserveToken takes a token for a call. If there is none, the error is Postponed.
func (s *Schedule) reserveToken(c TargetCall) (*permit, error) {
	s.Limiter.mu.Lock()
	defer s.Limiter.mu.Unlock()
	buckets := s.buckets[c.Operation]
	if len(buckets) == 0 {
		return nil, nil
	}
	now := s.Limiter.clock.Now()
	s.dropOld(now)
	w := &callInSchedule{callKey: c.key(), tenant: queueKey{c.Tenant, targetCalls}, due: now.Add(c.Within)}
	if old, ok := s.waiting[w.callKey]; ok && old.due.Before(w.due) {
		w.due = old.due
	}
	s.markActive(w.tenant, now)
	var wait time.Duration
	for _, b := range buckets {
		wait = max(wait, s.wait(w, b, now))
	}
	if wait > 0 {
		w.at = now.Add(wait)
		s.markActive(w.tenant, w.at)
		s.waiting[w.callKey] = w
		return nil, &Postponed{Operation: c.Operation, After: wait, Reserved: true}
	}
	w.at, w.sent = now, true
	s.waiting[w.callKey] = w
	if !c.Full {
		s.sent[w.callKey] = now
	}
	s.Limiter.charge(buckets, w.tenant, now, len(s.active))
	return s.Limiter.send(buckets, now), nil
}

// markActive makes a tenant one of those that share the rate, for durations.Recent from the given time.
func (s *Schedule) markActive(tenant queueKey, at time.Time) {
	if at.After(s.active[tenant]) {
		s.active[tenant] = at
	}
}

// noteAnswer records that a call was answered. A call that is to be sent again keeps its deadline.
func (s *Schedule) noteAnswer(key callKey, again bool) {
	s.Limiter.mu.Lock()
	defer s.Limiter.mu.Unlock()
	w, ok := s.waiting[key]
	if !ok || !w.sent {
		return
	}
	if !again {
		delete(s.waiting, key)
		return
	}
	w.sent = false
}

// Admission is the admission of a call that changes targets. End must be called on it, whether or not the call was made.
type Admission struct {
	schedule *Schedule
	key      callKey
	permit   *permit
}

// Admit takes a token for a call. If there is none, the error is Postponed, and End need not be called.
func (s *Schedule) Admit(c TargetCall) (Admission, error) {
	p, err := s.reserveToken(c)
	return Admission{s, c.key(), p}, err
}

// With returns a context for the admitted call, with its permit.
func (a Admission) With(ctx context.Context) context.Context { return withPermit(ctx, a.permit) }

// End is called after the call; again reports whether the call is to be sent once more.
func (a Admission) End(again bool) {
	a.permit.report(Unanswered)
	a.schedule.noteAnswer(a.key, again)
}

// wait returns how long it takes until a call may be sent, if no more urgent call follows.
func (s *Schedule) wait(w *callInSchedule, b *bucket, now time.Time) time.Duration {
	wait := b.until(now, s.ahead(w, b, now), 0)
	if b.awaitsTrial(now) {
		wait = min(wait, durations.Trial)
	}
	if last, ok := s.sent[w.callKey]; ok && b.untilTokens(now, b.burst()*3/4) > 0 {
		wait = max(wait, last.Add(spacing[w.operation]).Sub(now))
	}
	return wait
}

// ahead returns how many waiting calls are to be sent before w. Calls within the share of their tenant come first, by
// deadline, and then the others, by the time at which they will be within it. A deadline before that time counts as that
// time, so that a tenant with a backlog is not served before all others. Sending a call does not change the order of the
// others, so that each can be sent when its caller was asked to try again.
func (s *Schedule) ahead(w *callInSchedule, b *bucket, now time.Time) (n int) {
	calls := make([]*callInSchedule, 1, len(s.waiting)+1)
	calls[0] = w
	for key, o := range s.waiting {
		if key != w.callKey && !o.sent && !now.After(o.at.Add(durations.Reserved)) {
			calls = append(calls, o)
		}
	}
	slices.SortFunc(calls, (*callInSchedule).compare)
	each := time.Duration(float64(len(s.active)) / b.rate() * float64(time.Second))
	most := time.Duration((b.burst() - 1) / b.rate() * float64(time.Second)) // the share of a full bucket
	lead, orders, index := map[queueKey]time.Duration{}, make([][2]time.Duration, len(calls)), 0
	for i, c := range calls {
		if _, ok := lead[c.tenant]; !ok {
			lead[c.tenant] = s.Limiter.chargedTimeLeft(c.tenant, now)
		}
		within := lead[c.tenant] - most
		orders[i] = [2]time.Duration{max(within, 0), max(within, c.due.Sub(now))}
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
func (w *callInSchedule) compare(o *callInSchedule) int {
	if c := w.due.Compare(o.due); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(w.targetGroup, o.targetGroup), cmp.Compare(w.operation, o.operation))
}

// dropOld removes calls and tenants that have no effect on the order any more.
func (s *Schedule) dropOld(now time.Time) {
	maps.DeleteFunc(s.waiting, func(_ callKey, w *callInSchedule) bool { return now.Sub(w.at) > durations.Call })
	maps.DeleteFunc(s.sent, func(k callKey, at time.Time) bool { return now.Sub(at) >= spacing[k.operation] })
	maps.DeleteFunc(s.active, func(_ queueKey, at time.Time) bool { return now.Sub(at) > durations.Recent })
}
