package ratelimit

import (
	"cmp"
	"context"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// Calls that register and deregister targets share a small token bucket of AWS. They are sent in the
// order of their deadlines, which are near for registrations, and each tenant can have its share of
// them. Deregistrations have a low priority. Long past their deadlines they have one call in lateEach, so
// that neither kind keeps the other waiting for ever where AWS admits fewer than come. A call that has
// to wait keeps no goroutine: its caller learns when to come back and does so then, with all that
// has come up for the target group meanwhile.

const (
	// lateEach is in how many calls one is for a deregistration that is late, however many
	// registrations wait.
	lateEach = 3
)

// spacing is how long calls for one target group wait for each other, so that they carry more, unless
// the bucket is nearly full.
var spacing = map[string]time.Duration{RegisterTargets: durations.Moment / 2, DeregisterTargets: durations.Moment}

const (
	RegisterTargets   = "RegisterTargets"
	DeregisterTargets = "DeregisterTargets"
)

// TargetCall is a call that is about to be made.
type TargetCall struct {
	Operation string
	Group     string // ARN
	// Tenant to whose share the call counts.
	Tenant string
	// Within is how long the call may wait from when it is first asked for.
	Within time.Duration
	// LowPriority leaves half of what is admitted to other calls, and most of it when the call is long past its deadline.
	LowPriority bool
	// Full: it carries as many targets as one call can.
	Full bool
}

type callKey struct{ operation, group string }

func (c TargetCall) key() callKey { return callKey{c.Operation, c.Group} }

// waitingCall is a call that was put off, or is sent now.
type waitingCall struct {
	callKey
	tenant      string
	due         time.Time // when it is to be sent at the latest, if AWS admits it
	at          time.Time // when it was expected to be sent
	lowPriority bool      // of low priority
	sent        bool      // and not answered yet
}

// usage is how many calls of a tenant are not yet made up for by its share.
type usage struct {
	calls float64
	seen  time.Time // when it had a call last
}

// Schedule orders the calls of one AWS account.
type Schedule struct {
	Limiter *Limiter
	buckets map[string][]*bucket // by operation

	mu      sync.Mutex // taken before that of the limiter
	waiting map[callKey]waitingCall
	sent    map[callKey]time.Time
	used    map[string]usage // by tenant
	tidied  time.Time
	rate    float64    // of the scarcest bucket, when a call came last
	passed  int        // calls that were sent since one that is late was
	recent  recentRate // of calls that are not of low priority
}

// NewSchedule orders calls above the token buckets of a limiter.
func NewSchedule(l *Limiter) *Schedule {
	s := &Schedule{Limiter: l, buckets: map[string][]*bucket{}, waiting: map[callKey]waitingCall{}, sent: map[callKey]time.Time{}, used: map[string]usage{}}
	for operation := range spacing {
		s.buckets[operation] = l.bucketsFor(services.ELB, operation)
	}
	return s
}

// take takes a token for a call. Without one the error is Postponed.
func (s *Schedule) take(c TargetCall) (*permit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Limiter.mu.Lock()
	defer s.Limiter.mu.Unlock()
	buckets := s.buckets[c.Operation]
	if len(buckets) == 0 {
		return nil, nil
	}
	now := s.Limiter.clock.Now()
	s.tidy(now)
	s.rate = s.slowest()
	w := waitingCall{callKey: c.key(), tenant: c.Tenant, due: now.Add(c.Within), lowPriority: c.LowPriority}
	if old, ok := s.waiting[w.callKey]; ok && old.due.Before(w.due) {
		w.due = old.due
	}
	u := s.used[w.tenant]
	u.seen = now
	s.used[w.tenant] = u
	var wait time.Duration
	for _, b := range buckets {
		wait = max(wait, s.wait(w, b, now))
	}
	if wait > 0 {
		w.at = now.Add(wait)
		s.waiting[w.callKey] = w
		return nil, &Postponed{Operation: c.Operation, After: wait, Reserved: true}
	}
	w.at, w.sent = now, true
	s.waiting[w.callKey] = w
	s.count(w, now)
	if !c.Full {
		s.sent[w.callKey] = now
	}
	u.calls++
	s.used[w.tenant] = u
	return s.Limiter.send(buckets, now), nil
}

// answered notes that a call was answered. One that is to be sent again is as urgent as it was.
func (s *Schedule) answered(key callKey, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.waiting[key]
	if !ok || !w.sent {
		return
	}
	if !again {
		delete(s.waiting, key)
		return
	}
	w.sent = false
	s.waiting[key] = w
}

// Admission is that of a call that changes targets. It is ended in any case.
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

// End is called after the call, and says whether it is to be sent again.
func (a Admission) End(again bool) {
	a.permit.settle(Unanswered)
	a.schedule.answered(a.key, again)
}

// slowest is the rate of the scarcest bucket.
func (s *Schedule) slowest() float64 {
	var out float64
	for _, all := range s.buckets {
		for _, b := range all {
			if out == 0 || b.rate() < out {
				out = b.rate()
			}
		}
	}
	return out
}

// wait is how long it takes until a call may be sent, if nothing more urgent comes up.
func (s *Schedule) wait(w waitingCall, b *bucket, now time.Time) time.Duration {
	burst := b.burst()
	ahead := s.ahead(w, burst, now)
	wait := b.until(now, ahead, 0)
	if b.undecided(now) {
		wait = min(wait, durations.Trial)
	}
	reserve := float64(ahead) // for the calls that are more urgent
	if over := s.overFor(w.tenant, burst); over > 0 {
		// Others find enough for what they register and deregister.
		wait = max(wait, min(b.untilTokens(now, min(1+burst*0.6, burst)+reserve), over))
	}
	if left := w.due.Sub(now); w.lowPriority && left > 0 {
		// New targets find half of the bucket: one that is not registered gets no requests.
		wait = max(wait, min(s.slowed(b.untilTokens(now, min(1+burst/2, burst)+reserve), now), left))
	}
	if last, ok := s.sent[w.callKey]; ok && b.untilTokens(now, burst*3/4) > 0 {
		wait = max(wait, last.Add(spacing[w.operation]).Sub(now))
	}
	return wait
}

// slowed is how long a call that is not overdue has to wait if more urgent calls go on to come as they do, so that
// it does not ask again and again meanwhile.
func (s *Schedule) slowed(wait time.Duration, now time.Time) time.Duration {
	if wait <= 0 {
		return 0
	}
	left := s.rate - s.recent.perSecond(now)
	if left*durations.FirstRetry.Seconds() <= s.rate*wait.Seconds() {
		return max(wait, durations.FirstRetry)
	}
	return time.Duration(float64(wait) * s.rate / left)
}

// recentRate is an exponentially weighted rate of calls.
type recentRate struct {
	calls float64
	at    time.Time
}

func (l *recentRate) perSecond(now time.Time) float64 {
	l.calls *= math.Exp(-now.Sub(l.at).Seconds() / durations.Recent.Seconds())
	l.at = now
	return l.calls / durations.Recent.Seconds()
}

// ahead is how many of the calls that wait come before one.
func (s *Schedule) ahead(w waitingCall, burst float64, now time.Time) int {
	over := s.overFor(w.tenant, burst) > 0
	others, before, late := 0, 0, 0
	for key, o := range s.waiting {
		switch {
		case key == w.callKey || o.sent || now.After(o.at.Add(durations.Reserved)):
		case (s.overFor(o.tenant, burst) > 0) != over:
			if over {
				others++ // tenants that have had less than their share
			}
		case o.late(now):
			if !w.late(now) || o.before(w) {
				late++
			}
		case w.late(now) || o.before(w):
			before++
		}
	}
	each := lateEach - 1 // of the others for each of those that are late
	if w.late(now) {
		return others + late + min(before, max((late+1)*each-s.passed, 0))
	}
	return others + before + min(late, (before+s.passed)/each)
}

// late reports whether a call of low priority is long past its deadline. Until then it is as urgent as a registration, so that few targets
// whose pods are gone stay for long.
func (w waitingCall) late(now time.Time) bool {
	return w.lowPriority && now.Sub(w.due) >= durations.Recent
}

// before orders calls by deadline.
func (w waitingCall) before(o waitingCall) bool {
	return cmp.Or(w.due.Compare(o.due), cmp.Compare(w.group, o.group), cmp.Compare(w.operation, o.operation)) < 0
}

// count notes a call that is sent.
func (s *Schedule) count(w waitingCall, now time.Time) {
	if !w.lowPriority {
		s.recent.perSecond(now)
		s.recent.calls++
	}
	if w.late(now) {
		s.passed = 0
	} else {
		s.passed = min(s.passed+1, lateEach-1)
	}
}

// overFor is for how long a tenant has had more than its share of the bucket; zero or less: it has
// not. Who is alone cannot.
func (s *Schedule) overFor(tenant string, burst float64) time.Duration {
	n := float64(len(s.used))
	if n < 2 {
		return 0
	}
	return time.Duration((s.used[tenant].calls + 1 - burst/n) / (s.rate / n) * float64(time.Second))
}

// tidy brings what is remembered up to the present. The tenants that have calls, or had some a moment
// ago, share the rate of the bucket alike.
func (s *Schedule) tidy(now time.Time) {
	maps.DeleteFunc(s.waiting, func(_ callKey, w waitingCall) bool { return now.Sub(w.at) > durations.Call })
	maps.DeleteFunc(s.sent, func(k callKey, at time.Time) bool { return now.Sub(at) >= spacing[k.operation] })
	share := s.rate / float64(max(len(s.used), 1))
	for tenant, u := range s.used {
		u.calls = max(0, u.calls-now.Sub(s.tidied).Seconds()*share)
		s.used[tenant] = u
	}
	s.tidied = now
	maps.DeleteFunc(s.used, func(_ string, u usage) bool { return u.calls < 1 && now.Sub(u.seen) > durations.Recent })
}
