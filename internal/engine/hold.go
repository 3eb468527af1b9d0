package engine

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func isRule(s plan.Step) bool { return s.Address.Kind == plan.Rule }

// held reports whether the stack goes on without a failed step: AWS refuses it, or has failed at it
// so often that the others do not wait for it any more.
func (f FailedStep) held() bool {
	if f.kubernetes() {
		return false
	}
	switch f.Class {
	case Invalid, Denied, Quota:
		return true
	case Unknown:
		return f.PutOff || f.Row >= unknownHold
	}
	return false
}

// hold returns the stack with that held whose step AWS has refused: exactly the rule that the step is
// for, all that forward to a target group that could not be made, the tags of something shared that is
// to be made, or else the default action of a listener. False means that the step is about nothing of
// these. What is refused for its values is held as what its member wrote wrong; what is refused for
// another reason stays as it is.
func hold(stack model.Stack, f FailedStep) (model.Stack, bool) {
	if stack.ALB == nil {
		return stack, false
	}
	alb := *stack.ALB
	alb.Listeners = slices.Clone(alb.Listeners)
	for i := range alb.Listeners {
		alb.Listeners[i].Rules = slices.Clone(alb.Listeners[i].Rules)
	}
	stack.ALB = &alb
	invalid := f.Class == Invalid && !f.PutOff
	s := f.Step
	switch do := s.Do.(type) {
	case plan.CreateRule, plan.ModifyRule:
		its := func(port int32, r model.Rule) bool { return !s.Rule.IsZero() && r.Key(port) == s.Rule }
		return stack, f.Class == Quota && s.Staged && changeInPlace(alb, its) || invalid && holdRules(alb, its) || stayRules(alb, its)
	case plan.CreateTargetGroup:
		its := func(_ int32, r model.Rule) bool { return forwards(r.Actions, do.Group.ID) }
		rules := invalid && holdRules(alb, its) || !invalid && stayRules(alb, its)
		byDefault := holdDefaults(alb, func(l model.Listener) bool { return forwards(l.Default, do.Group.ID) })
		return stack, rules || byDefault
	case plan.CreateLoadBalancer:
		// Made without the tags, which are refused by themselves then, it serves.
		tags := invalid && s.Address.ID == model.LoadBalancerID && len(alb.Tags) > 0
		alb.Tags = nil
		return stack, tags
	case plan.CreateListener:
		return stack, invalid && (untag(alb, s.Address) || holdDefaults(alb, ownDefault(s.Address)))
	case plan.ModifyListener:
		its := func(l model.Listener) bool { return s.Address.ID == naming.ListenerID(l.Port) }
		if f.Class == Quota && s.Staged && defaultInPlace(alb, its) {
			return stack, true
		}
		if invalid {
			its = ownDefault(s.Address)
		}
		return stack, holdDefaults(alb, its)
	case plan.SetPriorities:
		return stack, changeListeners(alb, func(l model.Listener) bool { return s.Address.ID == naming.ListenerID(l.Port) },
			func(l *model.Listener) *bool { return &l.KeepOrder })
	}
	return stack, false
}

func holdRules(alb model.ALB, refused func(port int32, r model.Rule) bool) bool {
	return changeRules(alb, refused, func(r *model.Rule) *bool { return &r.Held })
}

// stayRules keeps rules as they are in AWS, or leaves them out.
func stayRules(alb model.ALB, refused func(port int32, r model.Rule) bool) bool {
	return changeRules(alb, refused, func(r *model.Rule) *bool { return &r.Stays })
}

// changeInPlace lets rules change in one call, where AWS has no room for the stages between.
func changeInPlace(alb model.ALB, refused func(port int32, r model.Rule) bool) bool {
	return changeRules(alb, refused, func(r *model.Rule) *bool { return &r.InPlace })
}

// changeRules sets a flag of some rules, and reports whether one did not have it.
func changeRules(alb model.ALB, which func(port int32, r model.Rule) bool, flag func(*model.Rule) *bool) (changed bool) {
	for _, l := range alb.Listeners {
		for j := range l.Rules {
			if f := flag(&l.Rules[j]); !*f && which(l.Port, l.Rules[j]) {
				*f, changed = true, true
			}
		}
	}
	return changed
}

func holdDefaults(alb model.ALB, refused func(model.Listener) bool) bool {
	return changeListeners(alb, refused, func(l *model.Listener) *bool { return &l.DefaultHeld })
}

func defaultInPlace(alb model.ALB, refused func(model.Listener) bool) bool {
	return changeListeners(alb, refused, func(l *model.Listener) *bool { return &l.DefaultInPlace })
}

// changeListeners sets a flag of some listeners, and reports whether one did not have it.
func changeListeners(alb model.ALB, which func(model.Listener) bool, flag func(*model.Listener) *bool) (changed bool) {
	for i := range alb.Listeners {
		l := &alb.Listeners[i]
		if f := flag(l); !*f && which(*l) {
			*f, changed = true, true
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
