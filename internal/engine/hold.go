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
	if f.isKubernetes() {
		_, claims := f.Step.Do.(plan.ClaimFinalizer)
		return claims && f.Class != Fenced && !(f.Called && (f.Class == Gone || f.Class == Conflict))
	}
	switch f.Class {
	case Invalid, Denied, Quota:
		return true
	case Unknown:
		return f.Skipped || f.Row >= unknownHold
	}
	return false
}

// lacksCapacity reports whether AWS has no room for a new rule, or for what it brings along.
func (f FailedStep) lacksCapacity() bool {
	_, creates := f.Step.Do.(plan.CreateRule)
	return creates && f.Class == Quota
}

// holding is a stack while steps of it are held. What it changes it copies, once for all steps, because a
// stack may have thousands of rules and hundreds of refusals.
type holding struct {
	stack model.Stack
	own   bool         // the load balancer and its list of listeners are copies
	rules map[int]bool // listeners, by index, whose rules are copies
}

func (h *holding) loadBalancer() *model.LoadBalancer {
	if !h.own {
		lb := *h.stack.LoadBalancer
		lb.Listeners = slices.Clone(lb.Listeners)
		h.stack.LoadBalancer, h.own, h.rules = &lb, true, map[int]bool{}
	}
	return h.stack.LoadBalancer
}

// hold holds that of the stack whose step AWS has refused, and reports whether this changes it: exactly the
// rule that the step is for, all that forward to a target group that could not be made, the tags of
// something shared that is to be made, or else the default action of a listener. What is refused for its
// values is held as what its member wrote wrong; what is refused for another reason stays as it is.
func (h *holding) hold(f FailedStep) bool {
	if h.stack.LoadBalancer == nil {
		return false
	}
	lb := h.loadBalancer()
	invalid, why := f.Class == Invalid && !f.Skipped, model.HeldRefused
	if invalid {
		why = model.HeldInvalid
	}
	s := f.Step
	switch do := s.Do.(type) {
	case plan.ClaimFinalizer:
		// Nothing is made for the member before that, and the changes of others to the same listeners do not wait for it.
		rules := h.holdRules(model.HeldRefused, func(_ int32, r *model.Rule) bool { return r.Member == do.Ref })
		return holdDefaults(lb, func(l model.Listener) bool { return l.DefaultOf.Object == do.Ref }) || rules
	case plan.CreateRule, plan.ModifyRule:
		its := func(port int32, r *model.Rule) bool { return !s.Rule.IsZero() && r.Key(port) == s.Rule }
		if f.lacksCapacity() && !(s.Staged && perStep[codeOf(f.Err)]) {
			return h.changeRules(its, func(r *model.Rule) bool { return setFlag(&r.NoRoom) })
		}
		return f.Class == Quota && s.Staged && h.changeInPlace(its) || invalid && h.holdRules(model.HeldInvalid, its) || h.holdRules(model.HeldRefused, its)
	case plan.CreateTargetGroup:
		if f.computedNameTaken() {
			return h.avoidGroupName(do.Group.ID, do.Group.Name)
		}
		if s.Impact == plan.ReplaceImpact && !invalid && !h.stack.Held.Replacement {
			// Without it the new load balancer would serve less than the one whose place it takes.
			h.stack.Held.Replacement = true
			return true
		}
		its := func(_ int32, r *model.Rule) bool { return forwards(r.Actions, do.Group.ID) }
		rules := h.holdRules(why, its)
		byDefault := holdDefaults(lb, func(l model.Listener) bool { return forwards(l.Default, do.Group.ID) })
		return rules || byDefault
	case plan.CreateLoadBalancer:
		if f.computedNameTaken() {
			return h.avoidName(s.Address.ID, do.Name)
		}
		// Made without the tags, which are refused by themselves then, it serves.
		its := s.Address.ID == model.LoadBalancerID
		if its && invalid && len(lb.Tags) > 0 {
			lb.Tags = nil
			return true
		}
		if its && s.Impact == plan.ReplaceImpact && !h.stack.Held.Replacement {
			h.stack.Held.Replacement = true
			return true
		}
		return false
	case plan.CreateListener:
		return invalid && (untag(lb, s.Address) || holdDefaults(lb, ownDefault(s.Address)))
	case plan.ModifyListener:
		its := func(l model.Listener) bool { return s.Address.ID == naming.ListenerID(l.Port) }
		if f.Class == Quota && s.Staged && defaultInPlace(lb, its) {
			return true
		}
		if invalid {
			its = ownDefault(s.Address)
		}
		return holdDefaults(lb, its)
	case plan.AddCertificate:
		its := func(l model.Listener) bool { return s.Address.ID == naming.ListenerID(l.Port) && l.TLS != nil }
		return changeListeners(lb, its, func(l *model.Listener) bool { return refuseCertificate(l, do.ARN, f.Class == Quota) })
	case plan.SetPriorities:
		its := func(l model.Listener) bool { return s.Address.ID == naming.ListenerID(l.Port) }
		return changeListeners(lb, its, func(l *model.Listener) bool { return markHeld(&l.OrderHeld, model.HeldRefused) })
	}
	return false
}

