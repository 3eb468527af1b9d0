package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// listenerPlan is a wished listener with its choices resolved and its held parts filled in.
type listenerPlan struct {
	lb    *loadBalancerPlan // that it belongs to
	wish  model.Listener
	live  *observed.Listener
	make  bool // false: it cannot be made, and what is live of it stays
	certs certificates
	// mutual is the client certificate setting with the trust store by ARN.
	mutual *model.MutualAuth
	// defaults is the default action to set; the live one where it is held.
	defaults []model.Action
	rules    []rulePlan
	// strangers are live rules to be deleted from a listener that stays for its other rules.
	strangers []observed.Rule
	// strangeDefault says so of its default action.
	strangeDefault bool
	// leftOut are held rules that have neither a live form to keep nor a placeholder.
	leftOut []rulePlan
	// defaultNow is the default action to set now, on the way to the desired one; defaultWait is for
	// what the desired one waits.
	defaultNow  []model.Action
	defaultWait Wait
	// redirectsAll says that the listener has no rules because it redirects everything; ownDefault
	// that its default action serves a backend.
	redirectsAll, ownDefault bool
}

// address is that of the listener that is kept or made.
func (l *listenerPlan) address() Address { return l.lb.listenerAddress(l.wish.Port) }

// network reports whether it is the listener of a network load balancer.
func (l *listenerPlan) network() bool { return l.lb.wish != nil && l.lb.wish.Type == model.Network }

// rulePlan is a rule at its place in the order of precedence.
type rulePlan struct {
	wish model.Rule
	// key identifies the conditions; empty until it is asked for.
	key string
	// wished are the actions as the member wrote them.
	wished []model.Action
	// kept is the live rule that a held one keeps, nil if there is none.
	kept *observed.Rule
}

func (p *rulePlan) held() bool { return p.wish.Held != 0 }

// planListeners makes the listeners of a load balancer fit in ascending order of their ports. after are
// the steps that make the load balancer, and what has to be there before its first listener.
func (b *builder) planListeners(lb *loadBalancerPlan, after []StepID, groups map[string][]StepID) {
	b.deleteListeners(lb, after)
	for i := range lb.listeners {
		if l := &lb.listeners[i]; l.make && !l.redirectsAll {
			b.planListener(l, after, groups)
		}
	}
	// A listener that redirects everything comes after the one to which it sends the clients.
	for i := range lb.listeners {
		if l := &lb.listeners[i]; l.make && l.redirectsAll {
			b.planListener(l, append(slices.Clone(after), b.listenerSteps(lb, redirectPort(l.defaults))...), groups)
		}
	}
	for i := range lb.listeners {
		b.removeStrangers(&lb.listeners[i], after)
	}
}

// deleteListeners deletes those that no object asks for. One of an ALB that a target group leads to goes
// later, when nothing leads there any more.
func (b *builder) deleteListeners(lb *loadBalancerPlan, after []StepID) {
	if lb.live == nil || lb.isFrontend() && b.want.Held.FrontendPorts {
		return
	}
	for _, l := range lb.live.Listeners {
		switch {
		case slices.ContainsFunc(lb.listeners, func(p listenerPlan) bool { return p.wish.Port == l.Port }):
		case !lb.isFrontend() && b.leadsTo(l.Port):
			b.front.postponed = append(b.front.postponed, l)
		default:
			b.deleteListener(l, after)
		}
	}
}

// listenerSteps are the steps planned so far that make the listener of a port.
func (b *builder) listenerSteps(lb *loadBalancerPlan, port int32) []StepID {
	if id := stepID("create", lb.listenerAddress(port)); port != 0 && b.planned(id) {
		return []StepID{id}
	}
	return nil
}

// redirectPort is the port of the load balancer to which actions send the clients of a listener; 0 if
// they do not.
func redirectPort(actions []model.Action) int32 {
	if len(actions) != 1 {
		return 0
	}
	to, ok := actions[0].(model.Redirect)
	port, err := strconv.ParseInt(to.Port, 10, 32)
	if !ok || err != nil || to.Protocol != "HTTPS" || to.Host != "" && to.Host != "#{host}" {
		return 0
	}
	return int32(port)
}

