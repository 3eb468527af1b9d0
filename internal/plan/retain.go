package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// A retained object contributes nothing to the desired state. Live rules of its own stay, as long as
// no accepted member wants a rule with the same conditions.

// OwnedBy reports whether actions are an object's own: they forward, and only to target groups of the
// stack that carry the object's tag. Tags are written by the controller alone, which finalizers,
// labels and status are not.
func OwnedBy(have observed.Stack, ref finding.Ref, actions []model.Action) bool {
	owner := ownersOf(have, actions)
	return len(owner) > 0 && !slices.ContainsFunc(owner, func(id string) bool { return !naming.IsIngressTargetGroup(id, ref.Namespace, ref.Name) })
}

// OwnedByNamespace reports whether actions forward, and only to target groups of objects of a namespace.
func OwnedByNamespace(have observed.Stack, namespace string, actions []model.Action) bool {
	owner := ownersOf(have, actions)
	return len(owner) > 0 && !slices.ContainsFunc(owner, func(id string) bool { return !strings.HasPrefix(id, namespace+"/") })
}

// ownersOf are the resource ids of the target groups to which actions forward. One that is not of the
// stack has an empty id.
func ownersOf(have observed.Stack, actions []model.Action) []string {
	var out []string
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for _, g := range f.Groups {
			id := ""
			for _, t := range have.TargetGroups {
				if t.ARN == g.Group.ARN {
					id = t.ResourceID
				}
			}
			out = append(out, id)
		}
	}
	return out
}

// retains returns the retained object whose own a live rule is; nil if there is none.
func (b *builder) retains(r observed.Rule) *model.Retained {
	for i := range b.want.Retained {
		if x := &b.want.Retained[i]; b.retainedBy(x, r) {
			return x
		}
	}
	return nil
}

func (b *builder) retainedBy(x *model.Retained, r observed.Rule) bool {
	if len(x.ForeignHosts) > 0 && anyMeet(hostPatterns(x.ForeignHosts), shapeOf(r.Conditions).hosts) {
		return false
	}
	owned := OwnedBy(b.have, x.Member, r.Actions)
	if x.All && owned {
		return true
	}
	return slices.ContainsFunc(x.Rules, func(w model.Rule) bool {
		return sameConditions(w.Conditions, r.Conditions) &&
			(owned || sameActions(w.Actions, r.Actions, b.arn) && sameTransforms(w.Transforms, r.Transforms))
	})
}

// retainRules keeps the retained rules of a listener at the places that they have among the others
// now. taken are live rules that others speak for.
func (b *builder) retainRules(l *listenerPlan, taken map[string]bool) {
	if l.live == nil || len(b.want.Retained) == 0 || l.redirectsAll {
		return
	}
	accepted := acceptedRules(l)
	for i := range l.live.Rules {
		r := &l.live.Rules[i]
		if taken[r.ARN] {
			continue
		}
		if _, wanted := accepted[conditionsKey(r.Conditions)]; wanted {
			continue
		}
		if x := b.retains(*r); x != nil {
			taken[r.ARN] = true
			b.insertRetained(l, r, x.Member)
		}
	}
}

// insertRetained puts a live rule behind the last rule that stands before it now.
func (b *builder) insertRetained(l *listenerPlan, r *observed.Rule, member finding.Ref) {
	before := map[string]int{}
	for _, o := range l.live.Rules {
		if o.Priority < r.Priority {
			before[conditionsKey(o.Conditions)]++
		}
	}
	at := 0
	for i, p := range l.rules {
		if key := conditionsKey(p.wish.Conditions); before[key] > 0 {
			before[key]--
			at = i + 1
		}
	}
	l.rules = slices.Insert(l.rules, at, rulePlan{held: true, kept: r, wish: model.Rule{
		Conditions: r.Conditions, Transforms: r.Transforms, Actions: r.Actions, Member: member, Held: true,
		Tags: userTags(b, r.Tags),
	}})
}

