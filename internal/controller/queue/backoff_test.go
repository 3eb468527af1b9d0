package queue

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// The longest wait is never below the first.
func TestBackOffBeginsAtTheFirstWait(t *testing.T) {
	if got := (Line[string]{MaxDelay: time.Millisecond}).backOff().When("a"); got != durations.FirstDelay {
		t.Errorf("waits %s", got)
	}
}
