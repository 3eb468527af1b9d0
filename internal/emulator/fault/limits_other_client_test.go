package fault_test

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// TestOtherClientUsesItsShareOfTheTokens checks that a simulated other client with OtherClient 0.5 takes half of the initial
// tokens, and half of the added tokens while calls are made. It takes none of the tokens of a bucket that is full after an
// hour without calls.
func TestOtherClientUsesItsShareOfTheTokens(t *testing.T) {
	limits := fault.DocumentedLimits(1)
	limits.OtherClient = 0.5
	call := fault.Call{Service: "elasticloadbalancing", Operation: "RegisterTargets"} // its bucket has 20 tokens, and gets 4 tokens per second
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