func (b *builder) deleteListener(l observed.Listener, after []StepID) StepID {
	a := Address{Kind: Listener, ID: l.ARN}
	id := b.add(Step{
		ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteListener{ARN: l.ARN},
		Changes: []Change{{Path: "port", From: fmt.Sprint(l.Port)}},
		Why:     "no object listens on this port any more", Impact: DeleteImpact, After: after, Blames: b.members(),
	})
	b.freedListener(l, id)
	return id
}

// after are the steps that make the groups of actions.
func groupSteps(actions []model.Action, groups map[string][]StepID) []StepID {
	var out []StepID
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				out = append(out, groups[g.Group.ID]...)
			}
		}
	}
	return out
}

func (b *builder) planListener(l *listenerPlan, lb []StepID, groups map[string][]StepID) []StepID {
	a := l.address()
	tags := b.tags(a.ID, l.wish.Tags)
	settings := ListenerSettings{Port: l.wish.Port, Protocol: l.wish.Protocol(), Default: l.defaults}
	if t := l.wish.TLS; t != nil {
		settings.Policy, settings.ALPN, settings.Certificate, settings.MutualAuth = t.Policy, b.alpn(l), l.certs.Default, l.mutual
	}
	var steps []StepID
	var made []StepID // the listener itself, for everything on it
	final, last := settings, plainLast(l)
	if last {
		settings.Protocol, settings.Policy, settings.ALPN = l.live.Protocol, l.live.Policy, l.live.ALPN
		settings.Certificate, settings.MutualAuth = l.live.Certificate, l.live.MutualAuth
	}
	// A new listener of a load balancer that has clients must not answer with its default backend
	// what its rules, which come one by one, are for.
	veiled := l.lb.live != nil && l.live == nil && len(l.rules) > 0 && forwardOf(l.defaults) != nil
	if l.live == nil {
		first := settings
		if veiled {
			first.Default = []model.Action{unavailable}
		}
		id := b.createListener(l, first, tags, append(slices.Clone(lb), groupSteps(l.defaults, groups)...))
		made = []StepID{id}
		steps = append(steps, id)
	} else {
		if b.opt.RuleTags {
			b.retagBelow(l.lb.live.ARN, a, tags, l.live.Tags, lb, l.wish.Members)
		}
		made = b.changeFirst(l, settings, lb, groups)
		steps = append(steps, made...)
		b.planAttributes(a, l.live.ARN, l.wish.Attributes, l.live.Attributes, true, append(slices.Clone(lb), made...), l.wish.Members, l.wish.AttributesOf...)
	}
	certificates := b.addCertificates(l, a, made)
	steps = append(steps, certificates...)
	// New rules come before a default action that gives something up, and deletions after one
	// that takes something over.
	middle := func(after []StepID) []StepID {
		if veiled {
			return []StepID{b.add(Step{
				ID: stepID("default", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: settings},
				Changes: []Change{{Path: "default", From: actionsText([]model.Action{unavailable}), To: actionsText(l.defaults)}},
				Why:     "all rules are in place", After: append(slices.Clone(after), made...), Blames: l.wish.Members,
			})}
		}
		if l.live == nil || l.network() {
			return nil
		}
		return b.modifyListener(l, settings, append(slices.Clone(lb), after...), groups)
	}
	if l.live != nil && !l.network() {
		b.resolveDefault(l)
	}
	steps = append(steps, b.planRules(l, made, groups, middle)...)
	if last {
		steps = append(steps, b.changeProtocol(l, final, steps))
	}
	return append(steps, b.removeCertificates(l, a, append(made, certificates...))...)
}

// createListener makes a listener, once clients may reach its port.
func (b *builder) createListener(l *listenerPlan, settings ListenerSettings, tags Tags, after []StepID) StepID {
	a, why := l.address(), "objects listen on this port"
	if g := b.desired[l.wish.Target()]; g != nil && g.Type == model.ALBTargets {
		why = fmt.Sprintf("it leads to port %d", g.Port)
	}
	id := b.add(Step{
		ID: stepID("create", a), Address: a, Verb: Create,
		Do:  CreateListener{LoadBalancer: l.lb.address(), Settings: settings, Tags: b.ruleTags(tags)},
		Why: why, Blames: l.wish.Members,
		After: slices.Concat(after, []StepID{b.opened[l.wish.Port]}, b.holdersOf(l.wish.Members)),
	})
	b.planAttributes(a, "", l.wish.Attributes, nil, false, []StepID{id}, l.wish.Members)
	return id
}

