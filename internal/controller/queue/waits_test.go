package queue

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestWaitsAreMeasuredFromTheDueTime checks that the wait of an item is measured from the time at which the item became due,
// and recorded with the priority that made it due first. The change that caused the run may be older.
func TestWaitsAreMeasuredFromTheDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got recordedWaits
		w := newItems(Controller[string]{Name: "line", Reconciler: runFunc(nil), Metrics: &got})
		start := time.Now()
		w.recordQueued("a", priorityResync, time.Hour, false)
		time.Sleep(time.Minute)
		w.recordQueued("a", priorityTargets-3, 0, true)
		w.recordQueued("a", priorityEdits, 0, true)
		time.Sleep(2 * time.Second)
		since := w.beginRun("a")
		if since != start.Add(time.Minute) {
			t.Errorf("since %s", since)
		}
		w.recordQueued("a", priorityTargets, 5*time.Second, false)
		w.restoreChangedAt("a", since)
		time.Sleep(6 * time.Second)
		if again := w.beginRun("a"); again != since {
			t.Errorf("since %s", again)
		}
		w.recordQueued("b", priorityEdits-9, 0, true)
		w.recordQueued("c", priorityDrift, 0, true)
		w.recordQueued("d", priorityResync, 0, false)
		for _, k := range []string{"b", "c", "d", "unknown"} {
			w.beginRun(k)
		}
		if want := []string{"line targets 2s", "line targets 1s", "line edits 0s", "line drift 0s", "line resync 0s"}; !slices.Equal(got, want) {
			t.Errorf("waited: %q", got)
		}
		if len(w.queued) > 0 {
			t.Errorf("%d items are remembered", len(w.queued))
		}
	})
}

// TestARepeatedRunKeepsTheTimeOfItsChange checks that ChangedAt returns the time of the first change in all runs of an item,
// if the rate limiter postpones a call in each run, and if an object changed while a run read it.
func TestARepeatedRunKeepsTheTimeOfItsChange(t *testing.T) {
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	triggers := NewTriggers(storedObjects{store}, nil, noItemChanges{})
	var since []time.Time
	l := Controller[string]{
		Triggers: triggers,
		Reconciler: runFunc(func(ctx context.Context, k string) (NextRun, error) {
			since = append(since, ChangedAt(ctx))
			if len(since) == 1 {
				if _, err := triggers.AffectedItems(nil, pod); err != nil {
					t.Error(err)
				}
			}
			v := cluster.NewView(store)
			cluster.Get[*corev1.Pod](v, cluster.KindPod, "ns", "p")
			triggers.RecordReads(k, v)
			return NextRun{After: time.Second, Postponed: true}, nil
		}),
	}
	l.items = newItems(l)
	l.items.recordQueued("a", priorityTargets, 0, true)
	for range 3 {
		if _, err := l.reconcile(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if since[0].IsZero() || since[1] != since[0] || since[2] != since[0] {
		t.Errorf("measured from %v", since)
	}
}
