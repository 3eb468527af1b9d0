package store_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestManualClockRunsDueTimers(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := store.NewManualClock(start)
	var got []time.Duration
	note := func() { got = append(got, c.Now().Sub(start)) }
	c.AfterFunc(3*time.Second, note)
	c.AfterFunc(time.Second, func() {
		note()
		c.AfterFunc(time.Second, note)
	})
	stop := c.AfterFunc(2*time.Second, func() { t.Error("a stopped timer ran") })
	if !stop() || stop() {
		t.Error("stop must return true only for the first call")
	}
	c.AfterFunc(time.Hour, func() { t.Error("ran before its time") })
	c.Advance(10 * time.Second)
	want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if now := c.Now().Sub(start); now != 10*time.Second {
		t.Errorf("the clock shows %v", now)
	}
}

func TestScaledClockRunsFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := store.NewScaledClock(60)
		begin := c.Now()
		ran := false
		c.AfterFunc(time.Minute, func() { ran = true })
		time.Sleep(time.Second)
		synctest.Wait()
		if passed := c.Now().Sub(begin); passed != time.Minute || !ran {
			t.Errorf("after a second: %v passed, timer ran: %v", passed, ran)
		}
	})
}
