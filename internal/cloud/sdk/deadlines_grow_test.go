package sdk

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// TestDeadlinesFollowResponseTimes checks that the attempt after a missed deadline has twice the deadline, but only one
// attempt at a time. After a slow answer the deadline is twice the time of this answer, and quick answers lower it again.
// Optional calls are not made while such an attempt is in flight, or right after it.
func TestDeadlinesFollowResponseTimes(t *testing.T) {
	now := time.Unix(0, 0)
	d := newDeadlines(30*time.Second, testclock.FromVariable(&now))
	attempt := func(operation string, takes time.Duration) time.Duration {
		limit, end := d.beginAttempt("ELB", operation)
		missed := takes > limit
		now = now.Add(min(takes, limit))
		end(!missed, missed)
		return limit
	}
	const slow = 50 * time.Second
	for i, want := range []time.Duration{30 * time.Second, time.Minute, 100 * time.Second} {
		if got := attempt("Describe", slow); got != want {
			t.Errorf("attempt %d has %v, want %v", i, got, want)
		}
	}
	if got := attempt("Create", slow); got != 100*time.Second {
		t.Errorf("another operation of the slow service has %v", got)
	}
	if limit, end := d.beginAttempt("EC2", "Describe"); limit != 30*time.Second {
		t.Errorf("another service has %v", limit)
	} else {
		end(true, false)
	}
	for range 10 {
		attempt("Describe", time.Second)
		attempt("Create", time.Second)
	}
	if got := attempt("Describe", time.Second); got != 30*time.Second {
		t.Errorf("after quick answers it has %v", got)
	}
	for i, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 2 * time.Minute} {
		if got := attempt("Hangs", time.Hour); got != want {
			t.Errorf("attempt %d that hangs has %v, want %v", i, got, want)
		}
	}
	probe, endProbe := d.beginAttempt("ELB", "Hangs")
	beside, endBeside := d.beginAttempt("ELB", "Hangs")
	if probe != 2*time.Minute || beside != 30*time.Second {
		t.Errorf("the probe has %v, an attempt beside it %v", probe, beside)
	}
	if _, err := d.callDeadline("ELB", "Hangs", true); err == nil {
		t.Error("an optional call is made while the probe is in flight")
	}
	endProbe(false, true)
	endBeside(false, true)
	if _, err := d.callDeadline("ELB", "Hangs", true); err == nil {
		t.Error("an optional call is made right after the probe")
	}
	now = now.Add(2 * time.Minute)
	if _, err := d.callDeadline("ELB", "Hangs", true); err != nil {
		t.Errorf("an optional call is refused after the pause: %v", err)
	}
}