// ruleTags are the tags of a listener or rule, none where these are switched off.
func (b *builder) ruleTags(t Tags) Tags {
	if !b.opt.RuleTags {
		return nil
	}
	return t
}

// resolveDefault settles what the default action of a live listener is to be now.
func (b *builder) resolveDefault(l *listenerPlan) {
	l.defaultNow = l.live.Default
	if !b.otherDefault(l, l.defaults) {
		b.assumeSecret(l.live.ARN, l.defaults)
		l.defaultNow = l.defaults
		return
	}
	now, wait := l.defaults, Wait{}
	if l.stages() {
		now, wait = b.shiftDefault(l)
	}
	l.defaultWait = wait
	if b.otherDefault(l, now) {
		l.defaultNow = now
	}
}

// stages reports whether traffic moves to another target group only when that has healthy targets. A
// network load balancer sends new connections there at once.
func (l *listenerPlan) stages() bool {
	return !l.wish.DefaultInPlace && !l.network()
}

// otherDefault reports whether the default action of a live listener is another than the given one.
func (b *builder) otherDefault(l *listenerPlan, as []model.Action) bool {
	return !sameActions(as, l.live.Default, b.arn) || b.otherSecret(l.live.ARN, as)
}

// modifyListener changes a live listener's settings. It returns the steps that the rules have to
// take their turn with, those that change what requests get.
func (b *builder) modifyListener(l *listenerPlan, settings ListenerSettings, after []StepID, groups map[string][]StepID) []StepID {
	live := l.live
	var changes []Change
	diff := func(path, from, to string) {
		if from != to {
			changes = append(changes, Change{Path: path, From: from, To: to})
		}
	}
	diff("protocol", live.Protocol, settings.Protocol)
	if l.wish.TLS != nil {
		diff("certificate", live.Certificate, settings.Certificate)
		diff("policy", live.Policy, settings.Policy)
		if settings.ALPN != "" {
			diff("alpn", cmp.Or(live.ALPN, noALPN), settings.ALPN)
		}
		if !SameMutualAuth(settings.MutualAuth, live.MutualAuth) {
			changes = append(changes, Change{Path: "mutualAuthentication"})
		}
	}
	settings.Default = l.defaultNow
	if b.otherDefault(l, l.defaultNow) {
		changes = append(changes, Change{Path: "default", From: actionsText(live.Default), To: actionsText(l.defaultNow)})
	}
	wait, impact := l.defaultWait, NoImpact
	if l.network() {
		impact = BriefImpact
	}
	a := l.address()
	var steps []StepID
	if len(changes) > 0 {
		id := b.add(Step{
			ID: stepID("modify", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: settings},
			Changes: changes, Why: "the listener differs", Impact: impact, Blames: l.wish.Members, Staged: wait.For != "",
			After: append(slices.Clone(after), groupSteps(settings.Default, groups)...),
		})
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Path == "protocol" || c.Path == "default" }) || wait.For != "" {
			steps = append(steps, id)
		}
		b.freed(live.Default, id)
	}
	if wait.For != "" {
		b.waitForTargets(l.wish.DefaultOf, l.wish.Members, fmt.Sprintf("the default action of port %d", l.wish.Port), wait)
		id := b.add(Step{
			ID: stepID("switch", a), Address: a, Verb: Update, Wait: wait,
			Do:  ModifyListener{Listener: a, Settings: settings.with(l.defaults)},
			Why: "traffic moves when the new targets are healthy", After: steps, Blames: l.wish.Members,
		})
		b.freed(live.Default, id)
		steps = append(steps, id)
	}
	return steps
}

func (b *builder) waitForTargets(of finding.Origin, members []finding.Ref, what string, wait Wait) {
	object := of.Object
	if object.IsZero() && len(members) > 0 {
		object = members[0]
	}
	b.found.Add(finding.Finding{
		Object: object, Field: of.Field, Reason: finding.WaitingForTargets,
		Message: fmt.Sprintf("%s waits for %s, for at most %s", what, wait.For, wait.Deadline), Fix: "check the pods and the health check if this does not pass",
	})
}

func actionsText(as []model.Action) string {
	var out []string
	for _, a := range as {
		out = append(out, actionText(a))
	}
	return strings.Join(out, ", then ")
}
