package kube

import (
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// competingWriter simulates a client that writes to one object, at the time now, and whose writes detector may delay.
type competingWriter struct {
	detector undoneWriteDetector
	now      time.Time
}

var testUndoneWriteKey = objectKey{cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}, "1"}

// tryWrite records a write of content to a field. It returns false if the detector delays the write.
func (w *competingWriter) tryWrite(name string, content byte) bool {
	field := fieldKey{name: name}
	if delay, _ := w.detector.delayOf(testUndoneWriteKey, field, contentHash{content}, w.now); delay > 0 {
		return false
	}
	w.detector.recordWrite(testUndoneWriteKey, field, contentHash{content}, w.now)
	return true
}

// TestNewContentIsNeverDelayed checks that writes are never delayed if their content is new each time, as during a rollout,
// or alternates between two values, as for a flapping pod.
func TestNewContentIsNeverDelayed(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(n int) byte{
		"new each time": func(n int) byte { return byte(n) },
		"alternating":   func(n int) byte { return byte(n % 2) },
	} {
		w := &competingWriter{now: time.Unix(1000, 0)}
		for n := range 250 {
			if !w.tryWrite("status", of(n)) {
				t.Fatalf("%s: write %d is delayed", name, n)
			}
			w.now = w.now.Add(10 * time.Millisecond)
		}
	}
}

// TestRarelyUndoneWritesAreNotDelayed repeats a write every three minutes, as if another client undid it each time, and
// checks that no write is delayed.
func TestRarelyUndoneWritesAreNotDelayed(t *testing.T) {
	t.Parallel()
	w := &competingWriter{now: time.Unix(1000, 0)}
	for n := range 100 {
		if !w.tryWrite("status", 1) {
			t.Fatalf("write %d is delayed", n)
		}
		w.now = w.now.Add(3 * time.Minute)
	}
}

// TestRepeatedWritesBackOff repeats writes of one or three fields of an object whenever the detector permits it. It checks
// that there are at most ten writes per minute. For one field it also checks that the delay grows to 15 minutes, and that
// writes are not delayed any more after the other client has stopped.
func TestRepeatedWritesBackOff(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string][]string{"one field": {"status"}, "three fields": {"status", "metadata.finalizers", "spec"}} {
		w := &competingWriter{now: time.Unix(1000, 0)}
		begin := w.now
		var at []time.Time
		different := byte(0)
		for ; w.now.Sub(begin) < 12*time.Hour; w.now = w.now.Add(100 * time.Millisecond) {
			for _, field := range fields {
				if w.tryWrite(field, 1) {
					at = append(at, w.now)
				}
			}
			if different++; len(fields) > 1 && w.tryWrite("annotation", different) {
				at = append(at, w.now)
			}
		}
		for i := 10; i < len(at); i++ {
			if gap := at[i].Sub(at[i-10]); gap < time.Minute {
				t.Fatalf("%s: eleven writes in %s, %s after the begin", name, gap, at[i].Sub(begin))
			}
		}
		if len(fields) > 1 {
			continue // the annotation has new content each time, so it is written ten times per minute
		}
		if n := len(at); n < 50 || n > 80 {
			t.Errorf("%s: %d writes in twelve hours", name, n)
		}
		if gap := at[len(at)-1].Sub(at[len(at)-2]); gap != repeatBackOff.LongestDelay {
			t.Errorf("%s: at last every %s", name, gap)
		}
		w.now = at[len(at)-1].Add(2*repeatBackOff.LongestDelay + 2*repeatBackOff.StreakTimeout)
		for n := range 3 {
			if !w.tryWrite("status", 1) {
				t.Errorf("%s: when it is over, write %d is delayed", name, n)
			}
		}
	}
}

// TestUndoneWritesAreForgotten checks that undone writes are reported once, also if they pause, and that their record is
// removed after their end.
func TestUndoneWritesAreForgotten(t *testing.T) {
	t.Parallel()
	w := &competingWriter{now: time.Unix(1000, 0)}
	for range 100 {
		w.tryWrite("status", 1)
		w.now = w.now.Add(time.Second)
	}
	if !w.detector.markReported(testUndoneWriteKey) || w.detector.markReported(testUndoneWriteKey) {
		t.Error("the undone writes are not reported exactly once")
	}
	if out := w.detector.removeEnded(w.now); len(out) > 0 {
		t.Errorf("%v has ended", out)
	}
	w.now = w.now.Add(10 * time.Minute) // a pause of the other client
	w.tryWrite("status", 1)
	if w.detector.markReported(testUndoneWriteKey) {
		t.Error("the undone writes are reported again after a pause")
	}
	w.now = w.now.Add(time.Hour)
	if out := w.detector.removeEnded(w.now); len(out) != 1 || len(w.detector.byObject) > 0 {
		t.Errorf("%v has ended, %d are remembered", out, len(w.detector.byObject))
	}
}

// TestReportedUndoneWritesEndAlsoAfterManyWrites checks that the detector does not drop a reported object if it has to store
// too many objects. If the end were not detected, its event would be emitted forever.
func TestReportedUndoneWritesEndAlsoAfterManyWrites(t *testing.T) {
	t.Parallel()
	w := &competingWriter{now: time.Unix(1000, 0)}
	for range 5 {
		w.tryWrite("status", 1)
		w.now = w.now.Add(time.Second)
	}
	if !w.detector.markReported(testUndoneWriteKey) {
		t.Fatal("the undone writes are not reported")
	}
	for n := range 2*maxRememberedObjects + 10 {
		w.detector.recordWrite(objectKey{uid: types.UID(strconv.Itoa(n))}, fieldKey{name: "status"}, contentHash{1}, w.now)
	}
	if n := len(w.detector.byObject); n > maxRememberedObjects+2 {
		t.Errorf("%d objects are remembered", n)
	}
	if ended := w.detector.removeEnded(w.now.Add(24 * time.Hour)); len(ended) != 1 || ended[0] != testUndoneWriteKey.ref {
		t.Errorf("ended are the undoneWrites of %v", ended)
	}
}
