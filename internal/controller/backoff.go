package controller

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// stackBackOff is the back-off of stacks after failures. Accelerators have their own, longer back-off, because AWS takes a
// long time to change them.
type stackBackOff struct {
	accelerators, others workqueue.TypedRateLimiter[model.StackID]
}

func newStackBackOff(c config.Config) stackBackOff {
	return stackBackOff{
		accelerators: queue.ExponentialBackOff[model.StackID](durations.AnswerTimeout, c.Workers.AcceleratorMaxBackoff),
		others:       queue.ExponentialBackOff[model.StackID](durations.FirstDelay, durations.MaxDelay),
	}
}

// limiterFor returns the back-off for a stack.
func (b stackBackOff) limiterFor(id model.StackID) workqueue.TypedRateLimiter[model.StackID] {
	if id.Kind.HasAccelerator() {
		return b.accelerators
	}
	return b.others
}

// When implements workqueue.TypedRateLimiter.
func (b stackBackOff) When(id model.StackID) time.Duration { return b.limiterFor(id).When(id) }

// Forget implements workqueue.TypedRateLimiter.
func (b stackBackOff) Forget(id model.StackID) { b.limiterFor(id).Forget(id) }

// NumRequeues implements workqueue.TypedRateLimiter.
func (b stackBackOff) NumRequeues(id model.StackID) int { return b.limiterFor(id).NumRequeues(id) }
