package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Certificate is the kind of certificates that are requested from ACM.
const Certificate ResourceKind = "certificate"

// RequestCertificate asks ACM for a certificate. It is not issued yet when the step is done.
type RequestCertificate struct {
	Domain string
	Hosts  []string
	CA     string // empty: public, validated by DNS
	Tags   Tags
	Token  string // the same for the same request, so that one whose answer was lost is not made twice
}

// DeleteCertificate deletes one; "in use" means "later".
type DeleteCertificate struct{ ARN string }

func (RequestCertificate) action() {}
func (DeleteCertificate) action()  {}

// How often a certificate on its way is looked at, and how long one that was refused is left
// before it is requested again.
const (
	namedWait      = 5 * time.Second // until ACM has named the DNS records
	validationWait = 30 * time.Second
	refusedWait    = time.Minute
	refusedFor     = time.Hour
)

// resolveOwnCertificates finds or requests the certificates that the stack manages. One for other
// hosts serves on until the one that takes its place is issued.
func (b *builder) resolveOwnCertificates() {
	if !b.opt.ManageCertificates {
		return
	}
	if !b.ownCertificatesKnown() {
		return
	}
	b.own, b.ownKept = map[string]string{}, map[string]bool{}
	for _, w := range b.want.Certificates {
		b.resolveOwnCertificate(w)
	}
}

// ownCertificatesKnown reports whether it is known which certificates the stack manages. If it is not it
// is asked, unless AWS gives no answer.
func (b *builder) ownCertificatesKnown() bool {
	if b.have.Facts.OwnCertificatesAsked {
		return true
	}
	if q := (model.AskOwnCertificates{}); b.unread(q) == nil {
		b.ask(q)
	}
	return false
}

func (b *builder) resolveOwnCertificate(w model.ManagedCertificate) {
	var fit, other *observed.OwnCertificate
	for i := range b.have.Facts.OwnCertificates {
		c := &b.have.Facts.OwnCertificates[i]
		switch {
		case c.ResourceID != w.ID:
		case !sameSet(c.Domains, w.Hosts):
			if c.Status == observed.Issued && other == nil {
				other = c
			}
		case fit == nil || rank(*c) < rank(*fit):
			fit = c
		}
	}
	if fit != nil && fit.Status == observed.Issued {
		b.own[w.ID] = fit.ARN
		b.ownKept[fit.ARN] = true
		return
	}
	if other != nil {
		b.own[w.ID] = other.ARN
		b.ownKept[other.ARN] = true
	}
	a := Address{Kind: Certificate, ID: w.ID}
	again := namedWait
	switch {
	case fit == nil, fit.Status != observed.PendingValidation && b.have.Facts.Now.Sub(fit.Created) >= refusedFor:
		if !b.mayRequest(w, a, other != nil) {
			return
		}
		tags := b.tags(w.ID, w.Tags)
		b.add(Step{
			ID: stepID("request", a), Address: a, Verb: Create,
			Do:      RequestCertificate{Domain: w.Domain, Hosts: w.Hosts, CA: w.CA, Tags: tags, Token: b.want.ID.String() + " " + w.ID + " " + strings.Join(w.Hosts, ",")},
			Changes: []Change{{Path: "hosts", To: strings.Join(w.Hosts, ", ")}},
			Why:     "from " + w.Of.String(), After: b.claimsOf(w.Member), Blames: []finding.Ref{w.Member},
		})
	case fit.Status == observed.PendingValidation:
		b.ownKept[fit.ARN] = true
		again = b.validate(w, *fit)
	default:
		b.ownKept[fit.ARN] = true
		again = refusedWait
		b.found.Add(finding.Finding{
			Object: w.Member, Field: w.Of.Field, Reason: finding.CertificatePending,
			Message: fmt.Sprintf("ACM did not issue the certificate for %s (%s %s); it is requested again later", w.Domain, fit.Status, fit.Failure),
			Fix:     "correct the hosts or the authority",
		})
	}
	b.awaitCertificate(w, a, "ACM to issue it", again)
}

// awaitCertificate has a certificate on its way looked at again.
func (b *builder) awaitCertificate(w model.ManagedCertificate, a Address, what string, again time.Duration) {
	b.later = append(b.later, Step{
		ID: stepID("issue", a), Address: a, Verb: Update, Wait: Wait{For: what, Again: again},
		Do: RequestCertificate{}, Why: "from " + w.Of.String(), Blames: []finding.Ref{w.Member},
	})
}

// rank orders certificates for the same hosts by how near they are to serving.
func rank(c observed.OwnCertificate) int {
	switch c.Status {
	case observed.Issued:
		return 0
	case observed.PendingValidation:
		return 1
	}
	return 2
}
