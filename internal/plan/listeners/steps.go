package listeners

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
	"github.com/fulcrum-lb/fulcrum/internal/plan/traffic"
)

// removeForeignRules plans to delete the foreign rules and the foreign default action of a listener that is retained.
func (p *planner) removeForeignRules(after []plan.StepID) {
	if p.l.ForeignDefault {
		a := plan.Address{Kind: plan.Listener, ID: p.l.Live.ARN}
		to := []model.Action{plan.NotFoundResponse}
		p.NoteFreed(p.l.Live.Default, p.Add(plan.Step{
			ID: plan.NewStepID("default", a), Address: a, Verb: plan.Update, Do: plan.ModifyListener{Listener: a, Settings: plan.SettingsOf(p.l.Live, to)},
			Changes: []plan.Change{{Path: "default", From: plan.ActionsText(p.l.Live.Default), To: plan.ActionsText(to)}},
			Why:     "no object asks for the default action any more", After: after, Blames: p.Members(),
		}))
	}
	// The last rule is deleted first. Otherwise a later rule would get the requests of a rule that was deleted before it.
	var last plan.StepID
	for _, r := range slices.Backward(p.l.ForeignRules) {
		a := plan.RuleAddress(r.ARN)
		p.RuleOwners[r.ARN] = p.OwnersOf(r.Actions)
		last = p.Add(plan.Step{
			ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteRule{ARN: r.ARN}, Impact: plan.DeleteImpact,
			Why: "no object asks for the rule any more", After: append(slices.Clone(after), last), Blames: p.Members(),
		})
		p.NoteFreed(r.Actions, last)
	}
}

// redirectPort returns the port to which an action redirects all requests of a listener by HTTPS; 0 if it does not.
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

// planner plans one listener with its certificates and rules.
type planner struct {
	*traffic.Traffic
	*draft.Usage
	*draft.Finalizers
	keys   owners.ConditionKeys
	opened map[int32]plan.StepID    // steps that open ports
	groups map[string][]plan.StepID // steps that make target groups
	l      *resolved.Listener

	// plainLive is the live HTTP listener of a listener that becomes an HTTPS listener first; nil otherwise.
	plainLive *observed.Listener
	// removesTLSLast reports whether the listener becomes an HTTP listener after its rules are changed.
	removesTLSLast bool
	rules          *rules.Rollout
}

// resolve decides which changes of the listener and its rules are made in this run.
func (p *planner) resolve() {
	p.removesTLSLast = removesTLSLast(p.l)
	if p.l.Live != nil {
		p.secureFirst()
		p.resolveDefault()
	}
	p.rules = rules.Resolve(p.Traffic, p.Usage, p.Finalizers, p.keys, p.l)
}

// settings returns the desired settings.
func (p *planner) settings() plan.ListenerSettings {
	out := plan.ListenerSettings{Port: p.l.Desired.Port, Protocol: p.l.Desired.Protocol(), Default: p.l.DefaultActions}
	if t := p.l.Desired.TLS; t != nil {
		out.Policy, out.ALPN, out.Certificate, out.MutualAuth = t.Policy, p.alpn(), p.l.Certs.Default, p.l.MutualAuth
	}
	return out
}

