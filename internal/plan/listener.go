package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// listenerPlan is a wished listener with its choices resolved and its held parts filled in.
type listenerPlan struct {
	wish  model.Listener
	live  *observed.Listener
	make  bool // false: it cannot be made, and what is live of it stays
	certs certificates
	// mutual is the client certificate setting with the trust store by ARN.
	mutual *model.MutualAuth
	// defaults is the default action to set; the live one where it is held.
	defaults []model.Action
	rules    []rulePlan
	// redirectsAll says that the listener has no rules because it redirects everything; ownDefault
	// that its default action serves a backend.
	redirectsAll, ownDefault bool
}

// rulePlan is a rule at its place in the order of precedence.
type rulePlan struct {
	wish model.Rule
	// held says that the rule is not what its member wished; kept is then the live rule whose
	// action stays, nil if there is none.
	held bool
	kept *observed.Rule
}

// resolveListeners settles certificates, external target groups and held rules.
func (b *builder) resolveListeners() {
	for _, w := range b.want.ALB.Listeners {
		l := listenerPlan{wish: w, make: true, live: b.liveListener(w.Port)}
		var blocked []finding.Ref
		if w.TLS != nil {
			l.certs = b.resolveCertificates(w, l.live)
			blocked = l.certs.Blocked
			if l.certs.Default == "" {
				l.make = false
				b.uncertified(w, blocked)
			}
			b.resolveMutualAuth(&l)
		}
		b.resolveRules(&l, blocked)
		b.listeners = append(b.listeners, l)
	}
	for _, l := range b.listeners {
		if l.make || l.live != nil {
			b.plan.Ports = append(b.plan.Ports, l.wish.Port)
		}
	}
	b.keepHeldElsewhere()
}

// uncertified reports a secure listener that has no certificate to serve. It waits while the
// certificates are still to be asked for.
func (b *builder) uncertified(w model.Listener, blocked []finding.Ref) {
	if len(blocked) > 0 || len(b.plan.Asks) > 0 || len(w.Members) == 0 {
		return
	}
	b.found.Add(finding.Finding{
		Object: w.Members[0], Field: "spec.tls", Reason: finding.CertificateMissing,
		Message: fmt.Sprintf("port %d serves HTTPS, but no certificate is given and there is no host to find one by", w.Port),
		Fix:     "set the certificate-arn annotation, or give the rules a host", Blocks: finding.BlocksMember,
	})
}

func (b *builder) liveListener(port int32) *observed.Listener {
	if b.live == nil {
		return nil
	}
	for i := range b.live.Listeners {
		if b.live.Listeners[i].Port == port {
			return &b.live.Listeners[i]
		}
	}
	return nil
}

func (b *builder) resolveRules(l *listenerPlan, blocked []finding.Ref) {
	l.defaults = l.wish.Default
	l.ownDefault = !l.wish.DefaultOf.Object.IsZero()
	for _, a := range l.wish.Default {
		if _, ok := a.(model.Redirect); ok && len(l.wish.Rules) == 0 {
			l.redirectsAll = true
		}
	}
	if l.wish.DefaultHeld || l.ownDefault && slices.Contains(blocked, l.wish.DefaultOf.Object) || b.unresolved(l.wish.Default, l.wish.DefaultOf) {
		l.ownDefault = false
		l.defaults = []model.Action{notFound}
		if l.live != nil {
			l.defaults = l.live.Default
		}
	}
	l.defaults = b.resolved(l.defaults)
	taken := map[string]bool{}
	for _, r := range l.wish.Rules {
		p := rulePlan{wish: r, held: r.Held || slices.Contains(blocked, r.Member) || b.unresolved(r.Actions, r.Origin)}
		if p.held {
			p.hold(l.live, taken)
		}
		p.wish.Actions = b.resolved(p.wish.Actions)
		l.rules = append(l.rules, p)
	}
	for _, h := range b.want.Held {
		b.insertHeld(l, h, taken)
	}
	b.keep(l.defaults)
	for _, r := range l.rules {
		if r.held {
			b.keep(r.wish.Actions)
		}
	}
}

// notFound answers what no rule of anybody matches.
var notFound = model.FixedResponse{Status: "404", ContentType: "text/plain"}