// retainListeners keeps live listeners that no accepted member asks for and that carry something of a
// retained object. Rules of others on them go.
func (b *builder) retainListeners() {
	if b.live == nil {
		return
	}
	for i := range b.live.Listeners {
		l := &b.live.Listeners[i]
		if b.wishes(l.Port) || !b.retainsListener(l) {
			continue
		}
		kept := listenerPlan{wish: model.Listener{Port: l.Port}, live: l}
		for j := range l.Rules {
			r := &l.Rules[j]
			if b.retains(*r) == nil {
				kept.strangers = append(kept.strangers, *r)
				continue
			}
			b.keep(r.Actions)
		}
		kept.strangeDefault = forwardOf(l.Default) != nil && !slices.ContainsFunc(b.want.Retained, func(x model.Retained) bool {
			return x.All && OwnedBy(b.have, x.Member, l.Default)
		})
		if !kept.strangeDefault {
			b.keep(l.Default)
		}
		b.listeners = append(b.listeners, kept)
		b.plan.Ports = append(b.plan.Ports, l.Port)
		slices.Sort(b.plan.Ports)
	}
	for _, l := range b.listeners {
		if !l.make && l.live != nil && b.wishes(l.wish.Port) {
			b.keep(l.live.Default)
			for _, r := range l.live.Rules {
				b.keep(r.Actions)
			}
		}
	}
}

func (b *builder) retainsListener(l *observed.Listener) bool {
	if slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return b.retains(r) != nil }) {
		return true
	}
	return slices.ContainsFunc(b.want.Retained, func(x model.Retained) bool {
		// A listener that redirects everything has no target group by which its owner could be known.
		return x.All && OwnedBy(b.have, x.Member, l.Default) || x.Redirects && redirectsAll(*l)
	})
}

// staying is the live listener without what is to be removed from it.
func (l listenerPlan) staying() *observed.Listener {
	out := *l.live
	out.Rules = slices.DeleteFunc(slices.Clone(out.Rules), func(r observed.Rule) bool {
		return slices.ContainsFunc(l.strangers, func(s observed.Rule) bool { return s.ARN == r.ARN })
	})
	if l.strangeDefault {
		out.Default = []model.Action{notFound}
	}
	return &out
}

// removeStrangers deletes rules of a retained listener that are no retained object's.
func (b *builder) removeStrangers(l *listenerPlan, after []StepID) {
	if l.strangeDefault {
		a := Address{Kind: Listener, ID: l.live.ARN}
		to := []model.Action{notFound}
		b.freed(l.live.Default, b.add(Step{
			ID: stepID("default", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: ListenerSettings{
				Port: l.live.Port, Protocol: l.live.Protocol, Policy: l.live.Policy, Certificate: l.live.Certificate, MutualAuth: l.live.MutualAuth, Default: to,
			}},
			Changes: []Change{{Path: "default", From: actionsText(l.live.Default), To: actionsText(to)}},
			Why:     "no object asks for the default action any more", After: after, Blames: b.members(),
		}))
	}
	// From the last one up, so that none of them gets requests that another one has answered until then.
	var last StepID
	for _, r := range slices.Backward(l.strangers) {
		a := ruleAddress(r.ARN)
		b.ruleOwners[r.ARN] = b.ownersOf(r.Actions)
		last = b.add(Step{
			ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteRule{ARN: r.ARN}, Impact: DeleteImpact,
			Why: "no object asks for the rule any more", After: append(slices.Clone(after), last), Blames: b.members(),
		})
		b.freed(r.Actions, last)
	}
}

// redirectsAll reports whether a live listener does nothing but redirect.
func redirectsAll(live observed.Listener) bool {
	if len(live.Rules) > 0 || len(live.Default) != 1 {
		return false
	}
	_, ok := live.Default[0].(model.Redirect)
	return ok
}

// keepRetained plans for a stack without an accepted member of which retained objects have rules: these
// stay with the load balancer that serves them, and everything else goes. It reports false where
// nothing is retained.
func (b *builder) keepRetained() bool {
	if b.live == nil || len(b.want.Retained) == 0 {
		return false
	}
	b.retainListeners()
	if len(b.listeners) == 0 {
		return false
	}
	if b.front.live != nil {
		for _, l := range b.front.live.Listeners {
			b.keep(l.Default)
		}
	}
	b.changeRetained(nil)
	b.removeSurplusGroups()
	b.releaseEach()
	return true
}

// changeRetained deletes the listeners that are not retained, and rules of others on those that are.
func (b *builder) changeRetained(after []StepID) {
	for _, l := range b.live.Listeners {
		i := slices.IndexFunc(b.listeners, func(p listenerPlan) bool { return p.wish.Port == l.Port })
		if i < 0 {
			b.deleteListener(l, after)
			continue
		}
		b.removeStrangers(&b.listeners[i], after)
	}
}
