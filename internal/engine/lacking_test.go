package engine

import (
	"testing"
	"time"
)

// What is missing in AWS is looked for every minute at first, then ever more rarely, and every minute
// again once the desired state changes or it was there.
func TestWrongReferencesAreLookedUpMoreAndMoreRarely(t *testing.T) {
	var c comparison
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const period = DefaultResync
	c.begin(false, "a", false, period, period, now)
	looks, start := 0, now
	for now.Sub(start) < 24*time.Hour {
		again := c.lookAgain(true, now)
		if again != c.lookAgain(true, now.Add(time.Second)) {
			t.Error("a run for another reason counts")
		}
		if looks++; looks <= manyLooks && again != lacking {
			t.Errorf("look %d: again after %s", looks, again)
		}
		if again > longestBackOff {
			t.Errorf("look %d: again after %s", looks, again)
		}
		now = now.Add(again)
	}
	if looks > 24*4+20 {
		t.Errorf("%d looks in a day", looks)
	}
	c.begin(false, "b", false, period, period, now)
	if again := c.lookAgain(true, now); again != lacking {
		t.Errorf("after an edit: again after %s", again)
	}
	for range 20 {
		now = now.Add(lacking)
		c.lookAgain(true, now)
	}
	c.lookAgain(false, now)
	if again := c.lookAgain(true, now.Add(lacking)); again != lacking {
		t.Errorf("after it was there: again after %s", again)
	}
}
