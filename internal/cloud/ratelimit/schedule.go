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
// order of their deadlines, which are near for registrations, so that neither kind keeps the other waiting for
// ever where AWS admits fewer than come. What a tenant has beyond its share comes after the calls of others. A call that has
// to wait keeps no goroutine: its caller learns when to come back and does so then, with all that has come up for the
// target group meanwhile.

// spacing is how long calls for one target group wait for each other, so that they carry more, unless
// the bucket is nearly full.
var spacing = map[string]time.Duration{RegisterTargets: durations.Moment / 2, DeregisterTargets: durations.Moment}

const (
	RegisterTargets   = "RegisterTargets"
	DeregisterTargets = "DeregisterTargets"

	targetCalls = "Targets" // both count to the share of a tenant
)

// TargetCall is a call that is about to be made.
type TargetCall struct {
	Operation string
	Group     string // ARN
	// Tenant to whose share the call counts.
	Tenant string
	// Within is how long the call may wait from when it is first asked for.
	Within time.Duration
	// Full: it carries as many targets as one call can.
	Full bool
}

type callKey struct{ operation, group string }

func (c TargetCall) key() callKey { return callKey{c.Operation, c.Group} }

// waitingCall is a call that was postponed, or is sent now.
type waitingCall struct {
	callKey
	tenant queueKey
	due    time.Time // when it is to be sent at the latest, if AWS admits it
	at     time.Time // when it was expected to be sent
	sent   bool      // and not answered yet
}

// Schedule orders the calls of one AWS account. The lock of the limiter guards it.
type Schedule struct {
	Limiter *Limiter
	buckets map[string][]*bucket // by operation
	waiting map[callKey]*waitingCall
	sent    map[callKey]time.Time
	active  map[queueKey]time.Time // when a tenant had a call last, or is to come back for one; those of a moment ago share alike
}

// NewSchedule orders calls above the token buckets of a limiter.
func NewSchedule(l *Limiter) *Schedule {
	s := &Schedule{Limiter: l, buckets: map[string][]*bucket{}, waiting: map[callKey]*waitingCall{}, sent: map[callKey]time.Time{}, active: map[queueKey]time.Time{}}
	for operation := range spacing {
		s.buckets[operation] = l.bucketsFor(services.ELB, operation)
	}
	return s
}

// take takes a token for a call. Without one the error is Postponed.
func (s *Schedule) take(c TargetCall) (*permit, error) {
	s.Limiter.mu.Lock()
	defer s.Limiter.mu.Unlock()
	buckets := s.buckets[c.Operation]
	if len(buckets) == 0 {
		return nil, nil
	}
	now := s.Limiter.clock.Now()
	s.tidy(now)
	w := &waitingCall{callKey: c.key(), tenant: queueKey{c.Tenant, targetCalls}, due: now.Add(c.Within)}
	if old, ok := s.waiting[w.callKey]; ok && old.due.Before(w.due) {
		w.due = old.due
	}
	s.activeUntil(w.tenant, now)
	var wait time.Duration
	for _, b := range buckets {
		wait = max(wait, s.wait(w, b, now))
	}
	if wait > 0 {
		w.at = now.Add(wait)
		s.activeUntil(w.tenant, w.at)
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

// activeUntil counts a tenant among those that share the rate.
func (s *Schedule) activeUntil(tenant queueKey, at time.Time) {
	if at.After(s.active[tenant]) {
		s.active[tenant] = at
	}
}

// answered notes that a call was answered. One that is to be sent again is as urgent as it was.
func (s *Schedule) answered(key callKey, again bool) {
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

// Admission is the admission of a call that changes targets. It is ended in any case.
type Admission struct {
	schedule *Schedule
	key      callKey
	permit   *permit
}

// Admit takes a token for a call. Without one the error is Postponed, and nothing is to be ended.
func (s *Schedule) Admit(c TargetCall) (Admission, error) {
	p, err := s.take(c)
	return Admission{s, c.key(), p}, err
}

// With is the context of the call.
func (a Admission) With(ctx context.Context) context.Context { return withPermit(ctx, a.permit) }

// End is called after the call; again reports whether it is to be sent once more.
func (a Admission) End(again bool) {
	a.permit.report(Unanswered)
	a.schedule.answered(a.key, again)
}

// wait returns how long it takes until a call may be sent, if nothing more urgent comes up.
func (s *Schedule) wait(w *waitingCall, b *bucket, now time.Time) time.Duration {
	wait := b.until(now, s.ahead(w, b, now), 0)
	if b.undecided(now) {
		wait = min(wait, durations.Trial)
	}
	if last, ok := s.sent[w.callKey]; ok && b.untilTokens(now, b.burst()*3/4) > 0 {
		wait = max(wait, last.Add(spacing[w.operation]).Sub(now))
	}
	return wait
}

// ahead returns how many of the calls that wait come before one: those that are within the share of their tenant, by
// deadline, and then the others, by when they are within it. A call whose deadline was before it was within the share
// counts from then, so that a tenant with a backlog does not go before all others. What is sent changes nothing about
// the order of the others, so that each has its turn when its caller was told.
func (s *Schedule) ahead(w *waitingCall, b *bucket, now time.Time) (n int) {
	calls := make([]*waitingCall, 1, len(s.waiting)+1)
	calls[0] = w
	for key, o := range s.waiting {
		if key != w.callKey && !o.sent && !now.After(o.at.Add(durations.Reserved)) {
			calls = append(calls, o)
		}
	}
	slices.SortFunc(calls, (*waitingCall).compare)
	each := time.Duration(float64(len(s.active)) / b.rate() * float64(time.Second))
	most := time.Duration((b.burst() - 1) / b.rate() * float64(time.Second)) // the share of a full bucket
	lead, turns, own := map[queueKey]time.Duration{}, make([][2]time.Duration, len(calls)), 0
	for i, c := range calls {
		if _, ok := lead[c.tenant]; !ok {
			lead[c.tenant] = s.Limiter.lead(c.tenant, now)
		}
		within := lead[c.tenant] - most
		turns[i] = [2]time.Duration{max(within, 0), max(within, c.due.Sub(now))}
		lead[c.tenant] += each
		if c == w {
			own = i
		}
	}
	for i, turn := range turns {
		if cmp.Or(slices.Compare(turn[:], turns[own][:]), cmp.Compare(i, own)) < 0 {
			n++
		}
	}
	return n
}

// compare orders calls by deadline.
func (w *waitingCall) compare(o *waitingCall) int {
	if c := w.due.Compare(o.due); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(w.group, o.group), cmp.Compare(w.operation, o.operation))
}

// tidy forgets what is over.
func (s *Schedule) tidy(now time.Time) {
	maps.DeleteFunc(s.waiting, func(_ callKey, w *waitingCall) bool { return now.Sub(w.at) > durations.Call })
	maps.DeleteFunc(s.sent, func(k callKey, at time.Time) bool { return now.Sub(at) >= spacing[k.operation] })
	maps.DeleteFunc(s.active, func(_ queueKey, at time.Time) bool { return now.Sub(at) > durations.Recent })
}
