package engine

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// What is missing in AWS is looked for every minute at first, then ever more rarely, and every minute
// again once the desired state changes or it was there.
func TestWrongReferencesAreLookedUpMoreAndMoreRarely(t *testing.T) {
	c := &comparisons{period: DefaultResync}
	id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	member := model.Stack{ID: id, Members: []model.Member{{}}}
	c.begin(member, "a", now)
	looks, start := 0, now
	for now.Sub(start) < 24*time.Hour {
		again := c.lookAgain(id, true, now)
		if again != c.lookAgain(id, true, now.Add(time.Second)) {
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
	c.begin(member, "b", now)
	if again := c.lookAgain(id, true, now); again != lacking {
		t.Errorf("after an edit: again after %s", again)
	}
	for range 20 {
		now = now.Add(lacking)
		c.lookAgain(id, true, now)
	}
	c.lookAgain(id, false, now)
	if again := c.lookAgain(id, true, now.Add(lacking)); again != lacking {
		t.Errorf("after it was there: again after %s", again)
	}
}
