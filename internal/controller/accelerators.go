package controller

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// servesAccelerators reports whether GlobalAccelerators are served where their definition is installed. The service
// must exist in the partition of the region.
func servesAccelerators(c config.Config) bool {
	return c.Gates.On(config.GlobalAcceleratorController) && services.HasAccelerators(services.Partition(c.AWS.Region))
}

// stackBackOff is how long stacks wait after failures: accelerators, whose changes take AWS long, have a back-off of their
// own.
type stackBackOff struct {
	accelerators, others workqueue.TypedRateLimiter[model.StackID]
}

func newStackBackOff(c config.Config) stackBackOff {
	return stackBackOff{
		accelerators: queue.Exponential[model.StackID](durations.Answer, c.Workers.AcceleratorMaxBackoff),
		others:       queue.Exponential[model.StackID](durations.FirstDelay, durations.MaxDelay),
	}
}

func (b stackBackOff) of(id model.StackID) workqueue.TypedRateLimiter[model.StackID] {
	if id.Kind.HasAccelerator() {
		return b.accelerators
	}
	return b.others
}

// When implements workqueue.TypedRateLimiter.
func (b stackBackOff) When(id model.StackID) time.Duration { return b.of(id).When(id) }

// Forget implements workqueue.TypedRateLimiter.
func (b stackBackOff) Forget(id model.StackID) { b.of(id).Forget(id) }

// NumRequeues implements workqueue.TypedRateLimiter.
func (b stackBackOff) NumRequeues(id model.StackID) int { return b.of(id).NumRequeues(id) }

// enqueueOrphans queues the stacks of accelerators that no object asks for: nothing else brings a run of them about
// after a start, and what they lead to may need a consent that is withdrawn.
func enqueueOrphans(found []Orphan, enqueue func(model.StackID)) {
	for _, o := range found {
		if o.ID.Kind.HasAccelerator() {
			enqueue(o.ID)
		}
	}
}

// countParents adds what an error counts for besides: what fails at a kind of resource fails the deployment, and that,
// like a failed build, the whole run.
func countParents(found map[string]bool, failed []engine.FailedStep) {
	category := func(phase string) string { return stageOf(model.GlobalAccelerator.Controller(), phase) + "_error" }
	for _, f := range failed {
		if of, known := synthesizers[f.Step.Address.Kind]; known && !isTransientFailure(f) {
			found[of] = true
		}
	}
	if found[category("plan")] || found[category("apply")] {
		found[category("run")] = true
	}
}
