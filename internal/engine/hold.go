package engine

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// isHeld reports whether the desired state of a failed step is held, and the plan is made again without it. This is the case
// if AWS refuses the step, or if the step has failed so often that dependent steps do not wait for it any more.
func (f FailedStep) isHeld() bool {
	if f.isKubernetesStep() {
		_, claims := f.Step.Do.(plan.ClaimFinalizer)
		return claims && f.Class != failure.Fenced && !(f.Called && (f.Class == failure.Gone || f.Class == failure.Conflict))
	}
	switch f.Class {
	case failure.Invalid, failure.Denied, failure.Quota:
		return true
	case failure.Unknown:
		return f.Skipped || f.Streak >= maxUnknownFailures
	}
	return false
}

// lacksCapacity reports whether AWS refused a new rule because of a quota of rules or of target groups.
func (f FailedStep) lacksCapacity() bool {
	_, creates := f.Step.Do.(plan.CreateRule)
	return creates && f.Class == failure.Quota
}

// heldPartMarker marks the parts of a stack as held whose steps AWS refuses. It copies each list only once, before the first
// change of the list, because a stack may have thousands of rules and hundreds of refusals.
type heldPartMarker struct {
	stack              model.Stack
	loadBalancerCopied bool         // the load balancer and its list of listeners are copies
	copiedRules        map[int]bool // listeners, by index, whose list of rules is a copy
}

// loadBalancer returns a copy of the load balancer, which may be changed.
func (h *heldPartMarker) loadBalancer() *model.LoadBalancer {
	if !h.loadBalancerCopied {
		lb := *h.stack.LoadBalancer
		lb.Listeners = slices.Clone(lb.Listeners)
		h.stack.LoadBalancer, h.loadBalancerCopied, h.copiedRules = &lb, true, map[int]bool{}
	}
	return h.stack.LoadBalancer
}

// hold marks the part of the stack as held to which a refused step belongs, and reports whether this changes the stack. The
// part is the rule of the step, the default action of a listener, or all rules and default actions that forward to a target
// group that could not be created. If AWS refuses the tags of a shared resource that is to be created, hold removes the
// tags. A part with refused values is held as invalid (model.HeldInvalid), any other part as refused (model.HeldRefused).
// The part is not held if another name, a listener without the certificate, or a change in one call can be tried.
func (h *heldPartMarker) hold(f FailedStep) bool {
	if h.stack.LoadBalancer == nil {
		return false
	}
	lb := h.loadBalancer()
	invalid, why := f.Class == failure.Invalid && !f.Skipped, model.HeldRefused
	if invalid {
		why = model.HeldInvalid
	}
	s := f.Step
	isListener := func(l model.Listener) bool { return s.Address.ID == naming.ListenerID(l.Port) }
	switch do := s.Do.(type) {
	case plan.ClaimFinalizer:
		// No resource is created for a member without its finalizer. Other members' changes do not wait.
		rules := h.holdRules(model.HeldRefused, func(_ int32, r *model.Rule) bool { return r.Member == do.Ref })
		return holdDefaultActions(lb, func(l model.Listener) bool { return l.DefaultOf.Object == do.Ref }) || rules
	case plan.CreateRule, plan.ModifyRule:
		matches := func(port int32, r *model.Rule) bool { return !s.Rule.IsZero() && r.Key(port) == s.Rule }
		if f.lacksCapacity() && !(s.NeedsExtraQuota && perStepQuotas[errorCode(f.Err)]) {
			return h.changeRules(matches, func(r *model.Rule) bool { return setIfUnset(&r.OverQuota) })
		}
		return f.Class == failure.Quota && s.NeedsExtraQuota && h.markRulesForInPlaceUpdate(matches) || invalid && h.holdRules(model.HeldInvalid, matches) || h.holdRules(model.HeldRefused, matches)
	case plan.CreateTargetGroup:
		if f.isComputedNameTaken() {
			return h.markTargetGroupNameTaken(do.Group.ID, do.Group.Name)
		}
		if s.Impact == plan.ReplaceImpact && !invalid && !h.stack.Held.Replacement {
			// Without the target group, the replacement would not serve all requests of the existing load balancer.
			h.stack.Held.Replacement = true
			return true
		}
		matches := func(_ int32, r *model.Rule) bool { return forwardsTo(r.Actions, do.Group.ID) }
		rules := h.holdRules(why, matches)
		byDefault := holdDefaultActions(lb, func(l model.Listener) bool { return forwardsTo(l.Default, do.Group.ID) })
		return rules || byDefault
	case plan.CreateLoadBalancer:
		if f.isComputedNameTaken() {
			return h.markLoadBalancerNameTaken(s.Address.ID, do.Name)
		}
		isFrontendNLB := s.Address.ID != model.LoadBalancerID
		if !isFrontendNLB && invalid && len(lb.Tags) > 0 {
			lb.Tags = nil // a load balancer without user tags can serve; a later step sets the tags, and can be refused alone
			return true
		}
		if !isFrontendNLB && s.Impact == plan.ReplaceImpact && !h.stack.Held.Replacement {
			h.stack.Held.Replacement = true
			return true
		}
		return false
	case plan.CreateListener:
		withoutTags := func(l *model.Listener) bool {
			had := len(l.Tags) > 0
			l.Tags = nil
			return had
		}
		return invalid && (changeListeners(lb, isListener, withoutTags) || holdDefaultActions(lb, memberDefaultMatcher(s.Address)))
	case plan.ModifyListener:
		inPlace := func(l *model.Listener) bool { return setIfUnset(&l.DefaultInPlace) } // a change in several steps needs more target groups than the quota permits
		if f.Class == failure.Quota && s.NeedsExtraQuota && changeListeners(lb, isListener, inPlace) {
			return true
		}
		if invalid {
			return holdDefaultActions(lb, memberDefaultMatcher(s.Address))
		}
		return holdDefaultActions(lb, isListener)
	case plan.AddCertificate:
		matches := func(l model.Listener) bool { return isListener(l) && l.TLS != nil }
		return changeListeners(lb, matches, func(l *model.Listener) bool { return omitCertificate(l, do.ARN, f.Class == failure.Quota) })
	case plan.SetPriorities:
		return changeListeners(lb, isListener, func(l *model.Listener) bool { return markHeld(&l.OrderHeld, model.HeldRefused) })
	}
	return false
}

