package bindings

import (
	"context"
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// Draft makes the plan of a binding and changes nothing. What a process remembers is left out: what has not changed is
// compared with AWS all the same, and what is missing is taken for missing at once. False: there is no such binding.
func (r *Reconciler) Draft(ctx context.Context, key Key) (bindingplan.Preview, bool, error) {
	p := reader{&run{r: r, key: key, out: &Outcome{}}}
	f, err := p.facts()
	if err != nil {
		return bindingplan.Preview{}, false, err
	}
	if f.Absent {
		r.memory.forget(key) // since when drafts wait for other bindings
		return bindingplan.Preview{}, false, nil
	}
	f.Memory.DueIn, f.Memory.AbsentFor = 0, time.Hour
	if f.Stored.DeletionTimestamp == nil {
		if err := p.resolve(ctx, f); err != nil {
			return bindingplan.Preview{}, false, err
		}
	}
	plan, err := p.plan(ctx, f, bindingplan.Make)
	if err != nil {
		return bindingplan.Preview{}, false, err
	}
	var first, more []bindingplan.Step
	if hasStep[bindingplan.AddFinalizer](plan.Steps) {
		first, f.Claimed = plan.Steps, true
		if plan, err = p.plan(ctx, f, bindingplan.Make); err != nil {
			return bindingplan.Preview{}, false, err
		}
	}
	var changes []bindingplan.GroupChange
	var opening bindingplan.RulesResult
	for _, s := range plan.Steps {
		do, ok := s.Do.(bindingplan.SyncRules)
		if !ok || do.IfAsked {
			continue
		}
		var a bindingplan.AskedRules
		if changes, a, err = (rules{r}).draft(ctx, key, do.Leaving); err != nil {
			return bindingplan.Preview{}, false, fmt.Errorf("plan rules: %w", err)
		}
		opening = bindingplan.RulesResultOf(a).Warned()
	}
	if !plan.Unavailable && plan.Remove && !needsNoRemoval(plan.Steps) && f.Described != nil && f.Described.Spec.TargetGroupARN != "" {
		removal, err := p.plan(ctx, p.factsOfOther(f.Stored, f.Described, false), bindingplan.MakeRemoval)
		if err != nil {
			return bindingplan.Preview{}, false, err
		}
		more = removal.Steps
	}
	return bindingplan.PreviewOf(f, first, plan, more, changes, opening), true, nil
}

func hasStep[T bindingplan.Action](steps []bindingplan.Step) bool {
	for _, s := range steps {
		if _, ok := s.Do.(T); ok {
			return true
		}
	}
	return false
}

func needsNoRemoval(steps []bindingplan.Step) bool {
	for _, s := range steps {
		if s.Do == bindingplan.NoRemoval {
			return true
		}
	}
	return false
}
