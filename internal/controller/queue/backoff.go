package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// backOff returns BackOff, or an exponential back-off up to MaxDelay if BackOff is nil.
func (l Controller[K]) backOff() workqueue.TypedRateLimiter[K] {
	if l.BackOff != nil {
		return l.BackOff
	}
	return ExponentialBackOff[K](durations.FirstDelay, l.MaxDelay)
}

// ExponentialBackOff returns a back-off that starts at first, and doubles with each failure of an item in a row, up to
// longest. It is never shorter than first.
func ExponentialBackOff[K comparable](first, longest time.Duration) workqueue.TypedRateLimiter[K] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[K](first, max(longest, first))
}
