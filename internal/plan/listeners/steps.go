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
func (p *listenerPlanner) removeForeignRules(after []plan.StepID) {
	if p.listener.HasForeignDefault {
		a := plan.Address{Kind: plan.Listener, ID: p.listener.Live.ARN}
		to := []model.Action{plan.NotFoundResponse}
		p.RecordFreeingStep(p.listener.Live.Default, p.Add(plan.Step{
			ID: plan.NewStepID("default", a), Address: a, Verb: plan.Update, Do: plan.ModifyListener{Listener: a, Settings: plan.LiveListenerSettings(p.listener.Live, to)},
			Changes: []plan.Change{{Path: "default", From: plan.ActionsText(p.listener.Live.Default), To: plan.ActionsText(to)}},
			Why:     "no object requests the default action any more", After: after, RequestedBy: p.Members(),
		}))
	}
	// The last rule is deleted first. In another order, a foreign rule would get the requests of a foreign rule that was
	// deleted before it.
	var last plan.StepID
	for _, r := range slices.Backward(p.listener.ForeignRules) {
		a := plan.RuleAddress(r.ARN)
		p.RuleOwners[r.ARN] = p.ActionOwners(r.Actions)
		last = p.Add(plan.Step{
			ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteRule{ARN: r.ARN}, Impact: plan.DeleteImpact,
			Why: "no object requests the rule any more", After: append(slices.Clone(after), last), RequestedBy: p.Members(),
		})
		p.RecordFreeingStep(r.Actions, last)
	}
}

// redirectPort returns the HTTPS port to which the actions redirect all requests of a listener; 0 if they do not redirect
// all requests to HTTPS.
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

// listenerPlanner plans one listener with its certificates and rules.
type listenerPlanner struct {
	*traffic.Traffic
	*draft.Usage
	*draft.Finalizers
	conditionKeys    owners.ConditionKeys
	portSteps        map[int32]plan.StepID    // steps that open ports in the security group, by port
	targetGroupSteps map[string][]plan.StepID // steps that create target groups, by id
	listener         *resolved.Listener

	// liveHTTPListener is the observed listener if it is an HTTP listener that first becomes an HTTPS listener; otherwise nil.
	liveHTTPListener *observed.Listener
	// removesTLSLast is set if the listener becomes an HTTP listener after its rules are changed.
	removesTLSLast bool
	rules          *rules.Rollout
}

// resolve decides which changes of the listener and its rules are made in this run.
func (p *listenerPlanner) resolve() {
	p.removesTLSLast = p.changesToHTTPLast()
	if p.listener.Live != nil {
		p.changeToHTTPSFirst()
		p.resolveDefaultAction()
	}
	p.rules = rules.Resolve(p.Traffic, p.Usage, p.Finalizers, p.conditionKeys, p.listener)
}

// desiredSettings returns the desired settings of the listener. It must be called after resolve has made all decisions.
func (p *listenerPlanner) desiredSettings() plan.ListenerSettings {
	out := plan.ListenerSettings{Port: p.listener.Desired.Port, Protocol: p.listener.Desired.Protocol(), Default: p.listener.DefaultActions}
	if t := p.listener.Desired.TLS; t != nil {
		out.Policy, out.ALPN, out.Certificate, out.MutualAuth = t.Policy, p.alpnToSet(), p.listener.Certs.Default, p.listener.MutualAuth
	}
	return out
}

