package controller

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// TestAcceleratorsHaveTheirOwnMaximumBackOff checks that the back-off of accelerators starts at 5 seconds and ends at
// AcceleratorMaxBackoff. The back-off of other stacks starts at 5 milliseconds and ignores AcceleratorMaxBackoff.
func TestAcceleratorsHaveTheirOwnMaximumBackOff(t *testing.T) {
	c := config.Default()
	c.Workers.AcceleratorMaxBackoff = time.Minute
	limiter := newStackBackOff(c)
	for _, kind := range []model.Kind{model.Ingress, model.Service, model.ALBGateway, model.NLBGateway, model.GlobalAccelerator} {
		id := model.StackID{Kind: kind, Namespace: "shop", Name: "web"}
		waits := []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond}
		if kind == model.GlobalAccelerator {
			waits = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute}
		}
		for i, want := range waits {
			if got := limiter.When(id); got != want || limiter.NumRequeues(id) != i+1 {
				t.Errorf("%s: %s after %d failures, want %s", kind, got, i+1, want)
			}
		}
		limiter.Forget(id)
		if got := limiter.When(id); got != waits[0] {
			t.Errorf("%s: %s after a success", kind, got)
		}
	}
}

// TestAcceleratorErrorCategories checks that the error categories and stages in the metrics of accelerators are those that
// existing dashboards use.
func TestAcceleratorErrorCategories(t *testing.T) {
	broken := errors.New("broken")
	step := func(kind plan.ResourceKind, do plan.Action, c failure.Class) engine.FailedStep {
		return engine.FailedStep{Step: plan.Step{Do: do, Address: plan.Address{Kind: kind}}, Class: c, Err: broken}
	}
	const run, deploy = "reconcile_globalaccelerator_error", "deploy_stack_error"
	for name, c := range map[string]struct {
		out  engine.Outcome
		want []string
	}{
		"nothing failed":                  {engine.Outcome{}, nil},
		"the cluster could not be read":   {engine.Outcome{Err: broken, FailedPhase: engine.ViewPhase}, []string{run}},
		"the status could not be written": {engine.Outcome{Err: broken, FailedPhase: engine.ReportPhase}, []string{run}},
		"AWS could not be read":           {engine.Outcome{Err: broken, FailedPhase: engine.ObservePhase}, []string{"build_model_error", run}},
		"something is written wrong":      {engine.Outcome{Findings: finding.List{{Blocks: finding.BlocksListener}}}, []string{"build_model_error", run}},
		"an endpoint is left out":         {engine.Outcome{Findings: finding.List{{Severity: finding.Warning}}}, nil},
		"an accelerator is refused":       {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.Accelerator, nil, failure.Denied)}}, []string{"*aga.acceleratorSynthesizer", deploy, run}},
		"a listener is refused":           {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.AcceleratorListener, nil, failure.Invalid)}}, []string{"*aga.listenerSynthesizer", deploy, run}},
		"an endpoint group is refused":    {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.EndpointGroup, nil, failure.Quota)}}, []string{"*aga.endpointGroupSynthesizer", deploy, run}},
		"AWS is busy":                     {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.Accelerator, nil, failure.NotReady)}}, nil},
		"a finalizer is not written":      {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.Finalizer, plan.ClaimFinalizer{}, failure.Denied)}}, []string{"add_finalizers_error"}},
		"a finalizer is not removed":      {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.Finalizer, plan.ReleaseFinalizer{}, failure.Denied)}}, []string{"remove_finalizers_error"}},
	} {
		if d := cmp.Diff(c.want, errorCategories(model.GlobalAccelerator, c.out)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	stages := map[string]string{
		"view": "fetch_globalAccelerator", "claim": "add_finalizers", "plan": "build_model", "apply": "deploy_stack", "run": "reconcile_globalaccelerator",
		string(plan.Accelerator): "*aga.acceleratorSynthesizer", string(plan.AcceleratorListener): "*aga.listenerSynthesizer", string(plan.EndpointGroup): "*aga.endpointGroupSynthesizer",
	}
	for phase, want := range stages {
		if got := stageOf(model.GlobalAccelerator.ControllerName(), phase); got != want {
			t.Errorf("%s is %s, want %s", phase, got, want)
		}
	}
	if model.GlobalAccelerator.ControllerName() != "globalAccelerator" || model.GlobalAccelerator.ConsumerName() != "globalaccelerator" {
		t.Error(model.GlobalAccelerator.ControllerName(), model.GlobalAccelerator.ConsumerName())
	}
}

// TestOrphanAcceleratorsAreEnqueued checks that enqueueOrphanAccelerators enqueues the accelerators among the orphans, and
// no other stacks.
func TestOrphanAcceleratorsAreEnqueued(t *testing.T) {
	t.Parallel()
	orphan := model.StackID{Kind: model.GlobalAccelerator, Namespace: "shop", Name: "edge"}
	var got []model.StackID
	enqueueOrphanAccelerators([]Orphan{{ID: orphan}, {ID: model.StackID{Kind: model.Ingress, Name: "web"}}}, func(id model.StackID) { got = append(got, id) })
	if !slices.Equal(got, []model.StackID{orphan}) {
		t.Errorf("got %v", got)
	}
}