// setIfUnset sets a flag, and reports whether the flag was not set before.
func setIfUnset(flag *bool) bool {
	before := *flag
	*flag = true
	return !before
}

// markHeld records why a rule or a default action is held, and reports whether the reason is new.
func markHeld(h *model.Held, why model.Held) bool {
	before := *h
	*h |= why
	return *h != before
}

// holdRules marks the matching rules as held, and reports whether one of them was not held for this reason before.
func (h *heldPartMarker) holdRules(why model.Held, matches func(port int32, r *model.Rule) bool) bool {
	return h.changeRules(matches, func(r *model.Rule) bool { return markHeld(&r.Held, why) })
}

// markRulesForInPlaceUpdate marks the matching rules to be changed in one call, because the quota does not permit the new
// target group in addition to the old target group. It reports whether one of them was not marked before.
func (h *heldPartMarker) markRulesForInPlaceUpdate(matches func(port int32, r *model.Rule) bool) bool {
	return h.changeRules(matches, func(r *model.Rule) bool { return setIfUnset(&r.InPlace) })
}

// changeRules calls change for the matching rules, and reports whether a call returned true.
func (h *heldPartMarker) changeRules(matches func(port int32, r *model.Rule) bool, change func(*model.Rule) bool) (changed bool) {
	lb := h.loadBalancer()
	for i := range lb.Listeners {
		l, listenerChanged := &lb.Listeners[i], false
		for j := range l.Rules {
			if !matches(l.Port, &l.Rules[j]) {
				continue
			}
			if !h.copiedRules[i] {
				l.Rules, h.copiedRules[i] = slices.Clone(l.Rules), true
			}
			listenerChanged = change(&l.Rules[j]) || listenerChanged
		}
		if listenerChanged {
			l.RestoreShadowedRules()
		}
		changed = changed || listenerChanged
	}
	return changed
}

// omitCertificate leaves a refused certificate out of a listener, so that the removal of other certificates is not
// delayed. overQuota reports whether a quota is the reason. The result is false if it was left out before.
func omitCertificate(l *model.Listener, arn string, overQuota bool) bool {
	if slices.Contains(l.TLS.Refused, arn) || slices.Contains(l.TLS.OverQuota, arn) {
		return false
	}
	tls := *l.TLS
	to := &tls.Refused
	if overQuota {
		to = &tls.OverQuota
	}
	*to = append(slices.Clone(*to), arn)
	l.TLS = &tls
	return true
}

// holdDefaultActions marks the default actions of the matching listeners as held, and reports whether one was not held
// before.
func holdDefaultActions(lb *model.LoadBalancer, matches func(model.Listener) bool) bool {
	return changeListeners(lb, matches, func(l *model.Listener) bool { return markHeld(&l.DefaultHeld, model.HeldRefused) })
}

// changeListeners calls change for the matching listeners, and reports whether a call returned true.
func changeListeners(lb *model.LoadBalancer, matches func(model.Listener) bool, change func(*model.Listener) bool) (changed bool) {
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; matches(*l) {
			changed = change(l) || changed
		}
	}
	return changed
}

// memberDefaultMatcher returns a function that reports whether a listener has address a, and a default action that a member
// sets.
func memberDefaultMatcher(a plan.Address) func(model.Listener) bool {
	return func(l model.Listener) bool {
		return a.ID == naming.ListenerID(l.Port) && !l.DefaultOf.Object.IsZero()
	}
}

// forwardsTo reports whether one of the actions forwards to the target group with an ID.
func forwardsTo(actions []model.Action, group string) bool {
	return slices.ContainsFunc(actions, func(a model.Action) bool {
		f, ok := a.(model.Forward)
		return ok && slices.ContainsFunc(f.Groups, func(g model.WeightedTargetGroup) bool { return g.Group.ID == group })
	})
}
