package listeners

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// addCertificates plans to attach certificates, before steps that rely on them.
func (p *planner) addCertificates(a plan.Address, after []plan.StepID) []plan.StepID {
	if p.l.Desired.TLS == nil || p.l.Certs.AttachedUnavailable {
		return nil
	}
	var live []string
	if p.l.Live != nil {
		live = p.l.Live.Certificates
	}
	placed := slices.Collect(maps.Values(p.l.Certs.ReplacedBy))
	var steps []plan.StepID
	for _, arn := range p.l.Certs.Extra {
		if !slices.Contains(live, arn) && !slices.Contains(placed, arn) {
			steps = append(steps, p.addCertificate("certificate", a, arn, "hosts of the listener need it", after))
		}
	}
	return steps
}

func (p *planner) addCertificate(what string, a plan.Address, arn, why string, after []plan.StepID) plan.StepID {
	return p.Add(plan.Step{
		ID: plan.NewStepID(what, a, arn), Address: a, Verb: plan.Update, Do: plan.AddCertificate{Listener: a, ARN: arn},
		Changes: []plan.Change{{Path: "certificates", To: arn}}, Why: why, After: after, Blames: p.certificateOwners(arn),
	})
}

// removeCertificates plans to detach certificates, after others are attached. The default certificate is only removed
// from the list after another one is the default.
func (p *planner) removeCertificates(a plan.Address, after []plan.StepID) {
	if p.l.Desired.TLS == nil || p.l.Live == nil || p.l.Certs.AttachedUnavailable {
		return
	}
	if modify := plan.NewStepID("modify", a); p.l.Live.Certificate != p.l.Certs.Default && p.Planned(modify) {
		after = append(slices.Clone(after), modify)
	}
	for _, arn := range p.l.Live.Certificates {
		if !slices.Contains(p.l.Certs.Extra, arn) {
			id := p.Add(plan.Step{
				ID: plan.NewStepID("uncertificate", a, arn), Address: a, Verb: plan.Update, Do: plan.RemoveCertificate{Listener: a, ARN: arn},
				Changes: []plan.Change{{Path: "certificates", From: arn}}, Why: "no object asks for it any more", After: after, Blames: p.l.Desired.Members,
			})
			if next := p.l.Certs.ReplacedBy[arn]; next != "" {
				// The id of this step differs from that of the refused step, so that the back-off does not apply to it.
				p.addCertificate("succeed", a, next, "a quota has no room for both; it replaces "+arn, []plan.StepID{id})
			}
		}
	}
}

// certificateOwners returns the members that name a certificate, or all members of the listener if none does.
func (p *planner) certificateOwners(arn string) []finding.Ref {
	var out []finding.Ref
	for _, c := range p.l.Desired.TLS.Certificates {
		if c, ok := c.(model.CertARNs); ok && slices.Contains(c.ARNs, arn) {
			out = append(out, c.Member)
		}
	}
	if len(out) == 0 {
		return p.l.Desired.Members
	}
	return out
}
