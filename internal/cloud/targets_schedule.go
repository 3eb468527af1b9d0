package cloud

import (
	"cmp"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// Calls that register and deregister targets share a small token bucket of AWS. They are sent in the
// order of their deadlines, and each tenant can have its share of them. A call that has to wait keeps
// no goroutine: its caller is told when it has its turn and comes back then, with all that has come
// up for the target group meanwhile.

const (
	// claimWithin is how long a call that has its turn may be late before it holds up no other.
	claimWithin = 2 * time.Second
	// waitingKept is how long the deadline of a call that did not come is remembered.
	waitingKept = time.Minute
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

// scheduled reports whether calls of an operation take their turn here, and not from the pacer.
func scheduled(service, operation string) bool {
	return service == serviceELB && spacing[operation] > 0
}

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
	now func() time.Time

	mu      sync.Mutex
	buckets map[string][]*bucket // by operation
	waiting map[callKey]waitingCall
	sent    map[callKey]time.Time
	used    map[string]usage // by tenant
	tidied  time.Time
	rate    float64 // of the scarcest bucket
}

func newSchedule(table []Pace, now func() time.Time) *schedule {
	s := &schedule{now: now, buckets: map[string][]*bucket{}, waiting: map[callKey]waitingCall{}, sent: map[callKey]time.Time{}, used: map[string]usage{}}
	for _, e := range table {
		b := &bucket{Pace: e}
		for operation := range spacing {
			if e.Service == serviceELB && e.Operation.MatchString(operation) {
				s.buckets[operation] = append(s.buckets[operation], b)
				if s.rate == 0 || e.Rate < s.rate {
					s.rate = e.Rate
				}
			}
		}
	}
	return s
}

// take takes a token for a call. Without one the error is of class Throttled and says when the call
// has its turn.
func (s *schedule) take(c targetCall) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	buckets := s.buckets[c.operation]
	if len(buckets) == 0 {
		return nil
	}
	now := s.now()
	s.tidy(now)
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
		return &Error{What: c.operation, class: engine.Throttled, after: wait, err: errors.New("put off, to keep below AWS's limits")}
	}
	for _, b := range buckets {
		b.spend()
	}
	delete(s.waiting, w.callKey)
	if !c.full {
		s.sent[w.callKey] = now
	}
	u.calls++
	s.used[w.tenant] = u
	return nil
}

// wait is how long it takes until a call may be sent, if nothing more urgent comes up.
func (s *schedule) wait(w waitingCall, b *bucket, now time.Time) time.Duration {
	burst, ahead := float64(b.Burst), 0.0
	for key, o := range s.waiting {
		if key != w.callKey && !now.After(o.at.Add(claimWithin)) && s.before(o, w, burst) {
			ahead++
		}
	}
	wait := b.until(now, 1+ahead)
	if over := s.overFor(w.tenant, burst); over > 0 {
		// Others find enough for what they register and deregister.
		wait = max(wait, min(b.until(now, min(1+burst*0.6, burst)+ahead), over))
	}
	if left := w.due.Sub(now); w.operation == deregisterTargets && left > 0 {
		// New targets find half of the bucket: one that is not registered gets no requests.
		wait = max(wait, min(b.until(now, min(1+burst/2, burst)+ahead), left))
	}
	if last, ok := s.sent[w.callKey]; ok && b.until(now, burst*3/4) > 0 {
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

// schedules are those of all accounts. AWS's limits are those of an account, whichever role makes a
// call.
type schedules struct {
	own *schedule

	mu         sync.Mutex
	ownAccount string               // id, once it is known
	others     map[string]*schedule // by id of the account
}

// schedule of the account whose target groups are changed.
func (t targetGroups) schedule(arn string) *schedule {
	s := &t.c.schedules
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.account.Role == "" {
		// What the controller's own rights reach is of its account.
		s.ownAccount = cmp.Or(s.ownAccount, accountOfARN(arn))
		return s.own
	}
	id := accountOfARN(t.account.Role)
	if id == s.ownAccount {
		return s.own
	}
	if s.others == nil {
		s.others = map[string]*schedule{}
	}
	if s.others[id] == nil {
		s.others[id] = newSchedule(t.c.cfg.Paces, t.c.cfg.Now)
	}
	return s.others[id]
}

// takeTurn takes a token for a call that changes targets.
func (t targetGroups) takeTurn(operation, arn string, turn bindings.Turn, targets int) error {
	return t.schedule(arn).take(targetCall{operation, arn, turn, targets >= bindings.MaxTargets})
}

// accountOfARN is the id of the account in an ARN, "" if there is none.
func accountOfARN(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}
