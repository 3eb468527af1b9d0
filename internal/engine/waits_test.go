package engine

import (
	"maps"
	"testing"
	"time"
)

func TestWaitsAreRememberedWhileTheyLast(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var w waits
	for _, step := range []struct {
		at   int
		keys []string
		want map[string]time.Duration // the result of waitDurations 10 s later
	}{
		{0, []string{"x", "y"}, map[string]time.Duration{"x": 10 * time.Second, "y": 10 * time.Second}},
		{10, []string{"x", "z"}, map[string]time.Duration{"x": 20 * time.Second, "z": 10 * time.Second}},
		{30, []string{"y"}, map[string]time.Duration{"y": 10 * time.Second}},
		{40, nil, map[string]time.Duration{}},
	} {
		w = w.withKeys(step.keys, at(step.at)).onlyKeys(step.keys)
		if got := w.waitDurations(at(step.at + 10)); !maps.Equal(step.want, got) {
			t.Errorf("after %d s: %v, want %v", step.at+10, got, step.want)
		}
	}
	if w = w.withKeys([]string{"x"}, time.Time{}); len(w) > 0 {
		t.Errorf("%v is remembered without a clock", w)
	}
}

// TestReplanningKeepsTheStartOfAWait checks that a wait keeps its start from an earlier run, even if the first plan of the
// current run does not contain the wait. Such a plan is replaced after AWS refuses one of its steps.
func TestReplanningKeepsTheStartOfAWait(t *testing.T) {
	start := time.Unix(1000, 0)
	var w waits
	for run := range 3 {
		now := start.Add(time.Duration(run) * time.Minute)
		w = w.withKeys([]string{"refused"}, now).withKeys([]string{"healthy"}, now).onlyKeys([]string{"healthy"})
	}
	want := map[string]time.Duration{"healthy": 2 * time.Minute}
	if got := w.waitDurations(start.Add(2 * time.Minute)); !maps.Equal(want, got) {
		t.Errorf("%v, want %v", got, want)
	}
}
