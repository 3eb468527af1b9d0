package cloud

import (
	"cmp"
	"context"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// Calls that register and deregister targets share a small token bucket of AWS. They are sent in the
// order of their deadlines, which are near for registrations, and each tenant can have its share of
// them. Deregistrations yield to registrations. Long past their deadlines they have one call in lateEach, so
// that neither kind keeps the other waiting for ever where AWS admits fewer than come. A call that has
// to wait keeps no goroutine: its caller learns when it has its turn and comes back then, with all that
// has come up for the target group meanwhile.

const (
	// claimWithin is how long a call that has its turn may be late before it holds up no other.
	claimWithin = 2 * time.Second
	// waitingKept is how long the deadline of a call that did not come is remembered.
	waitingKept = time.Minute
	// trialTakes is about how long AWS takes to answer a trial.
	trialTakes = 50 * time.Millisecond
	// latelyFor is about how far calls are looked back at to tell what those to come take.
	latelyFor = 10 * time.Second
	// longestYield is when a call that yields looks again at the latest, as fewer may have come than expected.
	longestYield = 5 * time.Second
	// lateAfter is how long after its deadline a deregistration is late. Until then it is as urgent as a
	// registration, so that few targets whose pods are gone stay for long.
	lateAfter = 10 * time.Second
	// lateEach is in how many calls one is for a deregistration that is late, however many
	// registrations wait.
	lateEach = 3
	// activeFor is how long a tenant counts as one of those who share the bucket.
	activeFor = 10 * time.Second
)

// spacing is how long calls for one target group wait for each other, so that they carry more, unless
// the bucket is nearly full.
var spacing = map[string]time.Duration{registerTargets: 500 * time.Millisecond, deregisterTargets: time.Second}

const (
	registerTargets   = "RegisterTargets"
	deregisterTargets = "DeregisterTargets"
)

// targetCall is a call that is about to be made.
type targetCall struct {
	operation string
	group     string // ARN
	turn      bindings.Turn
	full      bool // it carries as many targets as one call can
}

type callKey struct{ operation, group string }

func (c targetCall) key() callKey { return callKey{c.operation, c.group} }

// waitingCall is a call that was put off, or is sent now.
type waitingCall struct {
	callKey
	tenant string
	due    time.Time // when it is to be sent at the latest, if AWS admits it
	at     time.Time // when its turn was expected
	yields bool      // to those that do not
	sent   bool      // and not answered yet
}

// usage is how many calls of a tenant are not yet made up for by its share.
type usage struct {
	calls float64
	seen  time.Time // when it had a call last
}

// schedule orders the calls of one AWS account.
type schedule struct {
	limiter *limiter
	buckets map[string][]*bucket // by operation

	mu      sync.Mutex // taken before that of the limiter
	waiting map[callKey]waitingCall
	sent    map[callKey]time.Time
	used    map[string]usage // by tenant
	tidied  time.Time
	rate    float64 // of the scarcest bucket, when a call came last
	passed  int     // calls that were sent since one that is late was
	lately  lately  // calls that do not yield
}

func newSchedule(l *limiter) *schedule {
	s := &schedule{limiter: l, buckets: map[string][]*bucket{}, waiting: map[callKey]waitingCall{}, sent: map[callKey]time.Time{}, used: map[string]usage{}}
	for operation := range spacing {
		s.buckets[operation] = l.of(serviceELB, operation)
	}
	return s
}

// take takes a token for a call. Without one the error is of class Throttled and says when the call
// has its turn.
func (s *schedule) take(c targetCall) (*permit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	buckets := s.buckets[c.operation]
	if len(buckets) == 0 {
		return nil, nil
	}
	now := s.limiter.now()
	s.tidy(now)
	s.rate = s.slowest()
	w := waitingCall{callKey: c.key(), tenant: c.turn.Tenant, due: now.Add(c.turn.Within), yields: c.turn.Yields}
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
		return nil, notNow(c.operation, wait)
	}
	w.at, w.sent = now, true
	s.waiting[w.callKey] = w
	s.count(w, now)
	if !c.full {
		s.sent[w.callKey] = now
	}
	u.calls++
	s.used[w.tenant] = u
	return s.limiter.send(buckets, now), nil
}

// answered notes what became of a call that was sent. One that AWS may take the next time is as urgent as it was.
func (s *schedule) answered(key callKey, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.waiting[key]
	if !ok || !w.sent {
		return
	}
	if class := classify(err); err == nil || class != engine.Throttled && class != engine.Unknown {
		delete(s.waiting, key)
		return
	}
	w.sent = false
	s.waiting[key] = w
}

