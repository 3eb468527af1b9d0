package plan

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// addCertificates attaches additional certificates, before anything relies on them.
func (p *listenerPlanner) addCertificates(a Address, after []StepID) []StepID {
	if p.l.desired.TLS == nil || p.l.certs.AttachedUnavailable {
		return nil
	}
	var live []string
	if p.l.live != nil {
		live = p.l.live.Certificates
	}
	placed := slices.Collect(maps.Values(p.l.certs.places))
	var steps []StepID
	for _, arn := range p.l.certs.Extra {
		if !slices.Contains(live, arn) && !slices.Contains(placed, arn) {
			steps = append(steps, p.addCertificate("certificate", a, arn, "hosts of the listener need it", after))
		}
	}
	return steps
}

func (p *listenerPlanner) addCertificate(what string, a Address, arn, why string, after []StepID) StepID {
	return p.add(Step{
		ID: stepID(what, a, arn), Address: a, Verb: Update, Do: AddCertificate{Listener: a, ARN: arn},
		Changes: []Change{{Path: "certificates", To: arn}}, Why: why, After: after, Blames: p.certificateOwners(arn),
	})
}

// removeCertificates detaches certificates, once others are in their place. The default one is not
// taken from the list before another is the default.
func (p *listenerPlanner) removeCertificates(a Address, after []StepID) []StepID {
	if p.l.desired.TLS == nil || p.l.live == nil || p.l.certs.AttachedUnavailable {
		return nil
	}
	if modify := stepID("modify", a); p.l.live.Certificate != p.l.certs.Default && p.planned(modify) {
		after = append(slices.Clone(after), modify)
	}
	var steps []StepID
	for _, arn := range p.l.live.Certificates {
		if !slices.Contains(p.l.certs.Extra, arn) {
			id := p.add(Step{
				ID: stepID("uncertificate", a, arn), Address: a, Verb: Update, Do: RemoveCertificate{Listener: a, ARN: arn},
				Changes: []Change{{Path: "certificates", From: arn}}, Why: "no object asks for it any more", After: after, Blames: p.l.desired.Members,
			})
			steps = append(steps, id)
			if next := p.l.certs.places[arn]; next != "" {
				// It is another step than the one that AWS has refused, and so does not wait for its turn.
				steps = append(steps, p.addCertificate("succeed", a, next, "AWS has no room for both; it takes the place of "+arn, []StepID{id}))
			}
		}
	}
	return steps
}

// certificateOwners are the members that named a certificate, or all of the listener.
func (p *listenerPlanner) certificateOwners(arn string) []finding.Ref {
	var out []finding.Ref
	for _, c := range p.l.desired.TLS.Certificates {
		if c, ok := c.(model.CertARNs); ok && slices.Contains(c.ARNs, arn) {
			out = append(out, c.Member)
		}
	}
	if len(out) == 0 {
		return p.l.desired.Members
	}
	return out
}
