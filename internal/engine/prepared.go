package engine

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// A port is opened for a listener before that is made, and shut again where it cannot be made. While AWS is
// known to refuse the listener, or what it needs, the order is the other way round: the port is opened
// once the listener is there, so that attempts leave nothing behind that has to be taken away again.

// trialSteps returns the steps of a plan that only open ports for listeners that AWS has refused, or that were skipped,
// when it was called last.
func (r *run) trialSteps(p plan.Plan, stack model.Stack) map[plan.StepID]bool {
	opens := func(s plan.Step) bool {
		do, ok := s.Do.(plan.ChangeIngress)
		return ok && len(do.Revoke) == 0
	}
	if !slices.ContainsFunc(p.Steps, opens) || r.mem.refused.isEmpty() {
		return nil
	}
	doubtful := map[plan.StepID]bool{}
	var inDoubt func(id plan.StepID) bool
	inDoubt = func(id plan.StepID) bool {
		known, ok := doubtful[id]
		if !ok && len(p.Joins[id]) > 0 {
			known = slices.ContainsFunc(p.Joins[id], inDoubt)
			doubtful[id] = known
		}
		return known
	}
	dependents := map[plan.StepID]int{} // how many are not in doubt; none if there is no entry
	closed := map[plan.StepID]bool{}    // ports that AWS refuses to open; their listeners are not made
	for _, s := range p.Steps {
		refused := r.mem.refused.isRefused(keyOf(s, stack))
		closed[s.ID] = refused && opens(s)
		doubtful[s.ID] = slices.ContainsFunc(s.After, inDoubt) || refused && !opens(s)
		for _, id := range s.After {
			n := 0
			if !doubtful[s.ID] {
				n = 1
			}
			dependents[id] += n
		}
	}
	out := map[plan.StepID]bool{}
	for _, s := range p.Steps {
		if n, prepares := dependents[s.ID]; prepares && n == 0 && opens(s) && !closed[s.ID] {
			out[s.ID] = true
		}
	}
	return out
}

// isRefused reports whether AWS has refused a step when it was called last, or others of its kind.
func (s *refusals) isRefused(k stepKey) bool {
	return s.steps[k] != nil || slices.ContainsFunc(k.scopes(), func(sc scope) bool { return sc.closes && s.scopes[sc] != nil })
}
