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

// servesAccelerators reports whether GlobalAccelerators are served if their CRD is installed: the gate is on, and AWS Global
// Accelerator exists in the partition of the region.
func servesAccelerators(c config.Config) bool {
	return c.Gates.On(config.GlobalAcceleratorController) && services.HasAccelerators(services.Partition(c.AWS.Region))
}

// stackBackOff has the back-off of stacks after failures. Accelerators have a longer one of their own, because AWS takes long
// to change them.
type stackBackOff struct {
	accelerators, others workqueue.TypedRateLimiter[model.StackID]
}

func newStackBackOff(c config.Config) stackBackOff {
	return stackBackOff{
		accelerators: queue.Exponential[model.StackID](durations.Answer, c.Workers.AcceleratorMaxBackoff),
		others:       queue.Exponential[model.StackID](durations.FirstDelay, durations.MaxDelay),
	}
}

// of returns the back-off for a stack.
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

// enqueueOrphans enqueues the accelerators that no object asks for. No event enqueues them after a start, and an owner of
// their endpoints may have withdrawn the consent for them.
func enqueueOrphans(found []Orphan, enqueue func(model.StackID)) {
	for _, o := range found {
		if o.ID.Kind.HasAccelerator() {
			enqueue(o.ID)
		}
	}
}

// addParentCategories adds the error categories that follow from others: a failed step for a kind of resource counts for
// its synthesizer too, and a failed plan or apply counts for the whole run.
func addParentCategories(found map[string]bool, failed []engine.FailedStep) {
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
