package rules

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// lowerHighPriorities moves rules whose priority numbers are close to the maximum of AWS to lower numbers, in their order,
// so that other rules can be placed after them. Rules may have numbers close to the maximum after an interrupted run. All
// later choices are made as if the rules had moved already.
func (ro *Rollout) lowerHighPriorities() {
	if ro.Listener.Live == nil || len(ro.Listener.Live.Rules) == 0 || ro.Listener.Desired.OrderHeld != 0 {
		return
	}
	rules := slices.Clone(ro.Listener.Live.Rules)
	if int(rules[len(rules)-1].Priority)+len(ro.Listener.Rules) <= MaxPriority-len(rules) {
		return
	}
	to := map[plan.Address]int32{}
	next := int32(stagePriority)
	for i := range rules {
		if r := &rules[i]; r.Priority >= next {
			if r.Priority != next {
				r.Priority = next
				to[plan.RuleAddress(r.ARN)] = next
			}
			next++
		}
	}
	if len(to) > 0 {
		ro.firstPriorities, ro.Listener.Live = to, listenerWithRules(ro.Listener.Live, rules)
	}
}

// planLowerPriorities plans the moves that lowerHighPriorities has chosen.
func (ro *Rollout) planLowerPriorities(after []plan.StepID) []plan.StepID {
	if len(ro.firstPriorities) == 0 {
		return nil
	}
	a := ro.Listener.Address()
	return []plan.StepID{ro.Add(plan.Step{
		ID: plan.NewStepID("lower-priorities", a), Address: a, Verb: plan.Update, Do: plan.SetPriorities{Priorities: ro.firstPriorities},
		Changes: []plan.Change{{Path: "priorities", To: fmt.Sprintf("%d and higher", stagePriority)}},
		Why:     "no priority is free after the last rule", After: slices.Clone(after), RequestedBy: ro.Listener.Desired.Members,
	})}
}

func listenerWithRules(l *observed.Listener, rules []observed.Rule) *observed.Listener {
	next := *l
	next.Rules = rules
	return &next
}
