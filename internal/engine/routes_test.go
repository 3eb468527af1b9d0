package engine

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestUnknownRoutesCountAsChangedAtTheBeginning(t *testing.T) {
	const propagation = 10 * time.Second
	start := time.Unix(1000, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	a, b := model.StackID{Name: "a"}, model.StackID{Name: "b"}
	var r routes
	r.begin(start)
	r.begin(at(5)) // has no effect
	check := func(id model.StackID, s int, want time.Duration) {
		t.Helper()
		if got := r.unsettled(id, at(s), propagation); got != want {
			t.Errorf("after %d s, %s is unsettled for %s, want %s", s, id.Name, got, want)
		}
	}
	check(a, 4, 6*time.Second)
	check(a, 10, 0)
	r.note(a, at(20), propagation)
	check(a, 23, 7*time.Second)
	check(b, 23, 0)
	r.note(b, at(40), propagation)
	if len(r.changed) != 1 {
		t.Errorf("%d changes are remembered, want that of b", len(r.changed))
	}
	check(a, 41, 0)
	if got := r.unsettled(a, time.Time{}, propagation); got != 0 {
		t.Errorf("without a clock there is nothing to wait for, got %s", got)
	}
}