// plan adds the steps of the listener. lb are the steps after which its load balancer exists.
func (p *planner) plan(lb []plan.StepID, opened map[int32]plan.StepID, groups map[string][]plan.StepID) {
	p.opened, p.groups = opened, groups
	a := p.l.Address()
	tags := p.Tags(a.ID, p.l.Desired.Tags)
	settings := p.settings()
	var steps []plan.StepID
	var made []plan.StepID // steps after which the listener exists with its settings
	final := settings
	if p.removesTLSLast {
		settings = plan.SettingsOf(p.l.Live, settings.Default)
	}
	// The rules of a new listener are created one by one. Until all rules exist, its default action is a 503 if the load
	// balancer has clients, so that the default backend gets no requests that a rule will match.
	hidesDefault := p.l.LB.Live != nil && p.l.Live == nil && len(p.l.Rules) > 0 && equal.ForwardOf(p.l.DefaultActions) != nil
	if p.l.Live == nil {
		first := settings
		if hidesDefault {
			first.Default = []model.Action{plan.HeldResponse}
		}
		id := p.createListener(first, tags, append(slices.Clone(lb), rules.GroupSteps(p.l.DefaultActions, p.groups)...))
		made = []plan.StepID{id}
		steps = append(steps, id)
	} else {
		if p.Opt.RuleTags {
			p.RetagListenerOrRule(p.l.LB.Live.ARN, a, tags, p.l.Live.Tags, lb, p.l.Desired.Members)
		}
		made = p.changeBeforeRules(settings, lb)
		steps = append(steps, made...)
		p.PlanAttributes(a, p.l.Live.ARN, p.l.Attributes(), p.l.Live.Attributes, true, append(slices.Clone(lb), made...), p.l.Desired.Members, p.l.Desired.AttributesOf...)
	}
	certificates := p.addCertificates(a, made)
	steps = append(steps, certificates...)
	// The default action changes after new rules are created, because it may stop answering requests that these rules match,
	// and before live rules are deleted, because it may have to answer their requests.
	changeDefault := func(after []plan.StepID) []plan.StepID {
		if hidesDefault {
			return []plan.StepID{p.Add(plan.Step{
				ID: plan.NewStepID("default", a), Address: a, Verb: plan.Update, Do: plan.ModifyListener{Listener: a, Settings: settings},
				Changes: []plan.Change{{Path: "default", From: plan.ActionsText([]model.Action{plan.HeldResponse}), To: plan.ActionsText(p.l.DefaultActions)}},
				Why:     "all rules are in place", After: append(slices.Clone(after), made...), Blames: p.defaultOwners(),
			})}
		}
		if p.l.Live == nil || p.l.IsNetwork() {
			return nil
		}
		return p.modifyListener(settings, append(slices.Clone(lb), after...))
	}
	steps = append(steps, p.rules.Plan(made, p.groups, changeDefault)...)
	if p.removesTLSLast {
		p.changeProtocol(p.l.Live.Protocol, final, steps)
	}
	p.removeCertificates(a, append(made, certificates...))
}

// createListener plans to create the listener, after its port is open.
func (p *planner) createListener(settings plan.ListenerSettings, tags plan.Tags, after []plan.StepID) plan.StepID {
	a, why := p.l.Address(), "objects listen on this port"
	if g := p.DesiredGroups[p.l.Desired.Target()]; g != nil && g.Type == model.ALBTargets {
		why = fmt.Sprintf("it forwards to port %d", g.Port)
	}
	id := p.Add(plan.Step{
		ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create,
		Do:  plan.CreateListener{LoadBalancer: p.l.LB.Address(), Settings: settings, Tags: p.RuleTags(tags)},
		Why: why, Blames: p.l.Desired.Members,
		After: slices.Concat(after, []plan.StepID{p.opened[p.l.Desired.Port]}, p.HolderStepsOf(p.l.Desired.Members)),
	})
	p.PlanAttributes(a, "", p.l.Attributes(), nil, false, []plan.StepID{id}, p.l.Desired.Members)
	return id
}

// resolveDefault decides which default action a live listener gets in this run. Traffic moves to another target group
// only when that has healthy targets.
func (p *planner) resolveDefault() {
	p.l.InterimDefault = p.l.Live.Default
	if !p.defaultDiffers(p.l.DefaultActions) {
		p.AssumeSecret(p.l.Live.ARN, p.l.DefaultActions)
		p.l.InterimDefault = p.l.DefaultActions
		return
	}
	now, wait := p.l.DefaultActions, plan.Wait{}
	switch {
	case p.l.Desired.DefaultInPlace || p.ForwardsToALB(p.l.DefaultActions):
	case p.l.IsNetwork() && !p.FitOneAction(p.l):
		p.l.ChangesInOneCall = p.l.Live.Protocol != p.l.Desired.Protocol()
		now, wait = p.ShiftAfterRegistration(p.l)
	default:
		now, wait = p.ShiftDefault(p.l)
	}
	p.l.DefaultWait = wait
	if p.defaultDiffers(now) {
		p.l.InterimDefault = now
	}
}

