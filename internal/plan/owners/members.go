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

// AcceptedRules returns the rules of a listener that are not held, by the keys of their conditions. If several rules have
// the same key, it returns the first.
func AcceptedRules(l *resolved.Listener) map[string]model.Rule {
	out := map[string]model.Rule{}
	for i := range l.Rules {
		p := &l.Rules[i]
		key := p.ConditionsKey()
		if _, taken := out[key]; !p.IsHeld() && !taken {
			out[key] = p.Desired
		}
	}
	return out
}

// UserTags returns tags without the tracking tags of the controller.
func UserTags(tags map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if !naming.IsReservedTag(k) {
			out[k] = v
		}
	}
	return out
}

// Retention finds the held member to which an existing listener rule belongs, and retains the rules of held members.
type Retention struct {
	*TargetGroups
	keys             ConditionKeys
	members          []model.HeldMember
	retainAllIndexes []int                   // indexes of members with All set
	rulesByKey       map[string][]memberRule // rules of members, by the keys of their conditions
	foreignHosts     []*overlap.Shape        // by index of the member: the hosts of other namespaces (ForeignHosts); nil if there are none
}

// memberRule is a rule of a held member; member is the index of the member.
type memberRule struct {
	member int
	rule   *model.Rule
}

// NewRetention returns the Retention of the stack.
func NewRetention(tg *TargetGroups, keys ConditionKeys) *Retention {
	rt := &Retention{TargetGroups: tg, keys: keys, members: tg.Want.Held.Members, rulesByKey: map[string][]memberRule{}}
	type list struct {
		first *string
		n     int
	}
	shapes := map[list]*overlap.Shape{} // the members of a namespace share one list
	for i := range rt.members {
		x := &rt.members[i]
		if x.All {
			rt.retainAllIndexes = append(rt.retainAllIndexes, i)
		}
		var foreign *overlap.Shape
		if n := len(x.ForeignHosts); n > 0 {
			of := list{&x.ForeignHosts[0], n}
			if shapes[of] == nil {
				shapes[of] = overlap.ShapeOfHosts(x.ForeignHosts)
			}
			foreign = shapes[of]
		}
		rt.foreignHosts = append(rt.foreignHosts, foreign)
		for j := range x.Rules {
			key := equal.ConditionsKey(x.Rules[j].Conditions)
			rt.rulesByKey[key] = append(rt.rulesByKey[key], memberRule{i, &x.Rules[j]})
		}
	}
	return rt
}

// RetainedMemberOf returns the held member to which an existing rule of the listener on a port belongs; nil if there is none.
func (rt *Retention) RetainedMemberOf(port int32, r *observed.Rule) *model.HeldMember {
	if len(rt.members) == 0 {
		return nil
	}
	ids := rt.TargetGroupIDs(r.Actions)
	best := len(rt.members)
	note := func(i int, fits func(x *model.HeldMember, owned bool) bool) {
		x := &rt.members[i]
		if i >= best || !x.IsHeldOn(port) || rt.foreignHosts[i] != nil && rt.foreignHosts[i].Overlaps(overlap.ShapeOf(r.Conditions)) {
			return
		}
		if fits(x, plan.AreTargetGroupsOwnedBy(ids, x.Member)) {
			best = i
		}
	}
	for _, i := range rt.retainAllIndexes {
		note(i, func(_ *model.HeldMember, owned bool) bool { return owned })
	}
	for _, of := range rt.rulesByKey[rt.keys.KeyOf(r)] {
		note(of.member, func(x *model.HeldMember, owned bool) bool {
			// A rule may name target groups of other objects by ARN, so that the ownership of target groups is not
			// sufficient.
			return owned || rt.MayBelongTo(x.Member, *r) && equal.SameActions(of.rule.Actions, r.Actions, rt.TargetGroupARN) && equal.SameTransforms(of.rule.Transforms, r.Transforms)
		})
	}
	if best == len(rt.members) {
		return nil
	}
	return &rt.members[best]
}

// RetainRules inserts the existing rules of held members into the desired rules of a listener, at their current positions.
// The keys of taken are the ARNs of existing rules that are used for other desired rules. RetainRules skips these rules, and
// adds the ARNs of the rules that it inserts to taken.
func (rt *Retention) RetainRules(l *resolved.Listener, taken map[string]bool) {
	if l.Live == nil || len(rt.members) == 0 || l.RedirectsAll {
		return
	}
	accepted := AcceptedRules(l)
	places := map[string][]int{} // indexes of the desired rules, by the keys of their conditions
	for i := range l.Rules {
		key := l.Rules[i].ConditionsKey()
		places[key] = append(places[key], i)
	}
	var rules []resolved.Rule
	at := 0 // the index after the last desired rule whose existing rule comes before r
	rest := l.Rules
	for i := range l.Live.Rules {
		r := &l.Live.Rules[i]
		key := rt.keys.KeyOf(r)
		_, wanted := accepted[key]
		var x *model.HeldMember
		if !taken[r.ARN] && !wanted {
			x = rt.RetainedMemberOf(l.Live.Port, r)
		}
		if x == nil {
			if of := places[key]; len(of) > 0 {
				at, places[key] = max(at, of[0]+1), of[1:]
			}
			continue
		}
		taken[r.ARN] = true
		if rt.Want.ID.Kind.IsGateway() {
			at = max(at, indexAfterSpecificRules(l.Rules, r))
		}
		if n := at - (len(l.Rules) - len(rest)); n > 0 {
			rules, rest = append(rules, rest[:n]...), rest[n:]
		}
		rules = append(rules, resolved.Rule{RetainedRule: r, Desired: model.Rule{
			Conditions: r.Conditions, Transforms: r.Transforms, Actions: r.Actions, Member: x.Member, Held: model.HeldInvalid,
			Tags: UserTags(r.Tags),
		}})
	}
	l.Rules = append(rules, rest...)
}

// indexAfterSpecificRules returns the index after the last desired rule with a hostname that r also matches, by a wildcard
// or because r has no hosts. Requests for such a hostname belong to the most specific Gateway listener, which may not admit
// the owner of r.
func indexAfterSpecificRules(rules []resolved.Rule, r *observed.Rule) int {
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

// RetainsListener reports whether an existing listener has a rule or a default action of a held member.
func (rt *Retention) RetainsListener(l *observed.Listener) bool {
	if slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return rt.RetainedMemberOf(l.Port, &r) != nil }) {
		return true
	}
	return slices.ContainsFunc(rt.members, func(x model.HeldMember) bool {
		// A listener that redirects all requests has no target group by which its owner could be determined.
		return x.All && x.IsHeldOn(l.Port) && plan.AreTargetGroupsOwnedBy(rt.TargetGroupIDs(l.Default), x.Member) || x.Redirects && redirectsAll(*l)
	})
}

// redirectsAll reports whether an existing listener redirects all requests and has no rules.
func redirectsAll(live observed.Listener) bool {
	if len(live.Rules) > 0 || len(live.Default) != 1 {
		return false
	}
	_, ok := live.Default[0].(model.Redirect)
	return ok
}

// ConditionKeys caches the keys of the conditions of existing rules, by the ARN of the rule.
type ConditionKeys map[string]string

// KeyOf returns the key of the conditions of an existing rule, and caches it.
func (k ConditionKeys) KeyOf(r *observed.Rule) string {
	key, known := k[r.ARN]
	if !known {
		key = equal.ConditionsKey(r.Conditions)
		k[r.ARN] = key
	}
	return key
}
