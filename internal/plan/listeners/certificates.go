package listeners

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// addCertificates plans to add missing certificates to the certificate list of the listener. It returns the steps.
// Certificates that replace others are added by removeCertificates.
func (p *listenerPlanner) addCertificates(a plan.Address, after []plan.StepID) []plan.StepID {
	if p.listener.Desired.TLS == nil || p.listener.Certs.AttachedUnavailable {
		return nil
	}
	var live []string
	if p.listener.Live != nil {
		live = p.listener.Live.Certificates
	}
	replacements := slices.Collect(maps.Values(p.listener.Certs.ReplacedBy))
	var steps []plan.StepID
	for _, arn := range p.listener.Certs.List {
		if !slices.Contains(live, arn) && !slices.Contains(replacements, arn) {
			steps = append(steps, p.addCertificate("certificate", a, arn, "hosts of the listener need it", after))
		}
	}
	return steps
}

func (p *listenerPlanner) addCertificate(what string, a plan.Address, arn, why string, after []plan.StepID) plan.StepID {
	return p.Add(plan.Step{
		ID: plan.NewStepID(what, a, arn), Address: a, Verb: plan.Update, Do: plan.AddCertificate{Listener: a, ARN: arn},
		Changes: []plan.Change{{Path: "certificates", To: arn}}, Why: why, After: after, RequestedBy: p.certificateOwners(arn),
	})
}

// removeCertificates plans to remove certificates from the certificate list, after the steps in after, which add new
// certificates. The observed default certificate is removed from the list only after another certificate has become the
// default. A certificate that replaces a removed certificate is added after the removal.
func (p *listenerPlanner) removeCertificates(a plan.Address, after []plan.StepID) {
	if p.listener.Desired.TLS == nil || p.listener.Live == nil || p.listener.Certs.AttachedUnavailable {
		return
	}
	if modify := plan.NewStepID("modify", a); p.listener.Live.Certificate != p.listener.Certs.Default && p.IsStepPlanned(modify) {
		after = append(slices.Clone(after), modify)
	}
	for _, arn := range p.listener.Live.Certificates {
		if !slices.Contains(p.listener.Certs.List, arn) {
			id := p.Add(plan.Step{
				ID: plan.NewStepID("remove-certificate", a, arn), Address: a, Verb: plan.Update, Do: plan.RemoveCertificate{Listener: a, ARN: arn},
				Changes: []plan.Change{{Path: "certificates", From: arn}}, Why: "no object requests the certificate any more, or it belongs to another load balancer", After: after, RequestedBy: p.listener.Desired.Members,
			})
			if next := p.listener.Certs.ReplacedBy[arn]; next != "" {
				// This step and the refused step have different ids, so that the back-off of the refused step does not apply.
				p.addCertificate("replace-certificate", a, next, "the quota is reached; the certificate replaces "+arn, []plan.StepID{id})
			}
		}
	}
}

// certificateOwners returns the members that specify the ARN of a certificate, or all members of the listener if there is no
// such member.
func (p *listenerPlanner) certificateOwners(arn string) []finding.Ref {
	var out []finding.Ref
	for _, c := range p.listener.Desired.TLS.Certificates {
		if c, ok := c.(model.CertARNs); ok && slices.Contains(c.ARNs, arn) {
			out = append(out, c.Member)
		}
	}
	if len(out) == 0 {
		return p.listener.Desired.Members
	}
	return out
}
