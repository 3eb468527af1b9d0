package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// Each item waits longer after each failure, by the waits of its own kind.
func TestSlowItemsHaveWaitsOfTheirOwn(t *testing.T) {
	l := Line[string]{MaxDelay: time.Second, Slow: &Slow[string]{Has: func(k string) bool { return strings.HasPrefix(k, "slow") }, First: 5 * time.Second, Longest: 12 * time.Second}}
	limiter := l.backOff()
	for k, want := range map[string][]time.Duration{
		"slow": {5 * time.Second, 10 * time.Second, 12 * time.Second, 12 * time.Second},
		"fast": {5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond},
	} {
		for i, w := range want {
			if got := limiter.When(k); got != w || limiter.NumRequeues(k) != i+1 {
				t.Errorf("%s: %s after %d failures, want %s", k, got, i+1, w)
			}
		}
		limiter.Forget(k)
		if got := limiter.When(k); got != want[0] {
			t.Errorf("%s: %s after a success", k, got)
		}
	}
	if got := (Line[string]{MaxDelay: time.Millisecond}).backOff().When("slow"); got != durations.FirstDelay {
		t.Errorf("without waits of its own: %s", got)
	}
}
