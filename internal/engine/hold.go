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
	if stack.LoadBalancer == nil {
		return stack, false
	}
	alb := *stack.LoadBalancer
	alb.Listeners = slices.Clone(alb.Listeners)
	for i := range alb.Listeners {
		alb.Listeners[i].Rules = slices.Clone(alb.Listeners[i].Rules)
	}
	stack.LoadBalancer = &alb
	invalid, why := f.Class == Invalid && !f.PutOff, model.HeldRefused
	if invalid {
		why = model.HeldInvalid
	}
	s := f.Step
	switch do := s.Do.(type) {
	case plan.CreateRule, plan.ModifyRule:
		its := func(port int32, r model.Rule) bool { return !s.Rule.IsZero() && r.Key(port) == s.Rule }
		return stack, f.Class == Quota && s.Staged && changeInPlace(alb, its) || invalid && holdRules(alb, model.HeldInvalid, its) || holdRules(alb, model.HeldRefused, its)
	case plan.CreateTargetGroup:
		its := func(_ int32, r model.Rule) bool { return forwards(r.Actions, do.Group.ID) }
		rules := holdRules(alb, why, its)
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
		its := func(l model.Listener) bool { return s.Address.ID == naming.ListenerID(l.Port) }
		return stack, changeListeners(alb, its, func(l *model.Listener) bool { return raise(&l.OrderHeld, model.HeldRefused) })
	}
	return stack, false
}

// raise adds a reason to hold, and reports whether it was not there.
func raise(h *model.Held, why model.Held) bool {
	before := *h
	*h |= why
	return *h != before
}

func holdRules(alb model.LoadBalancer, why model.Held, refused func(port int32, r model.Rule) bool) bool {
	return changeRules(alb, refused, func(r *model.Rule) bool { return raise(&r.Held, why) })
}

// changeInPlace lets rules change in one call, where AWS has no room for the stages between.
func changeInPlace(alb model.LoadBalancer, refused func(port int32, r model.Rule) bool) bool {
	return changeRules(alb, refused, func(r *model.Rule) bool {
		before := r.InPlace
		r.InPlace = true
		return !before
	})
}

// changeRules changes some rules, and reports whether one was not so before.
func changeRules(alb model.LoadBalancer, which func(port int32, r model.Rule) bool, change func(*model.Rule) bool) (changed bool) {
	for i := range alb.Listeners {
		l, here := &alb.Listeners[i], false
		for j := range l.Rules {
			if which(l.Port, l.Rules[j]) {
				here = change(&l.Rules[j]) || here
			}
		}
		if here {
			l.Uncover()
		}
		changed = changed || here
	}
	return changed
}

func holdDefaults(alb model.LoadBalancer, refused func(model.Listener) bool) bool {
	return changeListeners(alb, refused, func(l *model.Listener) bool { return raise(&l.DefaultHeld, model.HeldRefused) })
}

func defaultInPlace(alb model.LoadBalancer, refused func(model.Listener) bool) bool {
	return changeListeners(alb, refused, func(l *model.Listener) bool {
		before := l.DefaultInPlace
		l.DefaultInPlace = true
		return !before
	})
}

// changeListeners changes some listeners, and reports whether one was not so before.
func changeListeners(alb model.LoadBalancer, which func(model.Listener) bool, change func(*model.Listener) bool) (changed bool) {
	for i := range alb.Listeners {
		if l := &alb.Listeners[i]; which(*l) {
			changed = change(l) || changed
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

func untag(alb model.LoadBalancer, a plan.Address) (changed bool) {
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
