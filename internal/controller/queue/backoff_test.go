package queue

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// TestMaximumBackOffIsAtLeastTheFirstDelay checks that the maximum back-off is never below the first delay.
func TestMaximumBackOffIsAtLeastTheFirstDelay(t *testing.T) {
	if got := ExponentialBackOff[string](durations.FirstDelay, time.Millisecond).When("a"); got != durations.FirstDelay {
		t.Errorf("waits %s", got)
	}
}
