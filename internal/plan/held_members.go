package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
)

// A retained object contributes nothing to the desired state. Live rules of its own stay, as long as
// no accepted member wants a rule with the same conditions.

// OwnedBy reports whether actions are an object's own: they forward, and only to target groups of the
// stack that carry the object's tag. Tags are written by the controller alone, which finalizers,
// labels and status are not.
func OwnedBy(have observed.Stack, ref finding.Ref, actions []model.Action) bool {
	return areOf(ownersOf(have, actions), ref)
}

// OwnerNamespace is the namespace to target groups of whose objects alone actions forward, "" if there is
// none.
func OwnerNamespace(have observed.Stack, actions []model.Action) string {
	owner := ""
	for i, id := range ownersOf(have, actions) {
		namespace, _, ok := strings.Cut(id, "/")
		if !ok || i > 0 && namespace != owner {
			return ""
		}
		owner = namespace
	}
	return owner
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

// retention finds the retained object whose own a live rule is.
type retention struct {
	*targetGroups
	keys    liveKeys
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

func newRetention(tg *targetGroups, keys liveKeys) *retention {
	rt := &retention{targetGroups: tg, keys: keys, members: tg.want.Held.Members, byKey: map[string][]ofRule{}}
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
			key := conditionsKey(x.Rules[j].Conditions)
			rt.byKey[key] = append(rt.byKey[key], ofRule{i, &x.Rules[j]})
		}
	}
	return rt
}

// retains returns the retained object whose own a live rule is; nil if there is none.
func (rt *retention) retains(r *observed.Rule) *model.HeldMember {
	if len(rt.members) == 0 {
		return nil
	}
	ids := rt.ownerIDs(r.Actions)
	best := len(rt.members)
	note := func(i int, fits func(x *model.HeldMember, owned bool) bool) {
		x := &rt.members[i]
		if i >= best || rt.foreign[i] != nil && rt.foreign[i].Overlaps(overlap.ShapeOf(r.Conditions)) {
			return
		}
		if fits(x, areOf(ids, x.Member)) {
			best = i
		}
	}
	for _, i := range rt.all {
		note(i, func(_ *model.HeldMember, owned bool) bool { return owned })
	}
	for _, of := range rt.byKey[rt.keys.of(r)] {
		note(of.object, func(x *model.HeldMember, owned bool) bool {
			// It may name target groups by ARN that are another's.
			return owned || rt.mayBeOf(x.Member, *r) && sameActions(of.rule.Actions, r.Actions, rt.arn) && sameTransforms(of.rule.Transforms, r.Transforms)
		})
	}
	if best == len(rt.members) {
		return nil
	}
	return &rt.members[best]
}

// areOf reports whether target groups, by their resource ids, are all an object's.
func areOf(ids []string, ref finding.Ref) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !naming.IsTargetGroupOf(id, ref) })
}

// retainRules keeps the retained rules of a listener at the places that they have among the others
// now. taken are live rules that others speak for.
func (rt *retention) retainRules(l *listenerPlan, taken map[string]bool) {
	if l.live == nil || len(rt.members) == 0 || l.redirectsAll {
		return
	}
	accepted := acceptedRules(l)
	places := map[string][]int{} // of the desired rules, by their conditions
	for i := range l.rules {
		key := l.rules[i].conditions()
		places[key] = append(places[key], i)
	}
	var rules []rulePlan
	at := 0 // behind the last rule that comes before the live one now
	rest := l.rules
	for i := range l.live.Rules {
		r := &l.live.Rules[i]
		key := rt.keys.of(r)
		_, wanted := accepted[key]
		var x *model.HeldMember
		if !taken[r.ARN] && !wanted {
			x = rt.retains(r)
		}
		if x == nil {
			if of := places[key]; len(of) > 0 {
				at, places[key] = max(at, of[0]+1), of[1:]
			}
			continue
		}
		taken[r.ARN] = true
		if rt.want.ID.Kind.OfGateway() {
			at = max(at, behindSpecific(l.rules, r))
		}
		if n := at - (len(l.rules) - len(rest)); n > 0 {
			rules, rest = append(rules, rest[:n]...), rest[n:]
		}
		rules = append(rules, rulePlan{kept: r, desired: model.Rule{
			Conditions: r.Conditions, Transforms: r.Transforms, Actions: r.Actions, Member: x.Member, Held: model.HeldInvalid,
			Tags: userTags(r.Tags),
		}})
	}
	l.rules = append(rules, rest...)
}

// behindSpecific is the place behind the last desired rule for a hostname that a retained rule has within its wildcard, or
// that has none: these requests belong to the most specific listener, which may not admit the owner of the retained rule.
func behindSpecific(rules []rulePlan, r *observed.Rule) int {
	mine := model.Rule{Conditions: r.Conditions}.Hosts()
	for i := len(rules) - 1; i >= 0; i-- {
		for _, host := range rules[i].desired.Hosts() {
			if len(mine) == 0 || slices.ContainsFunc(mine, func(h string) bool {
				return strings.HasPrefix(h, "*.") && h != host && strings.HasSuffix(host, h[1:])
			}) {
				return i + 1
			}
		}
	}
	return 0
}

