package controller

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// An item waits from when it is due, in the lane of what made it due first. The change that it answers may
// be older.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		w := newWaits[string](time.Now, func(lane string, d time.Duration) { got = append(got, fmt.Sprint(lane, " ", d)) })
		start := time.Now()
		w.add("a", laneResync, time.Hour, false)
		time.Sleep(time.Minute)
		w.add("a", laneTargets-3, 0, true)
		w.add("a", laneEdits, 0, true)
		time.Sleep(2 * time.Second)
		since := w.begin("a")
		if since != start.Add(time.Minute) {
			t.Errorf("since %s", since)
		}
		w.add("a", laneTargets, 5*time.Second, false)
		w.putOff("a", since)
		time.Sleep(6 * time.Second)
		if again := w.begin("a"); again != since {
			t.Errorf("since %s", again)
		}
		w.add("b", laneEdits-9, 0, true)
		w.add("c", laneDrift, 0, true)
		w.add("d", laneResync, 0, false)
		for _, k := range []string{"b", "c", "d", "unknown"} {
			w.begin(k)
		}
		if want := []string{"targets 2s", "targets 1s", "edits 0s", "drift 0s", "resync 0s"}; !slices.Equal(got, want) {
			t.Errorf("waited: %q", got)
		}
		if len(w.of) > 0 {
			t.Errorf("%d items are remembered", len(w.of))
		}
	})
}
