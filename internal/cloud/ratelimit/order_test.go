package ratelimit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// manyCallers makes calls concurrently in virtual time. Each caller tries again at the time that the schedule has returned.
type manyCallers struct {
	t *testing.T
	*Schedule
	random       *rand.Rand
	awsThrottles bool // whether AWS throttles one call in five

	mu                   sync.Mutex
	unsent               map[callKey]TargetCall // calls that were not sent yet
	waitingSince         map[callKey]time.Time
	longestOverdue       time.Duration // the longest time that a deregistration was overdue
	longestWait          time.Duration // the longest wait of a registration
	calls                int           // the number of calls that AWS accepted
	sentCalls            int           // the number of calls that were sent
	earlyDeregistrations int           // deregistrations that were sent although there were fewer tokens than waiting registrations
}

const callsRate, callsBurst = 4.0, 20

func newManyCallers(t *testing.T, seed uint64, faulty bool) *manyCallers {
	pace := TokenBucket{Service: services.ELB, Operation: regexp.MustCompile("Targets$"), Rate: callsRate, Burst: callsBurst, Fixed: true}
	return &manyCallers{
		t: t, Schedule: NewSchedule(NewLimiter([]TokenBucket{pace}, clock.RealClock{}, 0)), random: rand.New(rand.NewPCG(seed, 1)), awsThrottles: faulty,
		unsent: map[callKey]TargetCall{}, waitingSince: map[callKey]time.Time{},
	}
}

// makeUntilAccepted makes a call as soon as the schedule admits it, and repeats the call until AWS accepts it.
func (c *manyCallers) makeUntilAccepted(call TargetCall) {
	c.mu.Lock()
	c.unsent[call.key()], c.waitingSince[call.key()] = call, time.Now()
	c.mu.Unlock()
	for {
		c.mu.Lock()
		p, err := c.reserveToken(call)
		if err == nil {
			c.checkOrder(call)
		}
		fails := c.awsThrottles && c.random.IntN(5) == 0
		c.mu.Unlock()
		var put *PostponedError
		switch {
		case errors.As(err, &put):
			time.Sleep(put.RetryAfter())
			continue
		case err != nil:
			c.t.Error(err)
			return
		}
		time.Sleep(30 * time.Millisecond)
		p.report(Unanswered)
		if !fails {
			c.recordAnswer(call.key(), false)
			c.mu.Lock()
			c.calls++
			c.mu.Unlock()
			return
		}
		c.recordAnswer(call.key(), true)
		c.mu.Lock()
		c.unsent[call.key()] = call
		c.mu.Unlock()
		time.Sleep(100 * time.Millisecond)
	}
}

// checkOrder checks that a deregistration is not sent before it is due if the tokens do not suffice for the waiting
// registrations. The caller holds the lock.
func (c *manyCallers) checkOrder(call TargetCall) {
	delete(c.unsent, call.key())
	c.sentCalls++
	now, wait := time.Now(), 0
	for key, o := range c.unsent {
		c.Limiter.mu.Lock()
		w, put := c.waiting[key]
		c.Limiter.mu.Unlock()
		if put && o.Operation == RegisterTargets && !now.After(w.expectedAt.Add(durations.ReservationHold)) && !now.Before(c.waitingSince[key].Add(100*time.Millisecond)) {
			wait++
		}
	}
	age := now.Sub(c.waitingSince[call.key()])
	if call.Operation == RegisterTargets {
		c.longestWait = max(c.longestWait, age)
		return
	}
	over := age - call.MaxDelay
	c.longestOverdue = max(c.longestOverdue, over)
	tokens := c.buckets[call.Operation][0].tokens // after the token of this call was taken
	if tokens < float64(wait) {
		if over < -time.Second { // a registration that arrives now is due in a second
			c.t.Errorf("a deregistration that is not due is sent while %d registrations wait and %.1f tokens are left", wait, tokens)
		}
		c.earlyDeregistrations++
	}
}

// TestRegistrationsPrecedeDeregistrations makes more registrations and deregistrations than AWS admits, for two minutes. It
// checks that a registration waits only for deregistrations that are due, that each deregistration is sent within a bound
// that depends on the number of calls, and that every call is sent, also if AWS throttles some calls.
func TestRegistrationsPrecedeDeregistrations(t *testing.T) {
	t.Parallel()
	for _, faulty := range []bool{false, true} {
		for seed := range uint64(5) {
			synctest.Test(t, func(t *testing.T) {
				c := newManyCallers(t, seed, faulty)
				// The callers use c.random concurrently, so this generator is a separate one.
				arrivals := rand.New(rand.NewPCG(seed, 2))
				var all sync.WaitGroup
				registrations, deregistrations := 0, 0
				for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
					call := TargetCall{Operation: RegisterTargets, Tenant: "shop", MaxDelay: time.Second}
					if arrivals.IntN(2) == 0 {
						within := []time.Duration{25 * time.Second, 45 * time.Second}[arrivals.IntN(2)]
						call = TargetCall{Operation: DeregisterTargets, Tenant: "shop", MaxDelay: within}
						deregistrations++
					} else {
						registrations++
					}
					call.TargetGroup = fmt.Sprint(call.Operation, registrations, deregistrations)
					all.Go(func() { c.makeUntilAccepted(call) })
					time.Sleep(time.Duration(arrivals.ExpFloat64() * float64(time.Second) / 6.5))
				}
				all.Wait()
				if c.calls != registrations+deregistrations {
					t.Errorf("seed %d: %d of %d calls were sent", seed, c.calls, registrations+deregistrations)
				}
				// In the worst case a deregistration waits for all other calls that arrive within the two minutes.
				bound := time.Duration(float64(c.sentCalls)/callsRate*float64(time.Second)) - 2*time.Minute + durations.FirstRetry
				if c.longestOverdue > bound {
					t.Errorf("seed %d: a deregistration was overdue for %v, more than %v", seed, c.longestOverdue, bound)
				}
				t.Logf("seed %d, faulty %v: %d registrations within %v, %d deregistrations overdue for %v at most, %d of them sent before registrations",
					seed, faulty, registrations, c.longestWait, deregistrations, c.longestOverdue, c.earlyDeregistrations)
			})
		}
	}
}

// TestAThrottledCallKeepsItsDeadline checks that a call that AWS throttled keeps its deadline when it is retried.
func TestAThrottledCallKeepsItsDeadline(t *testing.T) {
	for _, again := range []bool{true, false} {
		s := newTestSchedule(4, 20)
		call := TargetCall{Operation: DeregisterTargets, TargetGroup: "a", Tenant: "shop", MaxDelay: 25 * time.Second}
		due := s.now.Add(call.MaxDelay)
		if _, err := s.reserveToken(call); err != nil {
			t.Fatal(err)
		}
		s.recordAnswer(call.key(), again)
		s.now = s.now.Add(20 * time.Second)
		s.drainBucket("shop")
		if _, err := s.reserveToken(call); err == nil {
			t.Fatal("the call is admitted although the bucket is empty")
		}
		if got := s.waiting[call.key()].deadline.Equal(due); got != again {
			t.Errorf("made again: %v, deadline kept: %v", again, got)
		}
	}
}
