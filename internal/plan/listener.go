package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// listenerPlan is a desired listener with its choices resolved and its held parts filled in.
type listenerPlan struct {
	lb      *loadBalancerPlan // that it belongs to
	desired model.Listener
	live    *observed.Listener
	make    bool // false: it cannot be made, and what is live of it stays
	certs   certificates
	// mutual is the client certificate setting with the trust store by ARN.
	mutual *model.MutualAuth
	// defaults is the default action to set; the live one where it is held.
	defaults []model.Action
	rules    []rulePlan
	// foreignMembers are live rules to be deleted from a listener that stays for its other rules.
	foreignMembers []observed.Rule
	// strangeDefault says so of its default action.
	strangeDefault bool
	// leftOut are held rules that have neither a live form to keep nor a placeholder.
	leftOut []rulePlan
	// late are rules that are made when a rule of another listener has gone.
	late []rulePlan
	// defaultNow is the default action to set now, on the way to the desired one; defaultWait is for
	// what the desired one waits.
	defaultNow  []model.Action
	defaultWait Wait
	// atOnce is set where protocol and target groups only change in one call.
	atOnce bool
	// redirectsAll reports whether the listener has no rules because it redirects everything; ownDefault
	// that its default action serves a backend.
	redirectsAll, ownDefault bool
}

// address is that of the listener that is kept or made.
func (l *listenerPlan) address() Address { return l.lb.listenerAddress(l.desired.Port) }

// network reports whether it is the listener of a network load balancer.
func (l *listenerPlan) network() bool {
	return l.lb.desired != nil && l.lb.desired.Type == model.Network
}

// attributes are those asked for. AWS has none of TLS listeners.
func (l *listenerPlan) attributes() map[string]string {
	if l.desired.Protocol() == "TLS" {
		return nil
	}
	return l.desired.Attributes
}

// rulePlan is a rule at its place in the order of precedence.
type rulePlan struct {
	desired model.Rule
	// key identifies the conditions; empty until it is asked for.
	key string
	// written are the actions as the member wrote them.
	written []model.Action
	// kept is the live rule that a held one keeps, nil if there is none.
	kept *observed.Rule
	// live reports whether a live rule is a form of it; place is that of a live rule that it takes, as AWS has
	// no room for both. Both are noted where rules are short, or several members share them.
	live  bool
	place *openPlace
}

func (p *rulePlan) held() bool { return p.desired.Held != 0 }

// becomes is the live rule that it keeps, or whose place it takes; nil if neither.
func (p *rulePlan) becomes() *observed.Rule {
	if p.kept == nil && p.place != nil {
		return p.place.rule
	}
	return p.kept
}

// oneStep reports whether AWS has no room for stages between the live form of the rule and the desired one.
func (p *rulePlan) oneStep() bool { return p.desired.InPlace || p.desired.NoRoom }

// planListeners makes the listeners of a load balancer fit in ascending order of their ports. after are
// the steps that make the load balancer, and what has to be there before its first listener.
func (b *builder) planListeners(lb *loadBalancerPlan, after []StepID, groups map[string][]StepID) {
	from := len(b.plan.Steps)
	b.deleteListeners(lb, after)
	for i := range lb.listeners {
		if l := &lb.listeners[i]; l.make && !l.redirectsAll {
			b.listenerPlanner(l, groups).plan(after)
		}
	}
	// A listener that redirects everything comes after the one to which it sends the clients.
	for i := range lb.listeners {
		if l := &lb.listeners[i]; l.make && l.redirectsAll {
			b.listenerPlanner(l, groups).plan(append(slices.Clone(after), b.listenerSteps(lb, redirectPort(l.defaults))...))
		}
	}
	for i := range lb.listeners {
		b.listenerPlanner(&lb.listeners[i], groups).removeForeignMembers(after)
	}
	b.takeTurns(lb.shares, from)
	b.rulePlaces(lb).planLate(groups)
}

// deleteListeners deletes those that no object asks for. One of an ALB that a target group leads to goes
// later, when nothing leads there any more.
func (b *builder) deleteListeners(lb *loadBalancerPlan, after []StepID) {
	if lb.live == nil || lb.isFrontend() && b.want.Held.FrontendPorts {
		return
	}
	for _, l := range lb.live.Listeners {
		switch {
		case slices.ContainsFunc(lb.listeners, func(p listenerPlan) bool { return p.desired.Port == l.Port }):
		case !lb.isFrontend() && b.leadsTo(lb.live, l.Port):
			b.frontend.postponed = append(b.frontend.postponed, l)
		default:
			b.deleteListener(l, after)
		}
	}
}

