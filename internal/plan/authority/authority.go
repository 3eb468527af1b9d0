package authority

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// revocation collects the steps that remove resources and settings which members may not use any more, and the findings
// about them.
type revocation struct {
	withdrawn    *model.Withdrawn
	facts        observed.Facts
	replacements map[int32]Replacement
	steps        []plan.Step
	Findings     finding.List
	// WithdrawnDefaultPorts are the ports of listeners whose default certificate is withdrawn. ClosedPorts are those of
	// these ports whose listener is deleted, because all of its certificates are known to be withdrawn.
	WithdrawnDefaultPorts, ClosedPorts []int32
}

// Replacement is the desired certificate for a listener whose default certificate is withdrawn.
type Replacement struct {
	// ARN is used if the listener has no other certificate. It is empty while the desired certificate is being imported.
	// During this time, the listener keeps the withdrawn certificate.
	ARN string
	// IsOverdue is set if the withdrawn certificate was not replaced in time. The listener is then deleted.
	IsOverdue bool
}

// Revoke returns a copy of the observed stack without the resources and settings that members may not use any more, and a
// revocation with the steps that remove these resources and settings from AWS. replacements has, by port, the replacements
// of default certificates. A listener that has neither another certificate nor a replacement is deleted.
func Revoke(have observed.Stack, replacements map[int32]Replacement) (observed.Stack, *revocation) {
	rv := &revocation{withdrawn: have.Facts.Withdrawn, facts: have.Facts, replacements: replacements}
	if rv.withdrawn.IsEmpty() {
		return have, rv
	}
	have.LoadBalancers = slices.Clone(have.LoadBalancers)
	for i := range have.LoadBalancers {
		lb := &have.LoadBalancers[i]
		var rest []observed.Listener
		for _, l := range lb.Listeners {
			if rv.revokeListener(&l, lb.Type == model.Network.String()) {
				rest = append(rest, l)
			}
		}
		lb.Listeners = rest
	}
	return have, rv
}

// Prepend inserts the steps of the revocation at the beginning of a plan. The plan must be made from the stack that Revoke
// returned.
func (rv *revocation) Prepend(p *plan.Plan) {
	p.Steps = append(rv.steps, p.Steps...)
}