// unavailable stands in for a rule that cannot be built and is not live, so that requests meant
// for it do not fall through to a rule that was never meant for them.
var unavailable = model.FixedResponse{Status: "503", ContentType: "text/plain", Body: "Rule is held because its configuration is not valid"}

// hold keeps the live rule of the same place, or puts a 503 there.
func (p *rulePlan) hold(live *observed.Listener, taken map[string]bool) {
	if r := findPlace(live, p.wish.Hosts(), p.wish.Paths(), taken); r != nil {
		taken[r.ARN] = true
		p.kept = r
		p.wish.Conditions, p.wish.Transforms, p.wish.Actions = r.Conditions, r.Transforms, r.Actions
		return
	}
	p.wish.Actions, p.wish.Transforms = []model.Action{unavailable}, nil
	if p.wish.Instead != nil {
		p.wish.Conditions = p.wish.Instead
	}
	if len(p.wish.Conditions) == 0 {
		p.wish.Conditions = []model.Condition{model.PathPattern{Values: []string{"/*"}}}
	}
}

func findPlace(live *observed.Listener, hosts, paths []string, taken map[string]bool) *observed.Rule {
	if live == nil {
		return nil
	}
	for i := range live.Rules {
		r := &live.Rules[i]
		m := model.Rule{Conditions: r.Conditions}
		if !taken[r.ARN] && samePlace(hosts, paths, m.Hosts(), m.Paths()) {
			return r
		}
	}
	return nil
}

// insertHeld keeps a live rule whose member could not say where it belongs, at the place that it
// has among the others now.
func (b *builder) insertHeld(l *listenerPlan, h model.HeldRule, taken map[string]bool) {
	r := findPlace(l.live, h.Hosts, h.Paths, taken)
	if r == nil {
		return
	}
	taken[r.ARN] = true
	at := 0
	for i, p := range l.rules {
		for _, o := range l.live.Rules {
			if o.Priority < r.Priority && sameConditions(o.Conditions, p.wish.Conditions) {
				at = i + 1
			}
		}
	}
	l.rules = slices.Insert(l.rules, at, rulePlan{held: true, kept: r, wish: model.Rule{
		Conditions: r.Conditions, Transforms: r.Transforms, Actions: r.Actions, Member: h.Member, Held: true,
		Tags: userTags(b, r.Tags),
	}})
}

// userTags are the live tags of a kept rule without the tracking tags.
func userTags(b *builder, tags map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if !naming.ReservedTag(k) {
			out[k] = v
		}
	}
	return out
}

// keep notes the target groups that live actions forward to.
func (b *builder) keep(actions []model.Action) {
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				if g.Group.ARN != "" {
					b.kept[g.Group.ARN] = true
				}
			}
		}
	}
}

// keepHeldElsewhere keeps whole listeners that nobody wishes for but that carry a held rule.
func (b *builder) keepHeldElsewhere() {
	if b.live == nil {
		return
	}
	for i := range b.live.Listeners {
		l := &b.live.Listeners[i]
		if b.wishes(l.Port) {
			continue
		}
		if slices.ContainsFunc(b.want.Held, func(h model.HeldRule) bool { return findPlace(l, h.Hosts, h.Paths, nil) != nil }) {
			b.listeners = append(b.listeners, listenerPlan{wish: model.Listener{Port: l.Port}, live: l})
			b.plan.Ports = append(b.plan.Ports, l.Port)
			slices.Sort(b.plan.Ports)
		}
	}
	for _, l := range b.listeners {
		if !l.make && l.live != nil {
			b.keep(l.live.Default)
			for _, r := range l.live.Rules {
				b.keep(r.Actions)
			}
		}
	}
}

func (b *builder) wishes(port int32) bool {
	return slices.ContainsFunc(b.want.ALB.Listeners, func(l model.Listener) bool { return l.Port == port })
}

// unresolved says whether an action names a target group that does not exist, and reports it.
func (b *builder) unresolved(actions []model.Action, of finding.Origin) bool {
	missing := false
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for _, g := range f.Groups {
			if g.Group.Name != "" && b.arn(g.Group) == "" {
				missing = true
				b.found.Add(finding.Finding{
					Object: of.Object, Field: of.Field, Reason: finding.TargetGroupNotFound,
					Message: fmt.Sprintf("target group %s does not exist", g.Group.Name),
					Fix:     "correct targetGroupName, or create the target group", Blocks: finding.BlocksRule,
				})
			}
		}
	}
	return missing
}

