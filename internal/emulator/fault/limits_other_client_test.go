package fault_test

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// TestOtherClientUsesItsShareOfTheTokens checks that the simulated other client takes half of the tokens while this
// client calls. After an hour without calls the bucket is full.
func TestOtherClientUsesItsShareOfTheTokens(t *testing.T) {
	limits := fault.DocumentedLimits(1)
	limits.OtherClient = 0.5
	call := fault.Call{Service: "elasticloadbalancing", Operation: "RegisterTargets"} // bucket of 20 tokens, refilled with 4 per second
	admitted := func(s *fault.Set, at time.Time) (n int) {
		for call.Time = at; s.Decide(call).Error == nil; n++ {
		}
		return n
	}

	s := fault.NewSet()
	s.SetLimits(limits)
	if got := admitted(s, startTime); got != 10 {
		t.Errorf("at first: want 10 calls, got %d", got)
	}
	got := 0
	for i := range 1000 {
		got += admitted(s, startTime.Add(time.Duration(i+1)*50*time.Millisecond))
	}
	if got < 98 || got > 102 {
		t.Errorf("in fifty seconds: want 100 calls, got %d", got)
	}
	if got := admitted(s, startTime.Add(time.Hour)); got != 20 {
		t.Errorf("after an hour without calls: want 20 calls, got %d", got)
	}
}
