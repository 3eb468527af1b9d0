package engine

import (
	"maps"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestWhatIsWaitedForIsRememberedWhileItIs(t *testing.T) {
	a, b := model.StackID{Name: "a"}, model.StackID{Name: "b"}
	start := time.Unix(1000, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var d deadlines
	check := func(id model.StackID, s int, want map[string]time.Duration) {
		t.Helper()
		if got := d.waited(id, at(s)); !maps.Equal(want, got) {
			t.Errorf("%s after %d s: %v, want %v", id.Name, s, got, want)
		}
	}
	check(a, 0, map[string]time.Duration{})
	d.note(a, []string{"x", "y"}, at(0))
	d.note(b, []string{"x"}, at(5))
	d.note(a, []string{"x", "z"}, at(10))
	check(a, 20, map[string]time.Duration{"x": 20 * time.Second, "z": 10 * time.Second})
	check(b, 20, map[string]time.Duration{"x": 15 * time.Second})
	d.note(a, []string{"y"}, at(30))
	check(a, 30, map[string]time.Duration{"y": 0})
	d.note(a, nil, at(40))
	d.note(b, nil, at(40))
	if len(d.since) > 0 {
		t.Errorf("%v is left", d.since)
	}
	d.note(a, []string{"x"}, time.Time{}) // without a clock
	if len(d.since) > 0 {
		t.Errorf("%v is remembered without a clock", d.since)
	}
}