// resolved puts the ARNs of groups that are given by name into actions; what carries out a step has
// nothing else to find them by.
func (b *builder) resolved(actions []model.Action) []model.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		f.Groups = slices.Clone(f.Groups)
		for j, g := range f.Groups {
			if arn := b.arn(g.Group); g.Group.Name != "" && arn != "" {
				f.Groups[j].Group = model.GroupRef{ARN: arn}
			}
		}
		out[i] = f
	}
	return out
}

// planListeners makes listeners fit in ascending order of their ports.
func (b *builder) planListeners(lb []StepID, groups map[string][]StepID) {
	var steps []StepID
	var gone []StepID
	if b.live != nil {
		for _, l := range b.live.Listeners {
			if !slices.ContainsFunc(b.listeners, func(p listenerPlan) bool { return p.wish.Port == l.Port }) {
				a := Address{Kind: Listener, ID: l.ARN}
				gone = append(gone, b.add(Step{
					ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteListener{ARN: l.ARN},
					Changes: []Change{{Path: "port", From: fmt.Sprint(l.Port)}},
					Why:     "no object listens on this port any more", Impact: DeleteImpact, After: lb, Blames: b.members(),
				}))
			}
		}
	}
	for i := range b.listeners {
		l := &b.listeners[i]
		if l.make {
			steps = append(steps, b.planListener(l, lb, groups)...)
		}
	}
	b.unusedAfter = append(gone, steps...)
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
	a := listenerAddress(l.wish.Port)
	tags := b.tags(naming.ListenerID(l.wish.Port), l.wish.Tags)
	settings := ListenerSettings{Port: l.wish.Port, Protocol: l.wish.Protocol(), Default: l.defaults}
	if t := l.wish.TLS; t != nil {
		settings.Policy, settings.Certificate, settings.MutualAuth = t.Policy, l.certs.Default, l.mutual
	}
	var steps []StepID
	var made []StepID // the listener itself, for everything on it
	// A new listener of a load balancer that has clients must not answer with its default backend
	// what its rules, which come one by one, are for.
	veiled := b.live != nil && l.live == nil && len(l.rules) > 0 && forwardOf(l.defaults) != nil
	if l.live == nil {
		first := settings
		if veiled {
			first.Default = []model.Action{unavailable}
		}
		id := b.add(Step{
			ID: stepID("create", a), Address: a, Verb: Create,
			Do:  CreateListener{LoadBalancer: loadBalancerAddress, Settings: first, Tags: b.ruleTags(tags)},
			Why: "objects listen on this port", Blames: l.wish.Members,
			After: append(slices.Clone(lb), groupSteps(l.defaults, groups)...),
		})
		made = []StepID{id}
		steps = append(steps, id)
		b.planAttributes(a, "", l.wish.Attributes, nil, false, made, l.wish.Members)
	} else {
		if b.opt.RuleTags {
			b.retag(a, tags, l.live.Tags, false, lb, l.wish.Members)
		}
		b.planAttributes(a, l.live.ARN, l.wish.Attributes, l.live.Attributes, true, lb, l.wish.Members)
	}
	steps = append(steps, b.planCertificates(l, a, made)...)
	// New rules come before a default action that gives something up, and deletions after one
	// that takes something over.
	middle := func(after []StepID) ([]StepID, string) {
		if veiled {
			return []StepID{b.add(Step{
				ID: stepID("default", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: settings},
				Changes: []Change{{Path: "default", From: actionsText([]model.Action{unavailable}), To: actionsText(l.defaults)}},
				Why:     "all rules are in place", After: append(after, made...), Blames: l.wish.Members,
			})}, ""
		}
		if l.live == nil {
			return nil, ""
		}
		return b.modifyListener(l, settings, append(slices.Clone(lb), after...), groups)
	}
	return append(steps, b.planRules(l, made, groups, middle)...)
}

// ruleTags are the tags of a listener or rule, none where these are switched off.
func (b *builder) ruleTags(t Tags) Tags {
	if !b.opt.RuleTags {
		return nil
	}
	return t
}

