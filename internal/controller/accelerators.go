package controller

import (
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

// slowAccelerators are the waits of accelerators after failures.
func slowAccelerators(c config.Config) *queue.Slow[model.StackID] {
	return &queue.Slow[model.StackID]{
		Has:   func(id model.StackID) bool { return id.Kind == model.GlobalAccelerator },
		First: durations.Answer, Longest: c.Workers.AcceleratorMaxBackoff,
	}
}

// lookAtOrphans queues the stacks of accelerators that no object asks for: nothing else brings a run of them about after a
// start, and what they lead to may need a consent that is withdrawn.
func lookAtOrphans(found []Orphan, enqueue func(model.StackID)) {
	for _, o := range found {
		if o.ID.Kind == model.GlobalAccelerator {
			enqueue(o.ID)
		}
	}
}

// nestAccelerator adds what an error counts for besides: what fails at a kind of resource fails the deployment, and that,
// like a failed build, the whole run.
func nestAccelerator(found map[string]bool, failed []engine.FailedStep) {
	category := func(phase string) string { return stageOf(acceleratorController, phase) + "_error" }
	for _, f := range failed {
		if of, known := synthesizers[f.Step.Address.Kind]; known && !passes(f) {
			found[of] = true
		}
	}
	if found[category("plan")] || found[category("apply")] {
		found[category("run")] = true
	}
}
