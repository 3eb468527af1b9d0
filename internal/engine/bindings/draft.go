package bindings

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// DraftPlan makes the plan of a binding and changes nothing. It returns false if the binding does not exist. It does not use
// the memory of the process: an unchanged binding is compared with AWS, and a missing Service is treated as deleted
// immediately.
func (r *Reconciler) DraftPlan(ctx context.Context, key Key) (bindingplan.Preview, bool, error) {
	p := reader{&run{r: r, key: key, out: &Outcome{}}}
	f, err := p.initialFacts()
	if err != nil {
		return bindingplan.Preview{}, false, err
	}
	if f.Absent {
		r.memory.forget(key) // an earlier draft may have stored that the binding waits for other bindings
		return bindingplan.Preview{}, false, nil
	}
	f.Memory.ComparisonDueIn, f.Memory.AbsentFor = 0, time.Hour
	if f.StoredBinding.DeletionTimestamp == nil {
		if err := p.resolveEndpoints(ctx, f); err != nil {
			return bindingplan.Preview{}, false, err
		}
	}
	plan, err := p.makePlan(ctx, f, bindingplan.Make)
	if err != nil {
		return bindingplan.Preview{}, false, err
	}
	var first, more []bindingplan.Step
	var removalError error
	if addsFinalizer(plan.Steps) {
		first, f.FinalizerAdded = plan.Steps, true
		if plan, err = p.makePlan(ctx, f, bindingplan.Make); err != nil {
			return bindingplan.Preview{}, false, err
		}
	}
	var changes []bindingplan.SecurityGroupChange
	var opening bindingplan.RulesResult
	for _, s := range plan.Steps {
		do, ok := s.Do.(bindingplan.SyncRules)
		if !ok || do.OnlyIfRequested {
			continue
		}
		var a bindingplan.RequestedRules
		if changes, a, err = (ruleSyncer{r}).draftRuleChanges(ctx, key, do.ExcludeBinding); err != nil {
			return bindingplan.Preview{}, false, fmt.Errorf("plan rules: %w", err)
		}
		opening = bindingplan.RulesResultOf(a).WithPendingENIFindings()
	}
	if !plan.TargetsUnavailable && plan.NeedsRemoval && !skipsRemoval(plan.Steps) && f.CompletedBinding != nil && f.CompletedBinding.Spec.TargetGroupARN != "" {
		removal, err := p.makePlan(ctx, p.removalFacts(f.StoredBinding, f.CompletedBinding, false), bindingplan.MakeRemoval)
		if err != nil {
			return bindingplan.Preview{}, false, err
		}
		more, removalError = removal.Steps, removal.ReadError()
	}
	preview := bindingplan.PreviewOf(f, first, plan, more, changes, opening)
	preview.ReadError = cmp.Or(preview.ReadError, removalError)
	return preview, true, nil
}

func addsFinalizer(steps []bindingplan.Step) bool {
	return slices.ContainsFunc(steps, func(s bindingplan.Step) bool {
		_, adds := s.Do.(bindingplan.AddFinalizer)
		return adds
	})
}

// skipsRemoval reports whether one of the steps records that no targets of deleted pods have to be removed.
func skipsRemoval(steps []bindingplan.Step) bool {
	return slices.ContainsFunc(steps, func(s bindingplan.Step) bool { return s.Do == bindingplan.RecordRemovalNotNeeded })
}