// plan adds the steps that create or change the listener and its rules. lb has the steps that create its load balancer.
// opened and groups are the parameters of Planner.Plan.
func (p *listenerPlanner) plan(lb []plan.StepID, opened map[int32]plan.StepID, groups map[string][]plan.StepID) {
	p.portSteps, p.targetGroupSteps = opened, groups
	a := p.listener.Address()
	tags := p.Tags(a.ID, p.listener.Desired.Tags)
	settings := p.desiredSettings()
	var steps []plan.StepID
	var made []plan.StepID // steps after which the listener exists with its settings
	final := settings
	if p.removesTLSLast {
		settings = plan.LiveListenerSettings(p.listener.Live, settings.Default)
	}
	// The rules of a new listener are created one by one. If the load balancer already has clients, the default action
	// answers 503 until all rules exist. Without this, the default backend would get requests that a later rule matches.
	hidesDefault := p.listener.LB.Live != nil && p.listener.Live == nil && len(p.listener.Rules) > 0 && equal.ForwardOf(p.listener.DefaultActions) != nil
	if p.listener.Live == nil {
		first := settings
		if hidesDefault {
			first.Default = []model.Action{plan.HeldResponse}
		}
		id := p.createListener(first, tags, append(slices.Clone(lb), rules.TargetGroupSteps(p.listener.DefaultActions, p.targetGroupSteps)...))
		made = []plan.StepID{id}
		steps = append(steps, id)
	} else {
		if p.Opt.RuleTags {
			p.RetagListenerOrRule(p.listener.LB.Live.ARN, a, tags, p.listener.Live.Tags, lb, p.listener.Desired.Members)
		}
		made = p.changeBeforeRules(settings, lb)
		steps = append(steps, made...)
		p.PlanAttributes(a, p.listener.Live.ARN, p.listener.Attributes(), p.listener.Live.Attributes, append(slices.Clone(lb), made...), p.listener.Desired.Members, p.listener.Desired.AttributesOf...)
	}
	certificates := p.addCertificates(a, made)
	steps = append(steps, certificates...)
	// The default action changes after new rules are created, because it may stop answering requests that these rules match.
	// It changes before existing rules are deleted, because it may have to answer their requests.
	changeDefault := func(after []plan.StepID) []plan.StepID {
		if hidesDefault {
			return []plan.StepID{p.Add(plan.Step{
				ID: plan.NewStepID("default", a), Address: a, Verb: plan.Update, Do: plan.ModifyListener{Listener: a, Settings: settings},
				Changes: []plan.Change{{Path: "default", From: plan.ActionsText([]model.Action{plan.HeldResponse}), To: plan.ActionsText(p.listener.DefaultActions)}},
				Why:     "all rules are in place", After: append(slices.Clone(after), made...), RequestedBy: p.defaultActionOwners(),
			})}
		}
		if p.listener.Live == nil || p.listener.IsNetwork() {
			return nil
		}
		return p.modifyListener(settings, append(slices.Clone(lb), after...))
	}
	steps = append(steps, p.rules.Plan(made, p.targetGroupSteps, changeDefault)...)
	if p.removesTLSLast {
		p.changeProtocol(p.listener.Live.Protocol, final, steps)
	}
	p.removeCertificates(a, append(made, certificates...))
}

// createListener plans to create the listener, after its port is open in the security group.
func (p *listenerPlanner) createListener(settings plan.ListenerSettings, tags plan.Tags, after []plan.StepID) plan.StepID {
	a, why := p.listener.Address(), "objects listen on this port"
	if g := p.DesiredTargetGroups[p.listener.Desired.DefaultTargetGroupID()]; g != nil && g.Type == model.ALBTargets {
		why = fmt.Sprintf("the listener forwards to port %d of the ALB", g.Port)
	}
	id := p.Add(plan.Step{
		ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create,
		Do:  plan.CreateListener{LoadBalancer: p.listener.LB.Address(), Settings: settings, Tags: p.RuleTags(tags)},
		Why: why, RequestedBy: p.listener.Desired.Members,
		After: slices.Concat(after, []plan.StepID{p.portSteps[p.listener.Desired.Port]}, p.AnyFinalizerStepsOf(p.listener.Desired.Members)),
	})
	p.PlanAttributes(a, "", p.listener.Attributes(), nil, []plan.StepID{id}, p.listener.Desired.Members)
	return id
}

// resolveDefaultAction decides which default action an existing listener gets in this run. Requests go to another target
// group only when that target group has healthy targets.
func (p *listenerPlanner) resolveDefaultAction() {
	p.listener.InterimDefaultActions = p.listener.Live.Default
	if !p.defaultActionDiffers(p.listener.DefaultActions) {
		p.AssumeSecret(p.listener.Live.ARN, p.listener.DefaultActions)
		p.listener.InterimDefaultActions = p.listener.DefaultActions
		return
	}
	now, wait := p.listener.DefaultActions, plan.Wait{}
	switch {
	case p.listener.Desired.DefaultInPlace || p.ForwardsToALB(p.listener.DefaultActions):
	case p.listener.IsNetwork() && !p.FitsInOneAction(p.listener):
		p.listener.ChangesInOneCall = p.listener.Live.Protocol != p.listener.Desired.Protocol()
		now, wait = p.ShiftAfterRegistration(p.listener)
	default:
		now, wait = p.ShiftDefault(p.listener)
	}
	p.listener.DefaultActionWait = wait
	if p.defaultActionDiffers(now) {
		p.listener.InterimDefaultActions = now
	}
}

