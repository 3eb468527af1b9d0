package engine

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// A port of the managed security group is opened before its listener is created, and closed again if the listener cannot be
// created. If AWS refused the listener, or a step that the listener needs, at the last attempt, the order is reversed: the
// port is opened after the listener was created. A failed attempt then leaves no open port.

// portStepsOfRefusedListeners returns the steps of a plan that open ports only for recently refused listeners. A
// listener is recently refused if AWS refused the listener, or a step that it needs, at the last attempt.
func (r *run) portStepsOfRefusedListeners(p plan.Plan, stack model.Stack) map[plan.StepID]bool {
	opens := func(s plan.Step) bool {
		do, ok := s.Do.(plan.ChangeIngress)
		return ok && len(do.Revoke) == 0
	}
	if !slices.ContainsFunc(p.Steps, opens) || r.mem.stepRefusals.isEmpty() {
		return nil
	}
	recentlyRefused := map[plan.StepID]bool{}
	var isRecentlyRefused func(id plan.StepID) bool
	isRecentlyRefused = func(id plan.StepID) bool {
		known, ok := recentlyRefused[id]
		if !ok && len(p.Joins[id]) > 0 {
			known = slices.ContainsFunc(p.Joins[id], isRecentlyRefused)
			recentlyRefused[id] = known
		}
		return known
	}
	dependents := map[plan.StepID]int{} // number of steps that depend on a step and are not recently refused; no entry for a step on which no step depends
	closed := map[plan.StepID]bool{}    // steps that open ports and that AWS refuses; their listeners are not created
	for _, s := range p.Steps {
		refused := r.mem.stepRefusals.isRefused(stepKeyOf(s, stack))
		closed[s.ID] = refused && opens(s)
		recentlyRefused[s.ID] = slices.ContainsFunc(s.After, isRecentlyRefused) || refused && !opens(s)
		for _, id := range s.After {
			n := 0
			if !recentlyRefused[s.ID] {
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

// isRefused reports whether AWS refused a step at its last call, or closed scopes of similar steps include the step.
func (s *refusals) isRefused(k stepKey) bool {
	return s.steps[k] != nil || slices.ContainsFunc(k.scopes(), func(sc scope) bool { return sc.closes && s.scopes[sc] != nil })
}
