package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// ExponentialBackOff returns a back-off that starts at first, and doubles with each failure of an item in a row, up to
// longest. It is never shorter than first.
func ExponentialBackOff[K comparable](first, longest time.Duration) workqueue.TypedRateLimiter[K] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[K](first, max(longest, first))
}