// defaultActionDiffers reports whether the default action of the observed listener differs from the given actions.
func (p *listenerPlanner) defaultActionDiffers(as []model.Action) bool {
	return !equal.SameActions(as, p.listener.Live.Default, p.TargetGroupARN) || p.SecretDiffers(p.listener.Live.ARN, as)
}

// modifyListener plans to change the settings of an existing listener. It returns the steps that change which target groups
// get requests. The steps of rules depend on them.
func (p *listenerPlanner) modifyListener(settings plan.ListenerSettings, after []plan.StepID) []plan.StepID {
	live := p.listener.Live
	var changes []plan.Change
	diff := func(path, from, to string) {
		if from != to {
			changes = append(changes, plan.Change{Path: path, From: from, To: to})
		}
	}
	diff("protocol", live.Protocol, settings.Protocol)
	if p.listener.Desired.TLS != nil {
		diff("certificate", live.Certificate, settings.Certificate)
		diff("policy", live.Policy, settings.Policy)
		if settings.ALPN != "" {
			diff("alpn", cmp.Or(live.ALPN, equal.NoALPN), settings.ALPN)
		}
		if !equal.SameMutualAuth(settings.MutualAuth, live.MutualAuth) {
			changes = append(changes, plan.Change{Path: "mutualAuthentication"})
		}
	}
	settings.Default = p.listener.InterimDefaultActions
	if p.defaultActionDiffers(p.listener.InterimDefaultActions) {
		changes = append(changes, plan.Change{Path: "default", From: plan.ActionsText(live.Default), To: plan.ActionsText(p.listener.InterimDefaultActions)})
	}
	wait, impact := p.listener.DefaultActionWait, plan.NoImpact
	if p.listener.IsNetwork() {
		impact = plan.BriefImpact
	}
	a := p.listener.Address()
	if wait.For != "" && p.listener.ChangesInOneCall {
		return []plan.StepID{p.changeProtocolWhenReady(settings, changes, wait, after)}
	}
	var steps []plan.StepID
	if len(changes) > 0 {
		requestedBy := p.listener.Desired.Members
		if !slices.ContainsFunc(changes, func(c plan.Change) bool { return c.Path != "default" }) {
			requestedBy = p.defaultActionOwners()
		}
		id := p.Add(plan.Step{
			ID: plan.NewStepID("modify", a), Address: a, Verb: plan.Update, Do: plan.ModifyListener{Listener: a, Settings: settings},
			Changes: changes, Why: "the listener differs", Impact: impact, RequestedBy: requestedBy, NeedsExtraQuota: wait.For != "",
			After: append(slices.Clone(after), rules.TargetGroupSteps(settings.Default, p.targetGroupSteps)...),
		})
		if slices.ContainsFunc(changes, func(c plan.Change) bool { return c.Path == "protocol" || c.Path == "default" }) || wait.For != "" {
			steps = append(steps, id)
		}
		p.RecordFreeingStep(live.Default, id)
	}
	if wait.For != "" {
		p.ReportTargetWait(p.listener.Desired.DefaultOf, p.listener.Desired.Members, fmt.Sprintf("the default action of port %d", p.listener.Desired.Port), wait, true)
		id := p.Add(plan.Step{
			ID: plan.NewStepID("switch", a), Address: a, Verb: plan.Update, Wait: wait,
			Do:  plan.ModifyListener{Listener: a, Settings: settings.WithDefaultActions(p.listener.DefaultActions)},
			Why: "traffic moves when the new targets are healthy", After: steps, RequestedBy: p.defaultActionOwners(),
		})
		p.RecordFreeingStep(live.Default, id)
		steps = append(steps, id)
	}
	return steps
}

// defaultActionOwners returns the member that sets the default action, or all members of the listener if there is no such
// member.
func (p *listenerPlanner) defaultActionOwners() []finding.Ref {
	if of := p.listener.Desired.DefaultOf.Object; !of.IsZero() {
		return []finding.Ref{of}
	}
	return p.listener.Desired.Members
}
