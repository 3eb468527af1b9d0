package controller

import (
	"maps"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// servesAccelerators reports whether GlobalAccelerators are served where their definition is installed. The service
// must exist in the partition of the region.
func servesAccelerators(c config.Config) bool {
	return c.Gates.On(config.GlobalAcceleratorController) && services.HasAccelerators(services.Partition(c.AWS.Region))
}

// firstAcceleratorDelay is the wait after the first failure of an accelerator. What AWS refuses for it is seldom over
// sooner, and all of them share the few calls of one service.
const firstAcceleratorDelay = 5 * time.Second

// slowAccelerators are the waits of accelerators after failures.
func slowAccelerators(c config.Config) *queue.Slow[model.StackID] {
	return &queue.Slow[model.StackID]{
		Has:   func(id model.StackID) bool { return id.Kind == model.GlobalAccelerator },
		First: firstAcceleratorDelay, Longest: c.Workers.AcceleratorMaxBackoff,
	}
}

// acceleratorCategories are the words that dashboards know for what went wrong in a run over an accelerator. They are
// nested: what fails at a kind of resource fails the deployment, and that the whole run.
func acceleratorCategories(out engine.Outcome) []string {
	found := map[string]bool{}
	failed := func(phase string) { found[stageOf(acceleratorController, phase)+"_error"] = true }
	switch {
	case out.Err == nil || out.FailedIn == engine.Applying:
	case out.FailedIn == engine.Viewing, out.FailedIn == engine.Reporting:
		failed("run")
	default:
		failed("plan")
		failed("run")
	}
	if out.Findings.Reach() > finding.BlocksNothing {
		failed("plan")
		failed("run")
	}
	for _, f := range out.Failed {
		if passes(f) {
			continue
		}
		switch f.Step.Do.(type) {
		case plan.ClaimFinalizer:
			failed("claim")
		case plan.ReleaseFinalizer:
			failed("release")
		default:
			if of, known := synthesizers[f.Step.Address.Kind]; known {
				found[of] = true
			}
			failed("apply")
			failed("run")
		}
	}
	return slices.Sorted(maps.Keys(found))
}
