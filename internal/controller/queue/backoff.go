package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// Slow are waits after failures that some items have in place of the usual ones.
type Slow[K comparable] struct {
	// Has reports whether an item has them.
	Has func(k K) bool
	// First is the wait after the first failure; it doubles with each further one up to Longest.
	First, Longest time.Duration
}

// backOff is how long items wait after failures.
func (l Line[K]) backOff() workqueue.TypedRateLimiter[K] {
	usual := exponential[K](durations.FirstDelay, l.MaxDelay)
	if l.Slow == nil {
		return usual
	}
	return backOffs[K]{usual, exponential[K](l.Slow.First, l.Slow.Longest), l.Slow.Has}
}

func exponential[K comparable](first, longest time.Duration) workqueue.TypedRateLimiter[K] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[K](first, max(longest, first))
}

// backOffs are two kinds of waits in one.
type backOffs[K comparable] struct {
	usual, slow workqueue.TypedRateLimiter[K]
	isSlow      func(K) bool
}

func (b backOffs[K]) of(k K) workqueue.TypedRateLimiter[K] {
	if b.isSlow(k) {
		return b.slow
	}
	return b.usual
}

// When implements workqueue.TypedRateLimiter.
func (b backOffs[K]) When(k K) time.Duration { return b.of(k).When(k) }

// Forget implements workqueue.TypedRateLimiter.
func (b backOffs[K]) Forget(k K) { b.of(k).Forget(k) }

// NumRequeues implements workqueue.TypedRateLimiter.
func (b backOffs[K]) NumRequeues(k K) int { return b.of(k).NumRequeues(k) }