// defaultDiffers reports whether the default action of the live listener differs from the given one.
func (p *planner) defaultDiffers(as []model.Action) bool {
	return !equal.SameActions(as, p.l.Live.Default, p.ARN) || p.SecretDiffers(p.l.Live.ARN, as)
}

// modifyListener plans to change the settings of a live listener. It returns the steps that change the target groups of
// requests. Steps of rules depend on them.
func (p *planner) modifyListener(settings plan.ListenerSettings, after []plan.StepID) []plan.StepID {
	live := p.l.Live
	var changes []plan.Change
	diff := func(path, from, to string) {
		if from != to {
			changes = append(changes, plan.Change{Path: path, From: from, To: to})
		}
	}
	diff("protocol", live.Protocol, settings.Protocol)
	if p.l.Desired.TLS != nil {
		diff("certificate", live.Certificate, settings.Certificate)
		diff("policy", live.Policy, settings.Policy)
		if settings.ALPN != "" {
			diff("alpn", cmp.Or(live.ALPN, noALPN), settings.ALPN)
		}
		if !equal.SameMutualAuth(settings.MutualAuth, live.MutualAuth) {
			changes = append(changes, plan.Change{Path: "mutualAuthentication"})
		}
	}
	settings.Default = p.l.InterimDefault
	if p.defaultDiffers(p.l.InterimDefault) {
		changes = append(changes, plan.Change{Path: "default", From: plan.ActionsText(live.Default), To: plan.ActionsText(p.l.InterimDefault)})
	}
	wait, impact := p.l.DefaultWait, plan.NoImpact
	if p.l.IsNetwork() {
		impact = plan.BriefImpact
	}
	a := p.l.Address()
	if wait.For != "" && p.l.ChangesInOneCall {
		return []plan.StepID{p.changeProtocolWhenReady(settings, changes, wait, after)}
	}
	var steps []plan.StepID
	if len(changes) > 0 {
		blames := p.l.Desired.Members
		if !slices.ContainsFunc(changes, func(c plan.Change) bool { return c.Path != "default" }) {
			blames = p.defaultOwners()
		}
		id := p.Add(plan.Step{
			ID: plan.NewStepID("modify", a), Address: a, Verb: plan.Update, Do: plan.ModifyListener{Listener: a, Settings: settings},
			Changes: changes, Why: "the listener differs", Impact: impact, Blames: blames, Staged: wait.For != "",
			After: append(slices.Clone(after), rules.GroupSteps(settings.Default, p.groups)...),
		})
		if slices.ContainsFunc(changes, func(c plan.Change) bool { return c.Path == "protocol" || c.Path == "default" }) || wait.For != "" {
			steps = append(steps, id)
		}
		p.NoteFreed(live.Default, id)
	}
	if wait.For != "" {
		p.WaitForTargets(p.l.Desired.DefaultOf, p.l.Desired.Members, fmt.Sprintf("the default action of port %d", p.l.Desired.Port), wait, true)
		id := p.Add(plan.Step{
			ID: plan.NewStepID("switch", a), Address: a, Verb: plan.Update, Wait: wait,
			Do:  plan.ModifyListener{Listener: a, Settings: settings.With(p.l.DefaultActions)},
			Why: "traffic moves when the new targets are healthy", After: steps, Blames: p.defaultOwners(),
		})
		p.NoteFreed(live.Default, id)
		steps = append(steps, id)
	}
	return steps
}

// defaultOwners returns the member that sets the default action, or all members of the listener if none does.
func (p *planner) defaultOwners() []finding.Ref {
	if of := p.l.Desired.DefaultOf.Object; !of.IsZero() {
		return []finding.Ref{of}
	}
	return p.l.Desired.Members
}