// noListener is why there is no listener on a port.
func (lb *loadBalancerPlan) noListener(port int32) string {
	if slices.Contains(lb.withdrawn, port) {
		return "its certificate was imported for another load balancer"
	}
	return "no object listens on this port any more"
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
		Why:     b.noListener(l.Port), Impact: DeleteImpact, After: after, Blames: b.members(),
	})
	b.freedListener(l, id)
	return id
}

// groupSteps are the steps that make the target groups of actions.
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

// listenerPlanner makes one listener with its certificates and rules, and notes what is freed by that.
type listenerPlanner struct {
	*traffic
	*usage
	*finalizers
	keys   liveKeys
	opened map[int32]StepID    // steps that open ports
	groups map[string][]StepID // steps that make target groups
	l      *listenerPlan
}

func (b *builder) listenerPlanner(l *listenerPlan, groups map[string][]StepID) *listenerPlanner {
	return &listenerPlanner{b.traffic, b.usage, b.finalizers, b.keys, b.securityGroups.opened, groups, l}
}

// plan makes the listener fit after the steps that make its load balancer.
func (p *listenerPlanner) plan(lb []StepID) []StepID {
	a := p.l.address()
	tags := p.tags(a.ID, p.l.desired.Tags)
	settings := ListenerSettings{Port: p.l.desired.Port, Protocol: p.l.desired.Protocol(), Default: p.l.defaults}
	if t := p.l.desired.TLS; t != nil {
		settings.Policy, settings.ALPN, settings.Certificate, settings.MutualAuth = t.Policy, p.alpn(), p.l.certs.Default, p.l.mutual
	}
	var steps []StepID
	var made []StepID // the listener itself, for everything on it
	final, last := settings, plainLast(p.l)
	if last {
		settings.Protocol, settings.Policy, settings.ALPN = p.l.live.Protocol, p.l.live.Policy, p.l.live.ALPN
		settings.Certificate, settings.MutualAuth = p.l.live.Certificate, p.l.live.MutualAuth
	}
	// A new listener of a load balancer that has clients must not answer with its default backend
	// what its rules, which come one by one, are for.
	veiled := p.l.lb.live != nil && p.l.live == nil && len(p.l.rules) > 0 && forwardOf(p.l.defaults) != nil
	if p.l.live == nil {
		first := settings
		if veiled {
			first.Default = []model.Action{unavailable}
		}
		id := p.createListener(first, tags, append(slices.Clone(lb), groupSteps(p.l.defaults, p.groups)...))
		made = []StepID{id}
		steps = append(steps, id)
	} else {
		if p.opt.RuleTags {
			p.retagBelow(p.l.lb.live.ARN, a, tags, p.l.live.Tags, lb, p.l.desired.Members)
		}
		made = p.changeFirst(settings, lb)
		steps = append(steps, made...)
		p.planAttributes(a, p.l.live.ARN, p.l.attributes(), p.l.live.Attributes, true, append(slices.Clone(lb), made...), p.l.desired.Members, p.l.desired.AttributesOf...)
	}
	certificates := p.addCertificates(a, made)
	steps = append(steps, certificates...)
	// New rules come before a default action that gives something up, and deletions after one
	// that takes something over.
	middle := func(after []StepID) []StepID {
		if veiled {
			return []StepID{p.add(Step{
				ID: stepID("default", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: settings},
				Changes: []Change{{Path: "default", From: ActionsText([]model.Action{unavailable}), To: ActionsText(p.l.defaults)}},
				Why:     "all rules are in place", After: append(slices.Clone(after), made...), Blames: p.l.desired.Members,
			})}
		}
		if p.l.live == nil || p.l.network() {
			return nil
		}
		return p.modifyListener(settings, append(slices.Clone(lb), after...))
	}
	if p.l.live != nil && !p.l.network() {
		p.resolveDefault()
	}
	rules := ruleRollout{traffic: p.traffic, usage: p.usage, finalizers: p.finalizers, keys: p.keys, l: p.l}
	steps = append(steps, rules.plan(made, p.groups, middle)...)
	if last {
		steps = append(steps, p.changeProtocol(final, steps))
	}
	return append(steps, p.removeCertificates(a, append(made, certificates...))...)
}

