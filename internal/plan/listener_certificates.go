package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// addCertificates attaches additional certificates, before anything relies on them.
func (b *builder) addCertificates(l *listenerPlan, a Address, after []StepID) []StepID {
	if l.wish.TLS == nil || l.certs.AttachedUnread {
		return nil
	}
	var live []string
	if l.live != nil {
		live = l.live.Certificates
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
	return steps
}

// removeCertificates detaches certificates, once others are in their place. The default one is not
// taken from the list before another is the default.
func (b *builder) removeCertificates(l *listenerPlan, a Address, after []StepID) []StepID {
	if l.wish.TLS == nil || l.live == nil || l.certs.AttachedUnread {
		return nil
	}
	if modify := stepID("modify", a); l.live.Certificate != l.certs.Default && b.planned(modify) {
		after = append(slices.Clone(after), modify)
	}
	var steps []StepID
	for _, arn := range l.live.Certificates {
		if !slices.Contains(l.certs.Extra, arn) {
			steps = append(steps, b.add(Step{
				ID: stepID("uncertificate", a, arn), Address: a, Verb: Update, Do: RemoveCertificate{Listener: a, ARN: arn},
				Changes: []Change{{Path: "certificates", From: arn}}, Why: "no object asks for it any more", After: after, Blames: l.wish.Members,
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
