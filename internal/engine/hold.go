package engine

import (
	"reflect"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func isRule(s plan.Step) bool { return s.Address.Kind == plan.Rule }

// hold returns the stack with the rules held whose step AWS has refused: the rule itself, or all
// that forward to a target group that could not be made. False means that the step is nobody's
// rule.
func hold(stack model.Stack, s plan.Step) (model.Stack, bool) {
	var refused func(model.Rule) bool
	switch do := s.Do.(type) {
	case plan.CreateRule:
		refused = func(r model.Rule) bool { return sameRule(r, do.Rule.Conditions) }
	case plan.ModifyRule:
		refused = func(r model.Rule) bool { return sameRule(r, do.Conditions) }
	case plan.CreateTargetGroup:
		refused = func(r model.Rule) bool { return forwards(r.Actions, do.Group.ID) }
	default:
		return stack, false
	}
	if stack.ALB == nil {
		return stack, false
	}
	alb := *stack.ALB
	alb.Listeners = slices.Clone(alb.Listeners)
	changed := false
	for i := range alb.Listeners {
		l := &alb.Listeners[i]
		l.Rules = slices.Clone(l.Rules)
		for j := range l.Rules {
			if !l.Rules[j].Held && refused(l.Rules[j]) {
				l.Rules[j].Held, changed = true, true
			}
		}
		if do, ok := s.Do.(plan.CreateTargetGroup); ok && !l.DefaultHeld && forwards(l.Default, do.Group.ID) {
			l.DefaultHeld, changed = true, true
		}
	}
	stack.ALB = &alb
	return stack, changed
}

func sameRule(r model.Rule, conditions []model.Condition) bool {
	return reflect.DeepEqual(r.Conditions, conditions)
}

func forwards(actions []model.Action, group string) bool {
	return slices.ContainsFunc(actions, func(a model.Action) bool {
		f, ok := a.(model.Forward)
		return ok && slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool { return g.Group.ID == group })
	})
}