// revokeListener removes the withdrawn certificates, default actions, rules and protocols of a listener, or deletes the
// whole listener. It changes l accordingly, and reports whether the listener is retained. network is set for a listener of
// an NLB.
func (rv *revocation) revokeListener(l *observed.Listener, network bool) bool {
	a := plan.Address{Kind: plan.Listener, ID: l.ARN}
	certificates, certificate, lost := rv.remainingCertificates(l)
	if lost != nil && certificate == "" {
		why := "it has no other certificate"
		switch {
		case rv.areCertificatesUnknown(l):
			why = "its other certificates could not be read"
		case rv.replacements[l.Port].IsOverdue:
			why = "another certificate could not be set in time"
		default:
			rv.ClosedPorts = append(rv.ClosedPorts, l.Port)
		}
		rv.deleteListener(l, *lost, "the listener is deleted, because "+why)
		return false
	}
	now, why := rv.remainingActions(l.Default)
	if w, gone := rv.withdrawn.Rules[l.ARN]; gone {
		now, why = nil, &w
	}
	if why != nil && network && now == nil {
		rv.deleteListener(l, *why, "the listener is deleted, because no other target group gets its connections")
		return false
	}
	if why != nil && !network && now == nil {
		now = []model.Action{plan.NotFoundResponse}
	}
	var changes []plan.Change
	if certificate != l.Certificate {
		changes = append(changes, plan.Change{Path: "certificate", From: l.Certificate, To: certificate})
	}
	if lost != nil {
		now := fmt.Sprintf("port %d presents its other certificates", l.Port)
		if rv.isCertificateWithdrawn(l.Port, certificate) {
			now = fmt.Sprintf("port %d presents it until the desired certificate is imported, but for %s at most", l.Port, durations.ShortWait)
		} else if certificate != l.Certificate && len(certificates) == 0 {
			now = fmt.Sprintf("port %d presents the desired certificate", l.Port)
		}
		rv.reportWithdrawal(*lost, now)
	}
	if why != nil {
		changes = append(changes, plan.Change{Path: "default", From: plan.ActionsText(l.Default), To: plan.ActionsText(now)})
		rv.reportWithdrawal(*why, fmt.Sprintf("port %d no longer forwards to it", l.Port))
	}
	protocol, protocolWithdrawal := l.Protocol, (*model.Withdrawal)(nil)
	if w, gone := rv.withdrawn.Protocols[l.ARN]; gone {
		protocol, protocolWithdrawal = string(w.RemainingProtocol), &w.Withdrawal
		changes = append(changes, plan.Change{Path: "protocol", From: l.Protocol, To: protocol})
		rv.reportWithdrawal(*protocolWithdrawal, fmt.Sprintf("the port now listens only on %s", protocol))
	}
	l.Certificate, l.Default, l.Protocol = certificate, now, protocol
	if len(changes) > 0 {
		rv.addStep(plan.Step{
			ID: plan.NewStepID("revoke", a), Address: a, Verb: plan.Update, Changes: changes,
			Do: plan.ModifyListener{Listener: a, Settings: plan.LiveListenerSettings(l, l.Default)},
		}, lost, why, protocolWithdrawal)
	}
	for _, arn := range l.Certificates {
		if w, gone := rv.withdrawn.Certificates[model.ListenerCertificate{Port: l.Port, ARN: arn}]; gone && arn != certificate {
			rv.addStep(plan.Step{
				ID: plan.NewStepID("revoke-certificate", a, arn), Address: a, Verb: plan.Update, Do: plan.RemoveCertificate{Listener: a, ARN: arn},
				Changes: []plan.Change{{Path: "certificates", From: arn}},
			}, &w)
		}
	}
	l.Certificates = certificates
	var rest []observed.Rule
	for _, r := range l.Rules {
		if rv.revokeRule(&r) {
			rest = append(rest, r)
		}
	}
	l.Rules = rest
	return true
}

// remainingCertificates returns the certificate list and the default certificate of a listener without the withdrawn
// certificates. If the listener keeps a withdrawn certificate until its replacement is imported, the results contain this
// certificate. main is empty if there is no certificate. lost has the reason why a certificate is withdrawn; nil if no
// certificate is withdrawn.
func (rv *revocation) remainingCertificates(l *observed.Listener) (extra []string, main string, lost *model.Withdrawal) {
	main = l.Certificate
	for _, arn := range l.Certificates {
		if w, gone := rv.withdrawn.Certificates[model.ListenerCertificate{Port: l.Port, ARN: arn}]; gone {
			lost = &w
			continue
		}
		extra = append(extra, arn)
	}
	if w, gone := rv.withdrawn.Certificates[model.ListenerCertificate{Port: l.Port, ARN: l.Certificate}]; gone {
		lost, main = &w, ""
		rv.WithdrawnDefaultPorts = append(rv.WithdrawnDefaultPorts, l.Port)
		replacement, replaced := rv.replacements[l.Port]
		switch {
		case replacement.IsOverdue:
		case len(extra) > 0:
			main = extra[0]
		case !replaced || rv.areCertificatesUnknown(l):
		case replacement.ARN != "":
			main = replacement.ARN
		default:
			main = l.Certificate
			if slices.Contains(l.Certificates, main) {
				extra = []string{main}
			}
		}
	}
	return extra, main, lost
}

// isCertificateWithdrawn reports whether the listener of a port must not present a certificate any more.
func (rv *revocation) isCertificateWithdrawn(port int32, arn string) bool {
	_, gone := rv.withdrawn.Certificates[model.ListenerCertificate{Port: port, ARN: arn}]
	return gone
}

