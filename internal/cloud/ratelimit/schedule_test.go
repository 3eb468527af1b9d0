package ratelimit

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// testSchedule is a schedule with a clock that stands still between steps.
type testSchedule struct {
	*Schedule
	at time.Time
}

func newTestSchedule(rate float64, burst int) *testSchedule {
	t := &testSchedule{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	t.Schedule = NewSchedule(NewLimiter([]TokenBucket{{Service: services.ELB, Operation: regexp.MustCompile("Targets$"), Rate: rate, Burst: burst, Fixed: true}}, testclock.Of(&t.at), 0))
	return t
}

// ask asks for a call and returns how long it has to wait; zero: it is sent.
func (t *testSchedule) ask(operation, tenant, group string) time.Duration {
	within := time.Second
	if operation == DeregisterTargets {
		within = 25 * time.Second
	}
	_, err := t.take(TargetCall{Operation: operation, Group: group, Tenant: tenant, Within: within})
	var put *Postponed
	if errors.As(err, &put) {
		return put.RetryAfter()
	}
	t.answered(callKey{operation, group}, false)
	return 0
}

// drain uses up the bucket.
func (t *testSchedule) drain(tenant string) {
	for i := range 1000 {
		if t.ask(RegisterTargets, tenant, fmt.Sprint("drain", i)) > 0 {
			delete(t.waiting, callKey{RegisterTargets, fmt.Sprint("drain", i)})
			return
		}
	}
}

// sent runs callers that ask until their calls are sent, each when it has to come, and returns
// when the calls were sent after the start, in order.
func (t *testSchedule) sent(calls ...[3]string) []string {
	type caller struct {
		call [3]string
		due  time.Duration
	}
	var all []caller
	for _, c := range calls {
		all = append(all, caller{call: c})
	}
	var out []string
	for start := t.at; len(all) > 0; {
		best := 0
		for i := range all {
			if all[i].due < all[best].due {
				best = i
			}
		}
		t.at = start.Add(all[best].due)
		c := all[best].call
		if wait := t.ask(c[0], c[1], c[2]); wait > 0 {
			all[best].due += wait
			continue
		}
		out = append(out, c[2])
		all = append(all[:best], all[best+1:]...)
	}
	return out
}

func TestADeregistrationThatIsOverdueGoesFirst(t *testing.T) {
	s := newTestSchedule(4, 20)
	s.drain("shop")
	s.ask(DeregisterTargets, "shop", "old")
	s.at = s.at.Add(10 * time.Second)
	s.drain("shop")
	s.ask(DeregisterTargets, "shop", "late")
	s.at = s.at.Add(14900 * time.Millisecond) // the old one is all but due
	s.drain("shop")
	s.ask(DeregisterTargets, "shop", "old")
	s.at = s.at.Add(200 * time.Millisecond)
	got := s.sent([3]string{DeregisterTargets, "shop", "late"}, [3]string{RegisterTargets, "shop", "new"}, [3]string{DeregisterTargets, "shop", "old"})
	if fmt.Sprint(got) != "[old new late]" {
		t.Errorf("sent in the order %v", got)
	}
}

// Registrations come first until a deregistration is due, and it leaves in time all the same.
func TestDeregistrationsYieldUntilTheyAreDue(t *testing.T) {
	s := newTestSchedule(4, 20)
	s.drain("shop")
	start, late := s.at, time.Duration(0)
	waiting := []int{0, 1, 2}
	for i := range 4 * 60 { // a minute of all that AWS admits
		s.at = start.Add(time.Duration(i) * 260 * time.Millisecond)
		for j, n := range waiting {
			switch wait := s.ask(RegisterTargets, "shop", fmt.Sprint("new", n)); {
			case wait == 0:
				waiting[j] += len(waiting)
			case wait > time.Second:
				t.Fatalf("a registration waits for %v", wait)
			}
		}
		if late == 0 && s.ask(DeregisterTargets, "shop", "gone") == 0 {
			late = s.at.Sub(start)
		}
	}
	if late < 24*time.Second || late > 27*time.Second {
		t.Errorf("the deregistration was sent after %v", late)
	}
}

func TestATenantThatFloodsDelaysNoOther(t *testing.T) {
	s := newTestSchedule(4, 20)
	start := s.at
	for i := range 4 * 60 {
		s.at = start.Add(time.Duration(i) * 250 * time.Millisecond)
		for j := range 50 {
			s.ask(RegisterTargets, "flood", fmt.Sprint("f", i%7, j))
			s.ask(DeregisterTargets, "flood", fmt.Sprint("f", i%7, j))
		}
		if i%8 != 0 { // the victim has a call of each kind every two seconds
			continue
		}
		if wait := s.ask(RegisterTargets, "victim", fmt.Sprint("v", i)); wait > 300*time.Millisecond {
			t.Errorf("after %v a registration waits for %v", s.at.Sub(start), wait)
		}
		if wait := s.ask(DeregisterTargets, "victim", fmt.Sprint("v", i)); wait > 25*time.Second {
			t.Errorf("after %v a deregistration waits for %v", s.at.Sub(start), wait)
		}
	}
}

// The rate that AWS admits is used in full, whoever asks.
func TestNothingOfTheBucketIsLeftUnused(t *testing.T) {
	for name, tenants := range map[string]int{"one tenant": 1, "two tenants": 2, "thirty tenants": 30} {
		s := newTestSchedule(4, 20)
		start, sent := s.at, 0
		for i := range 4 * 60 {
			s.at = start.Add(time.Duration(i) * 250 * time.Millisecond)
			for j := range 60 {
				if s.ask(RegisterTargets, fmt.Sprint("t", j%tenants), fmt.Sprint("g", j)) == 0 {
					sent++
				}
			}
		}
		if sent < 235 || sent > 260 {
			t.Errorf("%s: %d calls in a minute, AWS admits 20 and 240", name, sent)
		}
	}
}

// Calls for one target group come together while the bucket is not full.
func TestCallsForOneTargetGroupAreSpaced(t *testing.T) {
	s := newTestSchedule(4, 20)
	s.drain("shop")
	start, sent := s.at, 0
	for i := range 50 {
		s.at = start.Add(time.Duration(i) * 100 * time.Millisecond)
		if s.ask(RegisterTargets, "shop", "one") == 0 {
			sent++
		}
	}
	if sent != 10 {
		t.Errorf("%d calls in five seconds for one target group", sent)
	}
	s.sent([3]string{RegisterTargets, "shop", "one"})
	full := TargetCall{Operation: RegisterTargets, Group: "large", Tenant: "shop", Within: time.Second, Full: true}
	for i := range 5 {
		if _, err := s.take(full); err != nil {
			t.Errorf("part %d of a change that one call cannot carry waits: %v", i, err)
		}
	}
}

// A caller that does not come back holds up no other.
func TestACallThatNeverComesIsPassedOver(t *testing.T) {
	s := newTestSchedule(1, 1)
	s.drain("shop")
	for i := range 5 {
		s.ask(RegisterTargets, "shop", fmt.Sprint("lost", i))
	}
	start := s.at
	s.sent([3]string{RegisterTargets, "shop", "here"})
	if took := s.at.Sub(start); took > 9*time.Second {
		t.Errorf("sent after %v", took)
	}
}

func TestEveryCallIsSentInTheEnd(t *testing.T) {
	for name, s := range map[string]*testSchedule{"a small bucket": newTestSchedule(0.5, 1), "the usual one": newTestSchedule(4, 20)} {
		s.drain("a")
		var calls [][3]string
		for i := range 40 {
			calls = append(calls, [3]string{RegisterTargets, fmt.Sprint("t", i%3), fmt.Sprint("r", i)}, [3]string{DeregisterTargets, fmt.Sprint("t", i%3), fmt.Sprint("d", i)})
		}
		if got := s.sent(calls...); len(got) != 80 {
			t.Errorf("%s: %d calls were sent", name, len(got))
		}
	}
}
