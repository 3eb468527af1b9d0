package engine

import (
	"context"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/engine/refused"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// splitStep divides a step that AWS refused because of an invalid value. It returns no steps if the step cannot be divided,
// or failed for another reason.
func splitStep(f FailedStep) []plan.Step {
	if f.Class != failure.Invalid {
		return nil
	}
	return refused.SplitStep(f.Step)
}

// carryOutParts carries out the parts of a divided step, and reports whether all of them succeeded. Parts that were skipped
// in earlier runs are called first, so that a member that repeatedly writes new invalid values cannot delay the parts of
// other members forever.
func (r *run) carryOutParts(ctx context.Context, p plan.Plan, parts []plan.Step, stack model.Stack, known plan.KnownIDs) (bool, error) {
	order := func(s plan.Step) int {
		if r.mem.stepRefusals.wasSkipped(stepKeyOf(s, stack)) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(parts, func(x, y plan.Step) int { return order(x) - order(y) })
	carried := map[plan.StepID]bool{}
	for _, s := range parts {
		isPart := func(id plan.StepID) bool {
			return slices.ContainsFunc(parts, func(o plan.Step) bool { return o.ID == id })
		}
		if slices.ContainsFunc(s.After, func(id plan.StepID) bool { return !carried[id] && isPart(id) }) {
			continue
		}
		ok, err := r.carryOut(ctx, p, s, stack, known)
		if err != nil {
			return false, err
		}
		carried[s.ID] = ok
	}
	return !slices.ContainsFunc(parts, func(s plan.Step) bool { return !carried[s.ID] }), nil
}