// slowest is the rate of the scarcest bucket.
func (s *schedule) slowest() float64 {
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
func (s *schedule) wait(w waitingCall, b *bucket, now time.Time) time.Duration {
	burst := b.burst()
	ahead := s.ahead(w, burst, now)
	wait := b.until(now, ahead, 0)
	if b.undecided(now) {
		wait = min(wait, trialTakes)
	}
	reserve := float64(ahead) // for the calls that are more urgent
	if over := s.overFor(w.tenant, burst); over > 0 {
		// Others find enough for what they register and deregister.
		wait = max(wait, min(b.untilTokens(now, min(1+burst*0.6, burst)+reserve), over))
	}
	if left := w.due.Sub(now); w.yields && left > 0 {
		// New targets find half of the bucket: one that is not registered gets no requests.
		wait = max(wait, min(s.slowed(b.untilTokens(now, min(1+burst/2, burst)+reserve), now), left))
	}
	if last, ok := s.sent[w.callKey]; ok && b.untilTokens(now, burst*3/4) > 0 {
		wait = max(wait, last.Add(spacing[w.operation]).Sub(now))
	}
	return wait
}

// slowed is how long a call that is not overdue has to wait if those that it yields to go on to come as they do, so that
// it does not look again and again meanwhile.
func (s *schedule) slowed(wait time.Duration, now time.Time) time.Duration {
	if wait <= 0 {
		return 0
	}
	left := s.rate - s.lately.rate(now)
	if left*longestYield.Seconds() <= s.rate*wait.Seconds() {
		return max(wait, longestYield)
	}
	return time.Duration(float64(wait) * s.rate / left)
}

// lately counts calls, and forgets them by and by.
type lately struct {
	calls float64
	at    time.Time
}

func (l *lately) rate(now time.Time) float64 {
	l.calls *= math.Exp(-now.Sub(l.at).Seconds() / latelyFor.Seconds())
	l.at = now
	return l.calls / latelyFor.Seconds()
}

// ahead is how many of the calls that wait come before one.
func (s *schedule) ahead(w waitingCall, burst float64, now time.Time) int {
	over := s.overFor(w.tenant, burst) > 0
	others, before, late := 0, 0, 0
	for key, o := range s.waiting {
		switch {
		case key == w.callKey || o.sent || now.After(o.at.Add(claimWithin)):
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
	turns := lateEach - 1 // of the others for each of those that are late
	if w.late(now) {
		return others + late + min(before, max((late+1)*turns-s.passed, 0))
	}
	return others + before + min(late, (before+s.passed)/turns)
}

// late reports whether a call that yields is long past its deadline.
func (w waitingCall) late(now time.Time) bool { return w.yields && now.Sub(w.due) >= lateAfter }

// before orders calls by deadline.
func (w waitingCall) before(o waitingCall) bool {
	return cmp.Or(w.due.Compare(o.due), cmp.Compare(w.group, o.group), cmp.Compare(w.operation, o.operation)) < 0
}

// count notes a call that is sent.
func (s *schedule) count(w waitingCall, now time.Time) {
	if !w.yields {
		s.lately.rate(now)
		s.lately.calls++
	}
	if w.late(now) {
		s.passed = 0
	} else {
		s.passed = min(s.passed+1, lateEach-1)
	}
}

// overFor is for how long a tenant has had more than its share of the bucket; zero or less: it has
// not. Who is alone cannot.
func (s *schedule) overFor(tenant string, burst float64) time.Duration {
	n := float64(len(s.used))
	if n < 2 {
		return 0
	}
	return time.Duration((s.used[tenant].calls + 1 - burst/n) / (s.rate / n) * float64(time.Second))
}

// tidy brings what is remembered up to the present. The tenants that have calls, or had some a moment
// ago, share the rate of the bucket alike.
func (s *schedule) tidy(now time.Time) {
	maps.DeleteFunc(s.waiting, func(_ callKey, w waitingCall) bool { return now.Sub(w.at) > waitingKept })
	maps.DeleteFunc(s.sent, func(k callKey, at time.Time) bool { return now.Sub(at) >= spacing[k.operation] })
	share := s.rate / float64(max(len(s.used), 1))
	for tenant, u := range s.used {
		u.calls = max(0, u.calls-now.Sub(s.tidied).Seconds()*share)
		s.used[tenant] = u
	}
	s.tidied = now
	maps.DeleteFunc(s.used, func(_ string, u usage) bool { return u.calls < 1 && now.Sub(u.seen) > activeFor })
}

// accountLimits are those of all accounts. AWS's limits are those of an account, whichever role makes
// a call.
type accountLimits struct {
	own *schedule

	mu         sync.Mutex
	ownAccount string               // id, once it is known
	others     map[string]*schedule // by id of the account
}

// schedule of the account whose target groups are changed.
func (t targetGroups) schedule(arn string) *schedule {
	if t.account.Role == "" {
		// What the controller's own rights reach is of its account.
		l := &t.limits
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ownAccount = cmp.Or(l.ownAccount, accountOfARN(arn))
		return l.own
	}
	return t.limitsOf(t.account)
}

// limitsOf are the limits of the account of a role.
func (t *targets) limitsOf(a bindings.Account) *schedule {
	l := &t.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	id := accountOfARN(a.Role)
	if id == l.ownAccount {
		return l.own
	}
	if l.others == nil {
		l.others = map[string]*schedule{}
	}
	if l.others[id] == nil {
		l.others[id] = newSchedule(newLimiter(t.cfg.TokenBuckets, t.cfg.Now, t.cfg.MaxWait))
	}
	return l.others[id]
}

// admitted is a call that changes targets and has its turn. It is ended in any case.
type admitted struct {
	schedule *schedule
	key      callKey
	permit   *permit
}

// takeTurn takes a token for a call that changes targets.
func (t targetGroups) takeTurn(operation, arn string, turn bindings.Turn, targets int) (admitted, error) {
	a := admitted{schedule: t.schedule(arn), key: callKey{operation, arn}}
	var err error
	a.permit, err = a.schedule.take(targetCall{operation, arn, turn, targets >= bindings.MaxTargets})
	return a, err
}

// with is the context of the call.
func (a admitted) with(ctx context.Context) context.Context { return withPermit(ctx, a.permit) }

// end is called after the call, with its error.
func (a admitted) end(err error) {
	a.permit.settle(unanswered)
	a.schedule.answered(a.key, err)
}

// accountOfARN is the id of the account in an ARN, "" if there is none.
func accountOfARN(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}
