package kube

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// writer writes to an object as often as it may.
type writer struct {
	m   fights
	now time.Time
}

var fought = fightKey{cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}, "1"}

func (w *writer) try(field string, content byte) bool {
	if left, _ := w.m.delayOf(fought, field, version{content}, w.now); left > 0 {
		return false
	}
	w.m.noteWrite(fought, field, version{content}, w.now)
	return true
}

// A rollout writes new content each time, and a pod that is ready now and then alternates: neither is delayed.
func TestNewContentIsNeverDelayed(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(n int) byte{
		"new each time": func(n int) byte { return byte(n) },
		"alternating":   func(n int) byte { return byte(n % 2) },
	} {
		w := &writer{now: time.Unix(1000, 0)}
		for n := range 250 {
			if !w.try("status", of(n)) {
				t.Fatalf("%s: write %d is delayed", name, n)
			}
			w.now = w.now.Add(10 * time.Millisecond)
		}
	}
}

// Others that restore an older state now and then, such as every three minutes, are answered at once each time.
func TestWhatIsUndoneNowAndThenIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	w := &writer{now: time.Unix(1000, 0)}
	for n := range 100 {
		if !w.try("status", 1) {
			t.Fatalf("write %d is delayed", n)
		}
		w.now = w.now.Add(3 * time.Minute)
	}
}

// What is undone at once is written ten times in each minute at most, several fields of an object together and with what
// differs each time besides. Later it is written every 15 minutes, and what was undone for the last time soon.
func TestRepeatedWritesBackOff(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string][]string{"one field": {"status"}, "three fields": {"status", "metadata.finalizers", "spec"}} {
		w := &writer{now: time.Unix(1000, 0)}
		begin := w.now
		var at []time.Time
		different := byte(0)
		for ; w.now.Sub(begin) < 12*time.Hour; w.now = w.now.Add(100 * time.Millisecond) {
			for _, field := range fields {
				if w.try(field, 1) {
					at = append(at, w.now)
				}
			}
			if different++; len(fields) > 1 && w.try("annotation", different) {
				at = append(at, w.now)
			}
		}
		for i := 10; i < len(at); i++ {
			if gap := at[i].Sub(at[i-10]); gap < time.Minute {
				t.Fatalf("%s: eleven writes in %s, %s after the begin", name, gap, at[i].Sub(begin))
			}
		}
		if len(fields) > 1 {
			continue // the other content is new, so that it is written ten times a minute
		}
		if n := len(at); n < 50 || n > 80 {
			t.Errorf("%s: %d writes in twelve hours", name, n)
		}
		if gap := at[len(at)-1].Sub(at[len(at)-2]); gap != paceOfFights.Longest {
			t.Errorf("%s: at last every %s", name, gap)
		}
		w.now = at[len(at)-1].Add(2*paceOfFights.Longest + 2*paceOfFights.Rest)
		for n := range 3 {
			if !w.try("status", 1) {
				t.Errorf("%s: when it is over, write %d is delayed", name, n)
			}
		}
	}
}

// What is remembered goes when fights are over.
func TestFightsAreForgotten(t *testing.T) {
	t.Parallel()
	w := &writer{now: time.Unix(1000, 0)}
	for range 100 {
		w.try("status", 1)
		w.now = w.now.Add(time.Second)
	}
	if !w.m.markReported(fought) || w.m.markReported(fought) {
		t.Error("it is not reported once")
	}
	if out := w.m.ended(w.now); len(out) > 0 {
		t.Errorf("%v has ended", out)
	}
	w.now = w.now.Add(10 * time.Minute) // it rests
	w.try("status", 1)
	if w.m.markReported(fought) {
		t.Error("it is reported again when it goes on")
	}
	w.now = w.now.Add(time.Hour)
	if out := w.m.ended(w.now); len(out) != 1 || len(w.m.of) > 0 {
		t.Errorf("%v has ended, %d are remembered", out, len(w.m.of))
	}
}
