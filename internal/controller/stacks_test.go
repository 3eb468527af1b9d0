package controller

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func TestStackErrorCategories(t *testing.T) {
	broken := errors.New("broken")
	step := func(do plan.Action, c engine.Class) engine.FailedStep {
		return engine.FailedStep{Step: plan.Step{Do: do}, Class: c, Err: broken}
	}
	for name, c := range map[string]struct {
		out  engine.Outcome
		want []string
	}{
		"nothing failed":                        {engine.Outcome{}, nil},
		"the cluster could not be read":         {engine.Outcome{Err: broken, FailedIn: engine.Viewing}, []string{"fetch_ingress_error"}},
		"AWS could not be read":                 {engine.Outcome{Err: broken, FailedIn: engine.Observing}, []string{"build_model_error"}},
		"the status could not be written":       {engine.Outcome{Err: broken, FailedIn: engine.Reporting}, []string{"dns_resolve_and_update_status_error"}},
		"something is written wrong":            {engine.Outcome{Findings: finding.List{{Blocks: finding.BlocksRule}}}, []string{"build_model_error"}},
		"advice is no failure":                  {engine.Outcome{Findings: finding.List{{Severity: finding.Warning}}}, nil},
		"AWS refuses, and it is tried again":    {engine.Outcome{Err: broken, FailedIn: engine.Applying, Failed: []engine.FailedStep{step(plan.CreateRule{}, engine.Unknown)}}, []string{"deploy_model_error"}},
		"AWS refuses for good":                  {engine.Outcome{Failed: []engine.FailedStep{step(plan.CreateRule{}, engine.Denied), step(plan.CreateRule{}, engine.Denied)}}, []string{"deploy_model_error"}},
		"what is in use is waited for":          {engine.Outcome{Failed: []engine.FailedStep{step(plan.DeleteSecurityGroup{}, engine.InUse)}}, nil},
		"a finalizer could not be written":      {engine.Outcome{Failed: []engine.FailedStep{step(plan.ClaimFinalizer{}, engine.Denied)}}, []string{"add_group_finalizer_error"}},
		"a finalizer could not be removed, too": {engine.Outcome{Failed: []engine.FailedStep{step(plan.ReleaseFinalizer{}, engine.Denied), step(plan.CreateRule{}, engine.Invalid)}}, []string{"deploy_model_error", "remove_group_finalizer_error"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, errorCategories(model.Ingress, c.out)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	failed := engine.Outcome{Err: broken, FailedIn: engine.Viewing, Failed: []engine.FailedStep{step(plan.ReleaseFinalizer{}, engine.Denied), step(plan.ClaimFinalizer{}, engine.Denied)}}
	if d := cmp.Diff([]string{"add_finalizers_error", "cleanup_load_balancer_error", "fetch_service_error"}, errorCategories(model.Service, failed)); d != "" {
		t.Errorf("of a Service (-want +got):\n%s", d)
	}
}
