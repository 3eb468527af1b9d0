package bindings

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// TestFlappingTargetsAreHeld checks which targets are held after each step, and for how long. A step waits some seconds
// (after), then registers ("+") and deregisters ("-") the targets in change.
func TestFlappingTargetsAreHeld(t *testing.T) {
	type step struct {
		after  time.Duration
		change string
		held   string
		left   time.Duration
	}
	flip := func(n int, id string) (out []step) {
		for range n {
			out = append(out, step{1, "-" + id, "", 0}, step{1, "+" + id, "", 0})
		}
		return out
	}
	for name, steps := range map[string][]step{
		"new ones never wait":                {{0, "+a", "", 0}, {1, "+b -a", "", 0}, {1, "+c -b", "", 0}, {1, "+d -c", "", 0}, {1, "+e -d", "", 0}},
		"two returns are free":               flip(2, "a"),
		"the third one is followed by 5 s":   append(flip(2, "a"), step{1, "-a", "", 0}, step{1, "+a", "a", 5}, step{4, "", "a", 1}, step{1, "", "", 0}),
		"the next ones by 10, 20 and 30":     append(flip(2, "a"), step{1, "-a", "", 0}, step{1, "+a", "a", 5}, step{5, "-a", "", 0}, step{1, "+a", "a", 10}, step{10, "-a +a", "a", 20}, step{20, "-a +a", "a", 30}, step{30, "-a +a", "a", 30}),
		"all that came back wait with it":    append(flip(1, "b"), append(flip(2, "a"), step{1, "-a -c", "", 0}, step{1, "+a", "a b", 5})...),
		"a removal starts no wait":           append(flip(2, "a"), step{1, "-a", "", 0}, step{1, "+a", "a", 5}, step{2, "-a", "a", 3}, step{3, "", "", 0}),
		"15 s apart they are not a row":      {{0, "-a", "", 0}, {16, "+a -a", "", 0}, {16, "+a -a", "", 0}, {16, "+a -a", "", 0}, {16, "+a -a", "", 0}, {16, "+a", "", 0}},
		"one that waited is known for 5 min": append(flip(2, "a"), step{1, "-a", "", 0}, step{1, "+a", "a", 5}, step{299, "-a +a", "a", 10}),
		"and then it is not":                 append(flip(2, "a"), step{1, "-a", "", 0}, step{1, "+a", "a", 5}, step{301, "-a +a", "", 0}),
	} {
		t.Run(name, func(t *testing.T) {
			var f flappingTargets
			now := startTime
			for i, s := range steps {
				now = now.Add(s.after * time.Second)
				for _, c := range strings.Fields(s.change) {
					if ids := []string{c[1:]}; c[0] == '+' {
						f = f.recordRegistered(ids, now)
					} else {
						f = f.recordDeregistered(ids, now)
					}
				}
				held, left, alone := f.delayedTargets(now)
				if alone > reregistrationBackOff.FirstDelay || alone > left || left > 0 && alone < left-reregistrationBackOff.LongestDelay {
					t.Errorf("step %d: alone for %s, and for %s beside others", i, alone, left)
				}
				var ids []string
				for id := range held {
					ids = append(ids, id)
				}
				slices.Sort(ids)
				if got := strings.Join(ids, " "); got != s.held || left != s.left*time.Second {
					t.Errorf("step %d: %q held for %s, want %q for %s", i, got, left, s.held, s.left*time.Second)
				}
			}
			if f = f.recordDeregistered(nil, now.Add(time.Hour)); len(f) > 0 {
				t.Errorf("an hour later %v is remembered", f)
			}
		})
	}
}

// TestFlappingIsForgottenWithTheBinding checks that the record of flapping targets is removed with the binding. It also
// checks that an update does not modify the maps of an entry that was read before.
func TestFlappingIsForgottenWithTheBinding(t *testing.T) {
	m := newMemory(Config{Clock: testclock.FromVariable(&startTime)})
	key := Key{Namespace: "ns", Name: "a"}
	for range 4 {
		before := m.get(key)
		size := len(before.flappingTargets)
		m.update(key, recordRegistered(firstBinding, endpoints(1)))
		m.update(key, recordDeregistered(firstBinding, observedTargets(1)))
		if len(before.flappingTargets) != size {
			t.Fatal("an entry that was read has changed")
		}
	}
	if p := m.planMemory(key); len(p.FlappingTargets) != 1 || p.FlappingDelay != 5*time.Second {
		t.Errorf("%v wait for %s", p.FlappingTargets, p.FlappingDelay)
	}
	m.forget(key)
	if p := m.planMemory(key); p.FlappingTargets != nil || p.FlappingDelay != 0 {
		t.Errorf("a new binding of the name has %v", p.FlappingTargets)
	}
}
