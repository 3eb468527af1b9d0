package repeat_test

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/repeat"
)

func TestBackOff(t *testing.T) {
	t.Parallel()
	p := repeat.BackOff{FreeRepetitions: 2, FirstDelay: 2 * time.Minute, LongestDelay: 15 * time.Minute, StreakTimeout: time.Hour}
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		times  int
		delays bool
		wait   time.Duration
	}{
		{0, false, 0}, {1, false, 0},
		{2, true, 2 * time.Minute}, {3, true, 4 * time.Minute}, {4, true, 8 * time.Minute}, {5, true, 15 * time.Minute},
		{6, true, 15 * time.Minute}, {1000, true, 15 * time.Minute},
	} {
		r := repeat.Streak{Repetitions: c.times, LastWrite: at}
		if p.IsDelayed(r) != c.delays || p.Delay(r) != c.wait {
			t.Errorf("after %d: delays %t, wait %s", c.times, p.IsDelayed(r), p.Delay(r))
		}
		if left := p.Remaining(r, at.Add(time.Minute)); left != c.wait-time.Minute {
			t.Errorf("after %d: %s are left a minute later", c.times, left)
		}
		end := at.Add(2*c.wait + time.Hour)
		if p.HasEnded(r, end) || !p.HasEnded(r, end.Add(1)) {
			t.Errorf("after %d: it is over %t, a moment later %t", c.times, p.HasEnded(r, end), p.HasEnded(r, end.Add(1)))
		}
	}
	if !p.HasEnded(repeat.Streak{}, at) {
		t.Error("what was never written is part of a row")
	}
}