// createListener makes a listener, once clients may reach its port.
func (p *listenerPlanner) createListener(settings ListenerSettings, tags Tags, after []StepID) StepID {
	a, why := p.l.address(), "objects listen on this port"
	if g := p.desiredGroups[p.l.desired.Target()]; g != nil && g.Type == model.ALBTargets {
		why = fmt.Sprintf("it leads to port %d", g.Port)
	}
	id := p.add(Step{
		ID: stepID("create", a), Address: a, Verb: Create,
		Do:  CreateListener{LoadBalancer: p.l.lb.address(), Settings: settings, Tags: p.ruleTags(tags)},
		Why: why, Blames: p.l.desired.Members,
		After: slices.Concat(after, []StepID{p.opened[p.l.desired.Port]}, p.holdersOf(p.l.desired.Members)),
	})
	p.planAttributes(a, "", p.l.attributes(), nil, false, []StepID{id}, p.l.desired.Members)
	return id
}

// resolveDefault settles what the default action of a live listener is to be now. Traffic moves to another target
// group only when that has healthy targets.
func (p *listenerPlanner) resolveDefault() {
	p.l.defaultNow = p.l.live.Default
	if !p.otherDefault(p.l.defaults) {
		p.assumeSecret(p.l.live.ARN, p.l.defaults)
		p.l.defaultNow = p.l.defaults
		return
	}
	now, wait := p.l.defaults, Wait{}
	switch {
	case p.l.desired.DefaultInPlace || p.toALB(p.l.defaults):
	case p.l.network() && !p.together(p.l):
		p.l.atOnce = p.l.live.Protocol != p.l.desired.Protocol()
		now, wait = p.afterRegistration(p.l)
	default:
		now, wait = p.shiftDefault(p.l)
	}
	p.l.defaultWait = wait
	if p.otherDefault(now) {
		p.l.defaultNow = now
	}
}

// otherDefault reports whether the default action of a live listener is another than the given one.
func (p *listenerPlanner) otherDefault(as []model.Action) bool {
	return !sameActions(as, p.l.live.Default, p.arn) || p.otherSecret(p.l.live.ARN, as)
}

// modifyListener changes a live listener's settings. It returns the steps that the rules have to
// take their turn with, those that change what requests get.
func (p *listenerPlanner) modifyListener(settings ListenerSettings, after []StepID) []StepID {
	live := p.l.live
	var changes []Change
	diff := func(path, from, to string) {
		if from != to {
			changes = append(changes, Change{Path: path, From: from, To: to})
		}
	}
	diff("protocol", live.Protocol, settings.Protocol)
	if p.l.desired.TLS != nil {
		diff("certificate", live.Certificate, settings.Certificate)
		diff("policy", live.Policy, settings.Policy)
		if settings.ALPN != "" {
			diff("alpn", cmp.Or(live.ALPN, noALPN), settings.ALPN)
		}
		if !SameMutualAuth(settings.MutualAuth, live.MutualAuth) {
			changes = append(changes, Change{Path: "mutualAuthentication"})
		}
	}
	settings.Default = p.l.defaultNow
	if p.otherDefault(p.l.defaultNow) {
		changes = append(changes, Change{Path: "default", From: ActionsText(live.Default), To: ActionsText(p.l.defaultNow)})
	}
	wait, impact := p.l.defaultWait, NoImpact
	if p.l.network() {
		impact = BriefImpact
	}
	a := p.l.address()
	if wait.For != "" && p.l.atOnce {
		return []StepID{p.changeLater(settings, changes, wait, after)}
	}
	var steps []StepID
	if len(changes) > 0 {
		id := p.add(Step{
			ID: stepID("modify", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: settings},
			Changes: changes, Why: "the listener differs", Impact: impact, Blames: p.l.desired.Members, Staged: wait.For != "",
			After: append(slices.Clone(after), groupSteps(settings.Default, p.groups)...),
		})
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Path == "protocol" || c.Path == "default" }) || wait.For != "" {
			steps = append(steps, id)
		}
		p.freed(live.Default, id)
	}
	if wait.For != "" {
		p.waitForTargets(p.l.desired.DefaultOf, p.l.desired.Members, fmt.Sprintf("the default action of port %d", p.l.desired.Port), wait)
		id := p.add(Step{
			ID: stepID("switch", a), Address: a, Verb: Update, Wait: wait,
			Do:  ModifyListener{Listener: a, Settings: settings.with(p.l.defaults)},
			Why: "traffic moves when the new targets are healthy", After: steps, Blames: p.l.desired.Members,
		})
		p.freed(live.Default, id)
		steps = append(steps, id)
	}
	return steps
}

// ActionsText describes actions for people.
func ActionsText(as []model.Action) string {
	var out []string
	for _, a := range as {
		out = append(out, actionText(a))
	}
	return strings.Join(out, ", then ")
}