// retainListeners keeps live listeners that no accepted member asks for and that carry something of a
// retained object. Rules of others on them go.
func (b *builder) retainListeners() {
	if b.live == nil {
		return
	}
	for i := range b.live.Listeners {
		l := &b.live.Listeners[i]
		if hasListener(b.want.LoadBalancer, l.Port) || !b.held.retainsListener(l) {
			continue
		}
		kept := listenerPlan{lb: &b.loadBalancerPlan, desired: model.Listener{Port: l.Port}, live: l}
		for j := range l.Rules {
			r := &l.Rules[j]
			if b.held.retains(r) == nil {
				kept.foreignMembers = append(kept.foreignMembers, *r)
				continue
			}
			b.keep(r.Actions)
		}
		kept.strangeDefault = forwardOf(l.Default) != nil && !slices.ContainsFunc(b.want.Held.Members, func(x model.HeldMember) bool {
			return x.All && areOf(b.ownerIDs(l.Default), x.Member)
		})
		if !kept.strangeDefault {
			b.keep(l.Default)
		}
		b.listeners = append(b.listeners, kept)
		b.plan.Ports = append(b.plan.Ports, l.Port)
		slices.Sort(b.plan.Ports)
	}
	for _, l := range b.listeners {
		if !l.make && l.live != nil && hasListener(b.want.LoadBalancer, l.desired.Port) {
			b.keep(l.live.Default)
			for _, r := range l.live.Rules {
				b.keep(r.Actions)
			}
		}
	}
}

// hasListener reports whether a load balancer is desired that listens on a port.
func hasListener(lb *model.LoadBalancer, port int32) bool {
	return lb != nil && slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return l.Port == port })
}

// retainsListener reports whether something on a live listener is a retained object's own.
func (rt *retention) retainsListener(l *observed.Listener) bool {
	if slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return rt.retains(&r) != nil }) {
		return true
	}
	return slices.ContainsFunc(rt.members, func(x model.HeldMember) bool {
		// A listener that redirects everything has no target group by which its owner could be known.
		return x.All && areOf(rt.ownerIDs(l.Default), x.Member) || x.Redirects && redirectsAll(*l)
	})
}

// staying is the live listener without what is to be removed from it.
func (l listenerPlan) staying() *observed.Listener {
	out := *l.live
	out.Rules = slices.DeleteFunc(slices.Clone(out.Rules), func(r observed.Rule) bool {
		return slices.ContainsFunc(l.foreignMembers, func(s observed.Rule) bool { return s.ARN == r.ARN })
	})
	if l.strangeDefault {
		out.Default = []model.Action{notFound}
	}
	return &out
}

// removeForeignMembers deletes rules of a retained listener that are no retained object's.
func (p *listenerPlanner) removeForeignMembers(after []StepID) {
	if p.l.strangeDefault {
		a := Address{Kind: Listener, ID: p.l.live.ARN}
		to := []model.Action{notFound}
		p.freed(p.l.live.Default, p.add(Step{
			ID: stepID("default", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: ListenerSettings{
				Port: p.l.live.Port, Protocol: p.l.live.Protocol, Policy: p.l.live.Policy, ALPN: p.l.live.ALPN, Certificate: p.l.live.Certificate, MutualAuth: p.l.live.MutualAuth, Default: to,
			}},
			Changes: []Change{{Path: "default", From: ActionsText(p.l.live.Default), To: ActionsText(to)}},
			Why:     "no object asks for the default action any more", After: after, Blames: p.members(),
		}))
	}
	// From the last one up, so that none of them gets requests that another one has answered until then.
	var last StepID
	for _, r := range slices.Backward(p.l.foreignMembers) {
		a := ruleAddress(r.ARN)
		p.ruleOwners[r.ARN] = p.ownersOf(r.Actions)
		last = p.add(Step{
			ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteRule{ARN: r.ARN}, Impact: DeleteImpact,
			Why: "no object asks for the rule any more", After: append(slices.Clone(after), last), Blames: p.members(),
		})
		p.freed(r.Actions, last)
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
	if b.live == nil || len(b.want.Held.Members) == 0 {
		return false
	}
	b.retainListeners()
	if len(b.listeners) == 0 && !slices.ContainsFunc(b.want.Held.Members, func(m model.HeldMember) bool { return m.LoadBalancer }) {
		return false
	}
	if b.frontend.live != nil {
		for _, l := range b.frontend.live.Listeners {
			b.keep(l.Default)
		}
	}
	// The other listeners go, and so do rules of others on those that are retained.
	for _, l := range b.live.Listeners {
		i := slices.IndexFunc(b.listeners, func(p listenerPlan) bool { return p.desired.Port == l.Port })
		if i < 0 {
			b.deleteListener(l, nil)
			continue
		}
		b.listenerPlanner(&b.listeners[i], nil).removeForeignMembers(nil)
	}
	b.removeSurplusGroups()
	b.release().each()
	return true
}
