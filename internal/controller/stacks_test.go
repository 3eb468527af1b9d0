package controller

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func TestStackErrorCategories(t *testing.T) {
	broken := errors.New("broken")
	step := func(do plan.Action, c failure.Class) engine.FailedStep {
		return engine.FailedStep{Step: plan.Step{Do: do}, Class: c, Err: broken}
	}
	for name, c := range map[string]struct {
		out  engine.Outcome
		want []string
	}{
		"nothing failed":                        {engine.Outcome{}, nil},
		"the cluster could not be read":         {engine.Outcome{Err: broken, FailedPhase: engine.ViewPhase}, []string{"fetch_ingress_error"}},
		"AWS could not be read":                 {engine.Outcome{Err: broken, FailedPhase: engine.ObservePhase}, []string{"build_model_error"}},
		"the status could not be written":       {engine.Outcome{Err: broken, FailedPhase: engine.ReportPhase}, []string{"dns_resolve_and_update_status_error"}},
		"something is written wrong":            {engine.Outcome{Findings: finding.List{{Blocks: finding.BlocksRule}}}, []string{"build_model_error"}},
		"advice is no failure":                  {engine.Outcome{Findings: finding.List{{Severity: finding.Warning}}}, nil},
		"AWS refuses, and it is tried again":    {engine.Outcome{Err: broken, FailedPhase: engine.ApplyPhase, FailedSteps: []engine.FailedStep{step(plan.CreateRule{}, failure.Unknown)}}, []string{"deploy_model_error"}},
		"AWS refuses for good":                  {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.CreateRule{}, failure.Denied), step(plan.CreateRule{}, failure.Denied)}}, []string{"deploy_model_error"}},
		"what is in use is waited for":          {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.DeleteSecurityGroup{}, failure.InUse)}}, nil},
		"a finalizer could not be written":      {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.ClaimFinalizer{}, failure.Denied)}}, []string{"add_group_finalizer_error"}},
		"a finalizer could not be removed, too": {engine.Outcome{FailedSteps: []engine.FailedStep{step(plan.ReleaseFinalizer{}, failure.Denied), step(plan.CreateRule{}, failure.Invalid)}}, []string{"deploy_model_error", "remove_group_finalizer_error"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, errorCategories(model.Ingress, c.out)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	failed := engine.Outcome{Err: broken, FailedPhase: engine.ViewPhase, FailedSteps: []engine.FailedStep{step(plan.ReleaseFinalizer{}, failure.Denied), step(plan.ClaimFinalizer{}, failure.Denied)}}
	if d := cmp.Diff([]string{"add_finalizers_error", "cleanup_load_balancer_error", "fetch_service_error"}, errorCategories(model.Service, failed)); d != "" {
		t.Errorf("of a Service (-want +got):\n%s", d)
	}
}