// setFlag sets a flag, and reports whether it was not set.
func setFlag(flag *bool) bool {
	before := *flag
	*flag = true
	return !before
}

// markHeld adds a reason to hold, and reports whether it was not there.
func markHeld(h *model.Held, why model.Held) bool {
	before := *h
	*h |= why
	return *h != before
}

func (h *holding) holdRules(why model.Held, refused func(port int32, r *model.Rule) bool) bool {
	return h.changeRules(refused, func(r *model.Rule) bool { return markHeld(&r.Held, why) })
}

// changeInPlace lets rules change in one call, where AWS has no room for the stages between.
func (h *holding) changeInPlace(refused func(port int32, r *model.Rule) bool) bool {
	return h.changeRules(refused, func(r *model.Rule) bool { return setFlag(&r.InPlace) })
}

// changeRules changes some rules, and reports whether one was not so before.
func (h *holding) changeRules(which func(port int32, r *model.Rule) bool, change func(*model.Rule) bool) (changed bool) {
	lb := h.loadBalancer()
	for i := range lb.Listeners {
		l, here := &lb.Listeners[i], false
		for j := range l.Rules {
			if !which(l.Port, &l.Rules[j]) {
				continue
			}
			if !h.rules[i] {
				l.Rules, h.rules[i] = slices.Clone(l.Rules), true
			}
			here = change(&l.Rules[j]) || here
		}
		if here {
			l.Uncover()
		}
		changed = changed || here
	}
	return changed
}

// refuseCertificate goes on without a certificate, so that the removal of others does not wait for it.
func refuseCertificate(l *model.Listener, arn string, lacksRoom bool) bool {
	if slices.Contains(l.TLS.Refused, arn) || slices.Contains(l.TLS.NoRoom, arn) {
		return false
	}
	tls := *l.TLS
	to := &tls.Refused
	if lacksRoom {
		to = &tls.NoRoom
	}
	*to = append(slices.Clone(*to), arn)
	l.TLS = &tls
	return true
}

func holdDefaults(lb *model.LoadBalancer, refused func(model.Listener) bool) bool {
	return changeListeners(lb, refused, func(l *model.Listener) bool { return markHeld(&l.DefaultHeld, model.HeldRefused) })
}

func defaultInPlace(lb *model.LoadBalancer, refused func(model.Listener) bool) bool {
	return changeListeners(lb, refused, func(l *model.Listener) bool { return setFlag(&l.DefaultInPlace) })
}

// changeListeners changes some listeners, and reports whether one was not so before.
func changeListeners(lb *model.LoadBalancer, which func(model.Listener) bool, change func(*model.Listener) bool) (changed bool) {
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; which(*l) {
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

func untag(lb *model.LoadBalancer, a plan.Address) (changed bool) {
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; a.ID == naming.ListenerID(l.Port) && len(l.Tags) > 0 {
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
