package queue

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// recordedAdds is a priority queue that only records when the added items are due.
type recordedAdds struct {
	priorityqueue.PriorityQueue[string]
	after []time.Duration
}

func (r *recordedAdds) AddWithOpts(o priorityqueue.AddOpts, _ ...string) {
	r.after = append(r.after, o.After)
}

// postponedUntil is an error of a call that may be sent again after a time.
type postponedUntil time.Duration

func (postponedUntil) Error() string               { return "postponed" }
func (p postponedUntil) RetryAfter() time.Duration { return time.Duration(p) }

// TestFailedRunIsRepeatedWhenItRequestsIt checks that a run that fails is repeated no later than it has requested, whatever
// the back-off is. Changes of objects during the run do not shorten the back-off of a run that fails for another reason.
func TestFailedRunIsRepeatedWhenItRequestsIt(t *testing.T) {
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	failed := errors.New("the status cannot be written")
	for name, c := range map[string]struct {
		next    NextRun
		err     error
		changes bool
		added   time.Duration // 0 if the back-off alone decides
		result  time.Duration
	}{
		"requests nothing":                   {err: failed},
		"requests another run":               {next: NextRun{After: time.Second}, err: failed, added: time.Second},
		"an object changes":                  {next: NextRun{After: time.Second}, err: failed, changes: true, added: time.Second},
		"a call is postponed":                {err: postponedUntil(time.Minute), result: time.Minute},
		"a call is postponed, another waits": {next: NextRun{After: time.Second}, err: postponedUntil(time.Minute), result: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			triggers := NewTriggers(storedObjects{store}, nil, noItemChanges{})
			l := Controller[string]{Triggers: triggers, Reconciler: runFunc(func(_ context.Context, k string) (NextRun, error) {
				if c.changes {
					if _, err := triggers.AffectedItems(nil, pod); err != nil {
						t.Error(err)
					}
					v := cluster.NewView(store)
					cluster.Get[*corev1.Pod](v, cluster.KindPod, "ns", "p")
					triggers.RecordReads(k, v)
				}
				return c.next, c.err
			})}
			l.items = newItems(l)
			queue := &recordedAdds{}
			l.items.queue = queue
			result, err := l.reconcile(t.Context(), "a")
			var added time.Duration
			for _, after := range queue.after {
				added = after
			}
			if added != c.added || result.RequeueAfter != c.result || (err == nil) != (c.result > 0) {
				t.Errorf("enqueued after %s, result after %s, error %v", added, result.RequeueAfter, err)
			}
		})
	}
}
