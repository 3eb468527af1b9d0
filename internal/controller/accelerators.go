package controller

import (
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// servesAccelerators reports whether the controller serves GlobalAccelerators when their CRD is installed. This is the case
// if the feature gate is on, and AWS Global Accelerator exists in the partition of the region.
func servesAccelerators(c config.Config) bool {
	return c.Gates.IsEnabled(config.GlobalAcceleratorController) && services.HasAccelerators(services.Partition(c.AWS.Region))
}

// enqueueOrphanAccelerators calls enqueue for each accelerator among the orphans. After a start, no event enqueues these
// stacks, because they have no object. These stacks need a run, because the owner of an endpoint may no longer permit the
// use of the endpoint.
func enqueueOrphanAccelerators(found []Orphan, enqueue func(model.StackID)) {
	for _, o := range found {
		if o.ID.Kind.HasAccelerator() {
			enqueue(o.ID)
		}
	}
}

// addParentCategories adds the error categories that other categories imply: a failed step also adds the category of the
// synthesizer for its kind of resource (synthesizerLabels). A failed plan or apply also adds the category of the whole run.
func addParentCategories(found map[string]bool, failed []engine.FailedStep) {
	category := func(phase string) string { return stageOf(model.GlobalAccelerator.ControllerName(), phase) + "_error" }
	for _, f := range failed {
		if of, known := synthesizerLabels[f.Step.Address.Kind]; known && !isTransientFailure(f) {
			found[of] = true
		}
	}
	if found[category("plan")] || found[category("apply")] {
		found[category("run")] = true
	}
}
