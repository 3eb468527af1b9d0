package resync

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// TestLookupsOfMissingReferencesBackOff checks how often a referenced resource that is missing in AWS is looked up: every
// minute at first, and then with back-off. After the desired state has changed, or the resource was found in between, it is
// looked up every minute again.
func TestLookupsOfMissingReferencesBackOff(t *testing.T) {
	var c State
	stack := model.Stack{Accelerator: &model.Accelerator{}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const period = durations.Resync
	c.BeginRun(stack, "a", false, period, now)
	looks, start := 0, now
	for now.Sub(start) < 24*time.Hour {
		again := c.NextLookup(true, now)
		if again != c.NextLookup(true, now.Add(time.Second)) {
			t.Error("a run for another reason counts")
		}
		if looks++; looks <= usualLookups && again != durations.MissingWait {
			t.Errorf("look %d: again after %s", looks, again)
		}
		if again > durations.LongestBackOff {
			t.Errorf("look %d: again after %s", looks, again)
		}
		now = now.Add(again)
	}
	if looks > 24*4+20 {
		t.Errorf("%d looks in a day", looks)
	}
	c.BeginRun(stack, "b", false, period, now)
	if again := c.NextLookup(true, now); again != durations.MissingWait {
		t.Errorf("after an edit: again after %s", again)
	}
	for range 20 {
		now = now.Add(durations.MissingWait)
		c.NextLookup(true, now)
	}
	c.NextLookup(false, now)
	if again := c.NextLookup(true, now.Add(durations.MissingWait)); again != durations.MissingWait {
		t.Errorf("after it was there: again after %s", again)
	}
}

// TestUnchangedStacksAreComparedGradually checks that the comparisons of unchanged stacks are spread after a start. They
// begin in the second minute, and all are made within the sync period. It also checks which stacks are compared immediately.
func TestUnchangedStacksAreComparedGradually(t *testing.T) {
	perMinute := map[int]int{}
	now := time.Unix(1e9, 0)
	for i := range 300 {
		first := FirstDelay(durations.Resync, fmt.Sprintf("shop/web%d", i))
		if first > durations.SettleWindow+durations.StartSpread {
			t.Errorf("deferred by %s", first)
		}
		perMinute[int(first/time.Minute)]++
		if short := FirstDelay(durations.MissingWait, fmt.Sprintf("shop/web%d", i)); short > durations.MissingWait {
			t.Errorf("deferred by %s with a shorter sync period", short)
		}
	}
	if perMinute[0] > 0 {
		t.Errorf("%d come in the first minute", perMinute[0])
	}
	for m, n := range perMinute {
		if n > 20 {
			t.Errorf("%d come in minute %d", n, m)
		}
	}
	stack, first := model.Stack{LoadBalancer: &model.LoadBalancer{}}, 20*time.Minute
	for name, c := range map[string]struct {
		desired string
		first   time.Duration // the argument first of the later call of RemainingDeferral
		later   time.Duration
		run     bool // whether there is a run between the two calls
		want    time.Duration
	}{
		"one that waits":                {"a", first, 5 * time.Minute, false, 15 * time.Minute},
		"one that is due":               {"a", first, first, false, 0},
		"one whose objects changed":     {"b", first, time.Minute, false, 0},
		"one without a checkpoint":      {"a", 0, time.Minute, false, 0},
		"one that was compared already": {"a", first, time.Minute, true, 0},
	} {
		var x State
		if d := x.RemainingDeferral("a", first, now); d != first {
			t.Errorf("%s: deferred by %s", name, d)
		}
		if c.run {
			x.BeginRun(stack, "a", false, durations.Resync, now)
		}
		if d := x.RemainingDeferral(c.desired, c.first, now.Add(c.later)); d != c.want {
			t.Errorf("%s: deferred by %s, want %s", name, d, c.want)
		}
	}
}

// TestLongestSyncPeriodIsHonoured checks that an operator can switch comparisons off with the longest duration.
func TestLongestSyncPeriodIsHonoured(t *testing.T) {
	if d := Interval(math.MaxInt64, "shop/web"); d < math.MaxInt64/10*8 {
		t.Errorf("compared after %s", d)
	}
}

// TestFrequentEditsAreDelayed checks a desired state of an accelerator that changes every second. The first four changes are
// carried out immediately, and after them only the latest change, after 10, 20, 40 and 60 s. After a pause a change is
// carried out immediately again. Changes of load balancers and deletions are never delayed.
func TestFrequentEditsAreDelayed(t *testing.T) {
	const period = durations.Resync
	paced, start := model.Stack{Accelerator: &model.Accelerator{}}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		stack model.Stack
		want  []int // seconds of the changes that are carried out within six minutes
	}{
		{"an accelerator", paced, []int{1, 2, 3, 4, 14, 34, 74, 134, 194}},
		{"a load balancer", model.Stack{LoadBalancer: &model.LoadBalancer{}}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"what is to be emptied", model.Stack{}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		var x State
		var carried []int
		for s := range 360 {
			changed, delay := x.BeginRun(c.stack, string(rune('a'+s%26)), false, period, start.Add(time.Duration(s)*time.Second))
			if changed && delay > 0 {
				t.Errorf("%s: changed and delayed by %s", c.name, delay)
			}
			if changed {
				carried = append(carried, s)
			}
		}
		if !slices.Equal(carried[:min(len(carried), 9)], c.want) {
			t.Errorf("%s: carried out at %v, want %v", c.name, carried[:min(len(carried), 9)], c.want)
		}
		now := start.Add(20 * time.Minute)
		if changed, delay := x.BeginRun(c.stack, "later", false, period, now); !changed || delay > 0 {
			t.Errorf("%s: a change after a rest is delayed by %s", c.name, delay)
		}
	}
	var slow State
	for s := 0; s < 3600; s += 20 {
		if changed, delay := slow.BeginRun(paced, string(rune('a'+s%26)), false, period, start.Add(time.Duration(s)*time.Second)); s > 0 && !changed || delay > 0 {
			t.Errorf("three changes a minute: after %d s %t, delayed by %s", s, changed, delay)
		}
	}
	var x State
	x.BeginRun(paced, "a", false, period, start)
	x.BeginRun(paced, "b", false, period, start.Add(time.Second))
	x.BeginRun(paced, "c", false, period, start.Add(2*time.Second))
	x.BeginRun(paced, "b", false, period, start.Add(2*time.Second))
	x.BeginRun(paced, "c", false, period, start.Add(2*time.Second))
	if changed, delay := x.BeginRun(paced, "d", false, period, start.Add(3*time.Second)); changed || delay != 9*time.Second {
		t.Errorf("the fifth change: %t, delayed by %s", changed, delay)
	}
	if changed, delay := x.BeginRun(paced, "c", false, period, start.Add(4*time.Second)); changed || delay > 0 {
		t.Errorf("changed back: %t, delayed by %s", changed, delay)
	}
}

// TestACheckpointDefersUnchangedStacks checks that after a restart, the comparison of a stack that is equal to its
// checkpoint is deferred until it is due. An edit or a comparison ends the deferral.
func TestACheckpointDefersUnchangedStacks(t *testing.T) {
	const first = 30 * time.Minute
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	var c State
	check := func(minutes int, desired string, want time.Duration) {
		t.Helper()
		if got := c.RemainingDeferral(desired, first, at(minutes)); got != want {
			t.Errorf("after %d minutes %q is deferred by %s, want %s", minutes, desired, got, want)
		}
	}
	check(0, "a", 30*time.Minute)
	check(10, "a", 20*time.Minute)
	check(10, "b", 0)
	check(20, "a", 10*time.Minute)
	c.BeginRun(model.Stack{Accelerator: &model.Accelerator{}}, "a", false, time.Hour, at(20))
	check(21, "a", 0)
}
