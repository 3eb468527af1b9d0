package owners

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// AcceptedRules returns the rules that are not held, by their conditions; the first of several.
func AcceptedRules(l *resolved.Listener) map[string]model.Rule {
	out := map[string]model.Rule{}
	for i := range l.Rules {
		p := &l.Rules[i]
		key := p.ConditionsKey()
		if _, taken := out[key]; !p.Held() && !taken {
			out[key] = p.Desired
		}
	}
	return out
}

// UserTags returns the live tags of a kept rule without the tracking tags.
func UserTags(tags map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if !naming.ReservedTag(k) {
			out[k] = v
		}
	}
	return out
}

// Retention finds the retained object whose own a live rule is.
type Retention struct {
	*TargetGroups
	keys    LiveKeys
	members []model.HeldMember
	all     []int               // retained objects all whose own rules stay
	byKey   map[string][]ofRule // rules of retained objects by their conditions
	foreign []*overlap.Shape    // rules for the hosts of others, by retained object; nil if there are none
}

// ofRule is a rule of a retained object, by its number.
type ofRule struct {
	object int
	rule   *model.Rule
}

func NewRetention(tg *TargetGroups, keys LiveKeys) *Retention {
	rt := &Retention{TargetGroups: tg, keys: keys, members: tg.Want.Held.Members, byKey: map[string][]ofRule{}}
	for i := range rt.members {
		x := &rt.members[i]
		if x.All {
			rt.all = append(rt.all, i)
		}
		var foreign *overlap.Shape
		if len(x.ForeignHosts) > 0 {
			foreign = overlap.ShapeOfHosts(x.ForeignHosts)
		}
		rt.foreign = append(rt.foreign, foreign)
		for j := range x.Rules {
			key := equal.ConditionsKey(x.Rules[j].Conditions)
			rt.byKey[key] = append(rt.byKey[key], ofRule{i, &x.Rules[j]})
		}
	}
	return rt
}

// Retains returns the retained object whose own a live rule is; nil if there is none.
func (rt *Retention) Retains(r *observed.Rule) *model.HeldMember {
	if len(rt.members) == 0 {
		return nil
	}
	ids := rt.OwnerIDs(r.Actions)
	best := len(rt.members)
	note := func(i int, fits func(x *model.HeldMember, owned bool) bool) {
		x := &rt.members[i]
		if i >= best || rt.foreign[i] != nil && rt.foreign[i].Overlaps(overlap.ShapeOf(r.Conditions)) {
			return
		}
		if fits(x, plan.GroupsOwnedBy(ids, x.Member)) {
			best = i
		}
	}
	for _, i := range rt.all {
		note(i, func(_ *model.HeldMember, owned bool) bool { return owned })
	}
	for _, of := range rt.byKey[rt.keys.Of(r)] {
		note(of.object, func(x *model.HeldMember, owned bool) bool {
			// It may name target groups by ARN that are another's.
			return owned || rt.MayBeOf(x.Member, *r) && equal.SameActions(of.rule.Actions, r.Actions, rt.ARN) && equal.SameTransforms(of.rule.Transforms, r.Transforms)
		})
	}
	if best == len(rt.members) {
		return nil
	}
	return &rt.members[best]
}

// RetainRules keeps the retained rules of a listener at the places that they have among the others
// now. taken are live rules that others speak for.
func (rt *Retention) RetainRules(l *resolved.Listener, taken map[string]bool) {
	if l.Live == nil || len(rt.members) == 0 || l.RedirectsAll {
		return
	}
	accepted := AcceptedRules(l)
	places := map[string][]int{} // of the desired rules, by their conditions
	for i := range l.Rules {
		key := l.Rules[i].ConditionsKey()
		places[key] = append(places[key], i)
	}
	var rules []resolved.Rule
	at := 0 // behind the last rule that comes before the live one now
	rest := l.Rules
	for i := range l.Live.Rules {
		r := &l.Live.Rules[i]
		key := rt.keys.Of(r)
		_, wanted := accepted[key]
		var x *model.HeldMember
		if !taken[r.ARN] && !wanted {
			x = rt.Retains(r)
		}
		if x == nil {
			if of := places[key]; len(of) > 0 {
				at, places[key] = max(at, of[0]+1), of[1:]
			}
			continue
		}
		taken[r.ARN] = true
		if rt.Want.ID.Kind.OfGateway() {
			at = max(at, behindSpecific(l.Rules, r))
		}
		if n := at - (len(l.Rules) - len(rest)); n > 0 {
			rules, rest = append(rules, rest[:n]...), rest[n:]
		}
		rules = append(rules, resolved.Rule{Kept: r, Desired: model.Rule{
			Conditions: r.Conditions, Transforms: r.Transforms, Actions: r.Actions, Member: x.Member, Held: model.HeldInvalid,
			Tags: UserTags(r.Tags),
		}})
	}
	l.Rules = append(rules, rest...)
}

// behindSpecific returns the place behind the last desired rule for a hostname that a retained rule has within its
// wildcard, or that has none: these requests belong to the most specific listener, which may not admit the owner of the
// retained rule.
func behindSpecific(rules []resolved.Rule, r *observed.Rule) int {
	mine := model.Rule{Conditions: r.Conditions}.Hosts()
	for i := len(rules) - 1; i >= 0; i-- {
		for _, host := range rules[i].Desired.Hosts() {
			if len(mine) == 0 || slices.ContainsFunc(mine, func(h string) bool {
				return strings.HasPrefix(h, "*.") && h != host && strings.HasSuffix(host, h[1:])
			}) {
				return i + 1
			}
		}
	}
	return 0
}

// RetainsListener reports whether something on a live listener is a retained object's own.
func (rt *Retention) RetainsListener(l *observed.Listener) bool {
	if slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return rt.Retains(&r) != nil }) {
		return true
	}
	return slices.ContainsFunc(rt.members, func(x model.HeldMember) bool {
		// A listener that redirects everything has no target group by which its owner could be known.
		return x.All && plan.GroupsOwnedBy(rt.OwnerIDs(l.Default), x.Member) || x.Redirects && redirectsAll(*l)
	})
}

// redirectsAll reports whether a live listener does nothing but redirect.
func redirectsAll(live observed.Listener) bool {
	if len(live.Rules) > 0 || len(live.Default) != 1 {
		return false
	}
	_, ok := live.Default[0].(model.Redirect)
	return ok
}

// LiveKeys remembers the keys of the conditions of live rules, by ARN.
type LiveKeys map[string]string

// Of identifies the conditions of a live rule.
func (k LiveKeys) Of(r *observed.Rule) string {
	key, known := k[r.ARN]
	if !known {
		key = equal.ConditionsKey(r.Conditions)
		k[r.ARN] = key
	}
	return key
}
