package engine

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func isRule(s plan.Step) bool { return s.Address.Kind == plan.Rule }

// hold returns the stack with that held whose step AWS has refused: the rule itself, all that
// forward to a target group that could not be made, the tags of something shared that is to be made,
// or else the default action of a listener. False means that the step is about nothing of these.
func hold(stack model.Stack, s plan.Step) (model.Stack, bool) {
	if stack.ALB == nil {
		return stack, false
	}
	alb := *stack.ALB
	alb.Listeners = slices.Clone(alb.Listeners)
	for i := range alb.Listeners {
		alb.Listeners[i].Rules = slices.Clone(alb.Listeners[i].Rules)
	}
	stack.ALB = &alb
	switch do := s.Do.(type) {
	case plan.CreateRule, plan.ModifyRule:
		return stack, holdRule(alb, s.Rule)
	case plan.CreateTargetGroup:
		rules := holdRules(alb, func(_ int32, r model.Rule) bool { return forwards(r.Actions, do.Group.ID) })
		byDefault := holdDefaults(alb, func(l model.Listener) bool { return forwards(l.Default, do.Group.ID) })
		return stack, rules || byDefault
	case plan.CreateLoadBalancer:
		// Made without the tags, which are refused by themselves then, it serves.
		tags := s.Address.ID == model.LoadBalancerID && len(alb.Tags) > 0
		alb.Tags = nil
		return stack, tags
	case plan.CreateListener:
		return stack, untag(alb, s.Address) || holdDefaults(alb, ownDefault(s.Address))
	case plan.ModifyListener:
		return stack, holdDefaults(alb, ownDefault(s.Address))
	}
	return stack, false
}

// holdRule holds the one rule of a key. Where it is held already, it is the 503 in its place that
// AWS refuses, and that is left out.
func holdRule(alb model.ALB, key model.RuleKey) bool {
	if key.IsZero() {
		return false
	}
	its := func(port int32, r model.Rule) bool { return r.Key(port) == key }
	if holdRules(alb, its) {
		return true
	}
	changed := false
	for _, l := range alb.Listeners {
		for j := range l.Rules {
			if r := &l.Rules[j]; !r.Stays && its(l.Port, *r) {
				r.Stays, changed = true, true
			}
		}
	}
	return changed
}

func holdRules(alb model.ALB, refused func(port int32, r model.Rule) bool) (changed bool) {
	for _, l := range alb.Listeners {
		for j := range l.Rules {
			if !l.Rules[j].Held && refused(l.Port, l.Rules[j]) {
				l.Rules[j].Held, changed = true, true
			}
		}
	}
	return changed
}

func holdDefaults(alb model.ALB, refused func(model.Listener) bool) (changed bool) {
	for i := range alb.Listeners {
		if l := &alb.Listeners[i]; !l.DefaultHeld && refused(*l) {
			l.DefaultHeld, changed = true, true
		}
	}
	return changed
}

// ownDefault is for the listener of an address, if a member gave it its default action.
func ownDefault(a plan.Address) func(model.Listener) bool {
	return func(l model.Listener) bool {
		return a.ID == naming.ListenerID(l.Port) && !l.DefaultOf.Object.IsZero()
	}
}

func untag(alb model.ALB, a plan.Address) (changed bool) {
	for i := range alb.Listeners {
		if l := &alb.Listeners[i]; a.ID == naming.ListenerID(l.Port) && len(l.Tags) > 0 {
			l.Tags, changed = nil, true
		}
	}
	return changed
}

func forwards(actions []model.Action, group string) bool {
	return slices.ContainsFunc(actions, func(a model.Action) bool {
		f, ok := a.(model.Forward)
		return ok && slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool { return g.Group.ID == group })
	})
}