// modifyListener changes a live listener's settings. The second result says for what the final
// default action waits.
func (b *builder) modifyListener(l *listenerPlan, settings ListenerSettings, after []StepID, groups map[string][]StepID) ([]StepID, string) {
	live := l.live
	var changes []Change
	diff := func(path, from, to string) {
		if from != to {
			changes = append(changes, Change{Path: path, From: from, To: to})
		}
	}
	diff("protocol", live.Protocol, settings.Protocol)
	if settings.Protocol == "HTTPS" {
		diff("certificate", live.Certificate, settings.Certificate)
		diff("policy", live.Policy, settings.Policy)
		if !sameMutualAuth(settings.MutualAuth, live.MutualAuth, b.opt.EnhancedDefaults) {
			changes = append(changes, Change{Path: "mutualAuthentication"})
		}
	}
	wait := ""
	if !sameActions(settings.Default, live.Default, b.arn) {
		now, w := b.shift(settings.Default, live.Default)
		wait = w
		if !sameActions(now, live.Default, b.arn) {
			settings.Default = now
			changes = append(changes, Change{Path: "default", From: actionsText(live.Default), To: actionsText(now)})
		} else {
			settings.Default = live.Default
		}
	}
	a := listenerAddress(l.wish.Port)
	var steps []StepID
	if len(changes) > 0 {
		steps = append(steps, b.add(Step{
			ID: stepID("modify", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: settings},
			Changes: changes, Why: "the listener differs", Blames: l.wish.Members,
			After: append(slices.Clone(after), groupSteps(settings.Default, groups)...),
		}))
	}
	if wait != "" {
		b.waitForTargets(l.wish.DefaultOf, l.wish.Members, fmt.Sprintf("the default action of port %d", l.wish.Port), wait)
		steps = append(steps, b.add(Step{
			ID: stepID("switch", a), Address: a, Verb: Update, Wait: wait,
			Do:  ModifyListener{Listener: a, Settings: ListenerSettings{Port: settings.Port, Protocol: settings.Protocol, Policy: settings.Policy, Certificate: settings.Certificate, MutualAuth: settings.MutualAuth, Default: l.defaults}},
			Why: "traffic moves when the new targets are healthy", After: steps, Blames: l.wish.Members,
		}))
	}
	return steps, wait
}

// planCertificates attaches additional certificates before it detaches others.
func (b *builder) planCertificates(l *listenerPlan, a Address, after []StepID) []StepID {
	var live []string
	if l.live != nil {
		live = l.live.Certificates
	}
	if l.wish.TLS == nil {
		return nil
	}
	var steps []StepID
	for _, arn := range l.certs.Extra {
		if !slices.Contains(live, arn) {
			steps = append(steps, b.add(Step{
				ID: stepID("certificate", a, arn), Address: a, Verb: Update, Do: AddCertificate{Listener: a, ARN: arn},
				Changes: []Change{{Path: "certificates", To: arn}}, Why: "hosts of the listener need it", After: after, Blames: b.certificateOwners(l, arn),
			}))
		}
	}
	added := append(slices.Clone(after), steps...)
	for _, arn := range live {
		if !slices.Contains(l.certs.Extra, arn) {
			steps = append(steps, b.add(Step{
				ID: stepID("uncertificate", a, arn), Address: a, Verb: Update, Do: RemoveCertificate{Listener: a, ARN: arn},
				Changes: []Change{{Path: "certificates", From: arn}}, Why: "no object asks for it any more", After: added, Blames: l.wish.Members,
			}))
		}
	}
	return steps
}

// certificateOwners are the members that named a certificate, or all of the listener.
func (b *builder) certificateOwners(l *listenerPlan, arn string) []finding.Ref {
	var out []finding.Ref
	for _, c := range l.wish.TLS.Certificates {
		if c, ok := c.(model.CertARNs); ok && slices.Contains(c.ARNs, arn) {
			out = append(out, c.Member)
		}
	}
	if len(out) == 0 {
		return l.wish.Members
	}
	return out
}

func (b *builder) waitForTargets(of finding.Origin, members []finding.Ref, what, wait string) {
	object := of.Object
	if object.IsZero() && len(members) > 0 {
		object = members[0]
	}
	b.found.Add(finding.Finding{
		Object: object, Field: of.Field, Reason: finding.WaitingForTargets,
		Message: what + " waits for " + wait, Fix: "check the pods and the health check if this does not pass",
	})
}

func actionsText(as []model.Action) string {
	var out []string
	for _, a := range as {
		out = append(out, actionText(a))
	}
	return strings.Join(out, ", then ")
}