// areCertificatesUnknown reports whether the certificate list of a listener could not be read. The list may then contain
// withdrawn certificates, among them the default certificate. Only the deletion of the listener is certain to remove
// withdrawn certificates.
func (rv *revocation) areCertificatesUnknown(l *observed.Listener) bool {
	return rv.facts.Fault(model.AskListenerCertificates{ARN: l.ARN}) != nil
}

// revokeRule removes the withdrawn target groups of a rule, or deletes the rule. It reports whether the rule is retained.
func (rv *revocation) revokeRule(r *observed.Rule) bool {
	a := plan.RuleAddress(r.ARN)
	if w, gone := rv.withdrawn.Rules[r.ARN]; gone {
		rv.reportWithdrawal(w, "the rule is deleted")
		rv.addStep(plan.Step{
			ID: plan.NewStepID("revoke", a), Address: a, Verb: plan.Delete, Do: plan.DeleteRule{ARN: r.ARN}, Impact: plan.DeleteImpact,
			Changes: []plan.Change{{Path: "actions", From: plan.ActionsText(r.Actions)}},
		}, &w)
		return false
	}
	now, why := rv.remainingActions(r.Actions)
	if why == nil {
		return true
	}
	if now == nil {
		now = []model.Action{plan.RefusedResponse}
	}
	rv.reportWithdrawal(*why, "the rule now has the action \""+plan.ActionsText(now)+"\"")
	rv.addStep(plan.Step{
		ID: plan.NewStepID("revoke", a), Address: a, Verb: plan.Update,
		Do:      plan.ModifyRule{Rule: a, Conditions: r.Conditions, Actions: now, Transforms: r.Transforms},
		Changes: []plan.Change{{Path: "actions", From: plan.ActionsText(r.Actions), To: plan.ActionsText(now)}},
	}, why)
	r.Actions = now
	return true
}

// remainingActions returns observed actions without the withdrawn target groups; nil if no remaining target group gets
// requests. If no target group is withdrawn, it returns the unchanged actions and a nil withdrawal.
func (rv *revocation) remainingActions(live []model.Action) ([]model.Action, *model.Withdrawal) {
	f := equal.ForwardOf(live)
	if f == nil {
		return live, nil
	}
	var why *model.Withdrawal
	left := *f
	left.Groups = nil
	serving := false
	for _, g := range f.Groups {
		if w, gone := rv.withdrawn.TargetGroups[g.Group.ARN]; gone {
			why = &w
			continue
		}
		left.Groups = append(left.Groups, g)
		serving = serving || equal.WeightOrDefault(g.Weight) > 0
	}
	switch {
	case why == nil:
		return live, nil
	case !serving:
		return nil, why
	}
	return append(slices.Clone(live[:len(live)-1]), left), why
}

func (rv *revocation) deleteListener(l *observed.Listener, w model.Withdrawal, now string) {
	rv.reportWithdrawal(w, now)
	a := plan.Address{Kind: plan.Listener, ID: l.ARN}
	rv.addStep(plan.Step{
		ID: plan.NewStepID("revoke", a), Address: a, Verb: plan.Delete, Do: plan.DeleteListener{ARN: l.ARN}, Impact: plan.DeleteImpact,
		Changes: []plan.Change{{Path: "port", From: fmt.Sprint(l.Port)}},
	}, &w)
}

// addStep appends a step. The first withdrawal that is not nil provides the reason and the object of the step.
func (rv *revocation) addStep(s plan.Step, why ...*model.Withdrawal) {
	why = slices.DeleteFunc(why, func(w *model.Withdrawal) bool { return w == nil })
	s.Why, s.RequestedBy, s.IsRevocation = why[0].Message, []finding.Ref{why[0].Object}, true
	if s.Impact == "" {
		s.Impact = plan.BriefImpact
	}
	rv.steps = append(rv.steps, s)
}

func (rv *revocation) reportWithdrawal(w model.Withdrawal, now string) {
	rv.Findings.Add(finding.Finding{
		Object: w.Object, Field: w.Field, Reason: w.Reason, Severity: finding.Error, Blocks: finding.BlocksNothing,
		Message: w.Message + "; " + now, Fix: w.Fix,
	})
}
