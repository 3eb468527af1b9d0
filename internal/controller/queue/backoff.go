package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// backOff returns the back-off of the line: BackOff, or else an exponential one up to MaxDelay.
func (l Line[K]) backOff() workqueue.TypedRateLimiter[K] {
	if l.BackOff != nil {
		return l.BackOff
	}
	return ExponentialBackOff[K](durations.FirstDelay, l.MaxDelay)
}

// ExponentialBackOff returns a back-off that doubles with each failure of an item in a row.
func ExponentialBackOff[K comparable](first, longest time.Duration) workqueue.TypedRateLimiter[K] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[K](first, max(longest, first))
}
