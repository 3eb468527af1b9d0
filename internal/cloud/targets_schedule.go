package cloud

import (
	"cmp"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// Calls that register and deregister targets share a small token bucket of AWS. They are sent in the
// order of their deadlines, and each tenant can have its share of them. A call that has to wait keeps
// no goroutine: its caller learns when it has its turn and comes back then, with all that has come
// up for the target group meanwhile.

const (
	// claimWithin is how long a call that has its turn may be late before it holds up no other.
	claimWithin = 2 * time.Second
	// waitingKept is how long the deadline of a call that did not come is remembered.
	waitingKept = time.Minute
	// trialTakes is about how long AWS takes to answer a trial.
	trialTakes = 50 * time.Millisecond
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

// waitingCall is a call that was put off.
type waitingCall struct {
	callKey
	tenant string
	due    time.Time // when it is to be sent at the latest, if AWS admits it
	at     time.Time // when its turn was expected
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
	w := waitingCall{callKey: c.key(), tenant: c.turn.Tenant, due: now.Add(c.turn.Within)}
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
	delete(s.waiting, w.callKey)
	if !c.full {
		s.sent[w.callKey] = now
	}
	u.calls++
	s.used[w.tenant] = u
	return s.limiter.send(buckets, now), nil
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
	burst, ahead := b.burst(), 0
	for key, o := range s.waiting {
		if key != w.callKey && !now.After(o.at.Add(claimWithin)) && s.before(o, w, burst) {
			ahead++
		}
	}
	wait := b.until(now, ahead, 0)
	if b.undecided(now) {
		wait = min(wait, trialTakes)
	}
	reserve := float64(ahead) // for the calls that are more urgent
	if over := s.overFor(w.tenant, burst); over > 0 {
		// Others find enough for what they register and deregister.
		wait = max(wait, min(b.untilTokens(now, min(1+burst*0.6, burst)+reserve), over))
	}
	if left := w.due.Sub(now); w.operation == deregisterTargets && left > 0 {
		// New targets find half of the bucket: one that is not registered gets no requests.
		wait = max(wait, min(b.untilTokens(now, min(1+burst/2, burst)+reserve), left))
	}
	if last, ok := s.sent[w.callKey]; ok && b.untilTokens(now, burst*3/4) > 0 {
		wait = max(wait, last.Add(spacing[w.operation]).Sub(now))
	}
	return wait
}

// before orders the calls that wait: those of tenants that have had less than their share, then by
// deadline.
func (s *schedule) before(a, b waitingCall, burst float64) bool {
	if x, y := s.overFor(a.tenant, burst) > 0, s.overFor(b.tenant, burst) > 0; x != y {
		return y
	}
	return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.group, b.group), cmp.Compare(a.operation, b.operation)) < 0
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

// takeTurn takes a token for a call that changes targets. The permit is for the context of the call,
// and is to be settled if the call is not made.
func (t targetGroups) takeTurn(operation, arn string, turn bindings.Turn, targets int) (*permit, error) {
	return t.schedule(arn).take(targetCall{operation, arn, turn, targets >= bindings.MaxTargets})
}

// accountOfARN is the id of the account in an ARN, "" if there is none.
func accountOfARN(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}
