package ratelimit

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// testSchedule is a Schedule whose clock only the test advances.
type testSchedule struct {
	*Schedule
	now time.Time
}

func newTestSchedule(rate float64, burst int) *testSchedule {
	t := &testSchedule{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	t.Schedule = NewSchedule(NewLimiter([]TokenBucket{{Service: services.ELB, Operation: regexp.MustCompile("Targets$"), Rate: rate, Burst: burst, Fixed: true}}, testclock.FromVariable(&t.now), 0))
	return t
}

// reserve requests the admission of a call, and returns how long the call must wait. Zero means that the call is sent and
// answered.
func (t *testSchedule) reserve(operation, tenant, group string) time.Duration {
	within := time.Second
	if operation == DeregisterTargets {
		within = 25 * time.Second
	}
	_, err := t.reserveToken(TargetCall{Operation: operation, TargetGroup: group, Tenant: tenant, MaxDelay: within})
	var put *PostponedError
	if errors.As(err, &put) {
		return put.RetryAfter()
	}
	t.recordAnswer(callKey{operation, group}, false)
	return 0
}

// drainBucket takes all tokens of the bucket.
func (t *testSchedule) drainBucket(tenant string) {
	for i := range 1000 {
		if t.reserve(RegisterTargets, tenant, fmt.Sprint("drain", i)) > 0 {
			delete(t.waiting, callKey{RegisterTargets, fmt.Sprint("drain", i)})
			return
		}
	}
}

// caller requests a call repeatedly, each time after the wait that the schedule returned, until the call is sent.
type caller struct {
	operation, tenant, group string
	firstAt                  time.Duration // time from the start to the first request
	repeats                  bool          // whether the next call is requested a second after a call is sent
}

// runCallers runs callers until the calls of all callers without repeats are sent, for half an hour at most. It returns
// these callers in the order in which their calls are sent, and how long each of them waited.
func (t *testSchedule) runCallers(callers []caller) (sent []caller, waited []time.Duration) {
	left, next := 0, make([]time.Duration, len(callers))
	for i, c := range callers {
		next[i] = c.firstAt
		if !c.repeats {
			left++
		}
	}
	for start := t.now; left > 0; {
		i := 0
		for j := range next {
			if next[j] < next[i] {
				i = j
			}
		}
		at, c := next[i], callers[i]
		if at > 30*time.Minute {
			break
		}
		t.now = start.Add(at)
		if wait := t.reserve(c.operation, c.tenant, c.group); wait > 0 {
			next[i] += wait
			continue
		}
		if c.repeats {
			next[i] += time.Second
			continue
		}
		left--
		next[i] = time.Hour
		sent, waited = append(sent, c), append(waited, at-c.firstAt)
	}
	return sent, waited
}

// sendOrder runs a caller for each call, which is requested now, and returns the target groups in the order in which the
// calls are sent. A call is an operation, a tenant and a target group.
func (t *testSchedule) sendOrder(calls ...[3]string) (out []string) {
	var callers []caller
	for _, c := range calls {
		callers = append(callers, caller{operation: c[0], tenant: c[1], group: c[2]})
	}
	sent, _ := t.runCallers(callers)
	for _, c := range sent {
		out = append(out, c.group)
	}
	return out
}

func TestAnOverdueDeregistrationIsSentFirst(t *testing.T) {
	s := newTestSchedule(4, 20)
	s.drainBucket("shop")
	s.reserve(DeregisterTargets, "shop", "old")
	s.now = s.now.Add(10 * time.Second)
	s.drainBucket("shop")
	s.reserve(DeregisterTargets, "shop", "late")
	s.now = s.now.Add(14900 * time.Millisecond) // the deregistration of "old" is almost due
	s.drainBucket("shop")
	s.reserve(DeregisterTargets, "shop", "old")
	s.now = s.now.Add(200 * time.Millisecond)
	got := s.sendOrder([3]string{DeregisterTargets, "shop", "late"}, [3]string{RegisterTargets, "shop", "new"}, [3]string{DeregisterTargets, "shop", "old"})
	if fmt.Sprint(got) != "[old new late]" {
		t.Errorf("sent in the order %v", got)
	}
}

// TestDeregistrationsWaitUntilTheyAreDue checks that registrations are sent first until a deregistration is due. The
// deregistration is then sent within seconds.
func TestDeregistrationsWaitUntilTheyAreDue(t *testing.T) {
	s := newTestSchedule(4, 20)
	s.drainBucket("shop")
	start, late := s.now, time.Duration(0)
	waiting := []int{0, 1, 2}
	for i := range 4 * 60 { // for a minute, as many calls as AWS admits
		s.now = start.Add(time.Duration(i) * 260 * time.Millisecond)
		for j, n := range waiting {
			switch wait := s.reserve(RegisterTargets, "shop", fmt.Sprint("new", n)); {
			case wait == 0:
				waiting[j] += len(waiting)
			case wait > time.Second:
				t.Fatalf("a registration waits for %v", wait)
			}
		}
		if late == 0 && s.reserve(DeregisterTargets, "shop", "gone") == 0 {
			late = s.now.Sub(start)
		}
	}
	if late < 24*time.Second || late > 27*time.Second {
		t.Errorf("the deregistration was sent after %v", late)
	}
}

func TestATenantWithManyCallsDelaysNoOtherTenant(t *testing.T) {
	s := newTestSchedule(4, 20)
	start := s.now
	for i := range 4 * 60 {
		s.now = start.Add(time.Duration(i) * 250 * time.Millisecond)
		for j := range 50 {
			s.reserve(RegisterTargets, "flood", fmt.Sprint("f", i%7, j))
			s.reserve(DeregisterTargets, "flood", fmt.Sprint("f", i%7, j))
		}
		if i%8 != 0 { // the victim makes a call of each kind every two seconds
			continue
		}
		if wait := s.reserve(RegisterTargets, "victim", fmt.Sprint("v", i)); wait > 300*time.Millisecond {
			t.Errorf("after %v a registration waits for %v", s.now.Sub(start), wait)
		}
		if wait := s.reserve(DeregisterTargets, "victim", fmt.Sprint("v", i)); wait > 25*time.Second {
			t.Errorf("after %v a deregistration waits for %v", s.now.Sub(start), wait)
		}
	}
}

// TestATenantWithinItsShareWaitsForNoBacklog checks that a tenant within its share waits only for calls of other tenants
// that are within their shares, and not for the rest of their calls.
func TestATenantWithinItsShareWaitsForNoBacklog(t *testing.T) {
	for name, c := range map[string]struct {
		tenants, groups int           // of the flooding tenants
		each            time.Duration // time between calls of each kind by the victim
		most            time.Duration // the longest wait of a registration
	}{
		"one tenant with many target groups": {1, 200, 1200 * time.Millisecond, time.Second},
		// The victim and 20 tenants share 4 calls per second. The second call of the victim is therefore within its share
		// after 5.25 s. Each other tenant may send one call in that time.
		"many tenants": {20, 10, 12 * time.Second, 11 * time.Second},
	} {
		s := newTestSchedule(4, 20)
		var callers []caller
		for _, operation := range []string{RegisterTargets, DeregisterTargets} {
			for i := range c.tenants * c.groups {
				callers = append(callers, caller{operation, fmt.Sprint("flood", i%c.tenants), fmt.Sprint("flood", i), 0, true})
			}
			for i := range 30 {
				callers = append(callers, caller{operation, "victim", fmt.Sprint("victim", i), time.Minute + time.Duration(i)*c.each, false})
			}
		}
		sent, waited := s.runCallers(callers)
		if len(sent) != 60 {
			t.Errorf("%s: %d of 60 calls of the victim are sent", name, len(sent))
		}
		for i, call := range sent {
			if most := map[string]time.Duration{RegisterTargets: c.most, DeregisterTargets: 25*time.Second + c.most}[call.operation]; waited[i] > most {
				t.Errorf("%s: %s of the victim waits for %v", name, call.operation, waited[i])
			}
		}
	}
}

// TestABurstWaitsForItsOwnShare checks that the calls of a burst wait until they are within the share of their tenant, but
// not for the backlog of other tenants.
func TestABurstWaitsForItsOwnShare(t *testing.T) {
	s := newTestSchedule(4, 20)
	var callers []caller
	for i := range 200 {
		callers = append(callers, caller{RegisterTargets, "flood", fmt.Sprint("flood", i), 0, true})
	}
	for i := range 40 { // 20 s at 2 calls per second
		callers = append(callers, caller{RegisterTargets, "victim", fmt.Sprint("victim", i), time.Minute, false})
	}
	sent, waited := s.runCallers(callers)
	if len(sent) != 40 || waited[len(sent)-1] > 21*time.Second {
		t.Errorf("of 40 calls that come at once %d are sent, the last after %v", len(sent), waited)
	}
}

// TestConcurrentTenantsUseTheFullRate checks that concurrent calls of many tenants are sent at the rate that AWS admits, if
// each caller waits exactly as long as the schedule returned.
func TestConcurrentTenantsUseTheFullRate(t *testing.T) {
	s := newTestSchedule(4, 20)
	var callers []caller
	for i := range 60 {
		for j := range 5 {
			callers = append(callers, caller{RegisterTargets, fmt.Sprint("t", i), fmt.Sprint("t", i, "-", j), 0, false})
		}
	}
	sent, waited := s.runCallers(callers)
	if len(sent) != 300 || waited[len(sent)-1] > 75*time.Second { // a burst of 20, then 280 at 4 per second
		t.Errorf("%d of 300 calls are sent, the last after %v", len(sent), waited[len(sent)-1])
	}
}

// TestTenantsWithoutCallsHaveNoShare checks that the share of a tenant depends only on the tenants that make calls now, and
// not on tenants that made calls earlier.
func TestTenantsWithoutCallsHaveNoShare(t *testing.T) {
	s := newTestSchedule(4, 20)
	var callers []caller
	for i := range 200 {
		callers = append(callers, caller{RegisterTargets, fmt.Sprint("once", i), fmt.Sprint("once", i), time.Duration(i) * 255 * time.Millisecond, false})
	}
	for i := range 120 {
		callers = append(callers, caller{RegisterTargets, "victim", fmt.Sprint("victim", i), 65*time.Second + time.Duration(i)*time.Second, false})
	}
	for i := range 100 {
		callers = append(callers, caller{RegisterTargets, "flood", fmt.Sprint("flood", i), 100 * time.Second, true})
	}
	sent, waited := s.runCallers(callers)
	if len(sent) != 320 || slices.Max(waited) > time.Second {
		t.Errorf("of 320 calls %d are sent, within %v", len(sent), slices.Max(waited))
	}
}

// TestTheFullRateIsUsed checks that one or many tenants use the full rate that AWS admits.
func TestTheFullRateIsUsed(t *testing.T) {
	for name, tenants := range map[string]int{"one tenant": 1, "two tenants": 2, "thirty tenants": 30} {
		s := newTestSchedule(4, 20)
		start, sent := s.now, 0
		for i := range 4 * 60 {
			s.now = start.Add(time.Duration(i) * 250 * time.Millisecond)
			for j := range 60 {
				if s.reserve(RegisterTargets, fmt.Sprint("t", j%tenants), fmt.Sprint("g", j)) == 0 {
					sent++
				}
			}
		}
		if sent < 235 || sent > 260 {
			t.Errorf("%s: %d calls in a minute, AWS admits 20 and 240", name, sent)
		}
	}
}

// TestCallsForOneTargetGroupAreSpaced checks that calls for one target group are spaced, except after a call with the
// maximum number of targets.
func TestCallsForOneTargetGroupAreSpaced(t *testing.T) {
	s := newTestSchedule(4, 20)
	s.drainBucket("shop")
	start, sent := s.now, 0
	for i := range 50 {
		s.now = start.Add(time.Duration(i) * 100 * time.Millisecond)
		if s.reserve(RegisterTargets, "shop", "one") == 0 {
			sent++
		}
	}
	if sent != 10 {
		t.Errorf("%d calls in five seconds for one target group", sent)
	}
	s.sendOrder([3]string{RegisterTargets, "shop", "one"})
	full := TargetCall{Operation: RegisterTargets, TargetGroup: "large", Tenant: "shop", MaxDelay: time.Second, IsFull: true}
	for i := range 5 {
		if _, err := s.reserveToken(full); err != nil {
			t.Errorf("part %d of a change that one call cannot carry waits: %v", i, err)
		}
	}
}

// TestAnAbandonedCallIsSkipped checks that a caller that does not repeat its request delays other calls only for seconds.
func TestAnAbandonedCallIsSkipped(t *testing.T) {
	s := newTestSchedule(1, 1)
	s.drainBucket("shop")
	for i := range 5 {
		s.reserve(RegisterTargets, "shop", fmt.Sprint("lost", i))
	}
	start := s.now
	s.sendOrder([3]string{RegisterTargets, "shop", "here"})
	if took := s.now.Sub(start); took > 9*time.Second {
		t.Errorf("sent after %v", took)
	}
}

func TestEveryCallIsSentEventually(t *testing.T) {
	for name, s := range map[string]*testSchedule{"a small bucket": newTestSchedule(0.5, 1), "the usual one": newTestSchedule(4, 20)} {
		s.drainBucket("a")
		var calls [][3]string
		for i := range 40 {
			calls = append(calls, [3]string{RegisterTargets, fmt.Sprint("t", i%3), fmt.Sprint("r", i)}, [3]string{DeregisterTargets, fmt.Sprint("t", i%3), fmt.Sprint("d", i)})
		}
		if got := s.sendOrder(calls...); len(got) != 80 {
			t.Errorf("%s: %d calls were sent", name, len(got))
		}
	}
}
