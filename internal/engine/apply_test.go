package engine

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// TestRuleIsNotDeletedWhileAnotherExceedsTheQuota checks that a rule is not deleted while a quota has no room for another
// rule of the plan, because the next plan may replace the rule in place. This does not apply if the rule that could not be
// created is already planned with OverQuota.
func TestRuleIsNotDeletedWhileAnotherExceedsTheQuota(t *testing.T) {
	remove, modify := plan.DeleteRule{ARN: "rule"}, plan.ModifyRule{}
	failed := func(class failure.Class, do plan.Action) []FailedStep {
		return []FailedStep{{Step: plan.Step{Do: do}, Class: class}}
	}
	create := plan.CreateRule{}
	for name, c := range map[string]struct {
		step   plan.Action
		failed []FailedStep
		stays  bool
	}{
		"nothing failed":                      {remove, nil, false},
		"quota refuses another rule":          {remove, failed(failure.Quota, create), true},
		"quota refuses a rule with OverQuota": {remove, failed(failure.Quota, plan.CreateRule{Rule: model.Rule{OverQuota: true}}), false},
		"another rule is invalid":             {remove, failed(failure.Invalid, create), false},
		"quota refuses a target group":        {remove, failed(failure.Quota, plan.CreateTargetGroup{}), false},
		"step modifies a rule":                {modify, failed(failure.Quota, create), false},
	} {
		r := &run{}
		r.out = &Outcome{FailedSteps: c.failed}
		if stays := r.freesNeededCapacity(plan.Step{Do: c.step}); stays != c.stays {
			t.Errorf("%s: the rule is kept: %t, want %t", name, stays, c.stays)
		}
	}
}
