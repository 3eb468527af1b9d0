package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Certificate is the kind of certificates that are requested from ACM or imported into it.
const Certificate ResourceKind = "certificate"

// RequestCertificate asks ACM for a certificate. It is not issued yet when the step is done.
type RequestCertificate struct {
	Domain string
	Hosts  []string
	CA     string // empty: public, validated by DNS
	Tags   Tags
	Token  string // the same for the same request, so that one whose answer was lost is not made twice
}

// DeleteCertificate deletes a certificate. One that AWS says is in use is deleted later.
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

// managedCertificates are those that the stack requests from ACM or imports into it, and deletes.
type managedCertificates struct {
	*draft
	*finalizers
	own     map[string]string // ARNs of those that serve, by id
	coming  map[string]bool   // ids of those that are imported right now
	kept    map[string]bool   // ARNs of those that must not be deleted
	imports int               // how many certificates the plan imports as new ones
	records map[string]bool   // names of DNS records that the plan makes or removes
}

func newManagedCertificates(d *draft, f *finalizers) *managedCertificates {
	return &managedCertificates{draft: d, finalizers: f, records: map[string]bool{}}
}

// resolve finds, requests or imports the certificates that the stack manages. One for other
// hosts serves on until the one that takes its place is issued.
func (m *managedCertificates) resolve() {
	if !m.opt.managesCertificates() {
		return
	}
	if !m.allKnown() {
		return
	}
	m.own, m.kept, m.coming = map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, w := range m.limitImports(m.want.Certificates) {
		if w.Import != nil {
			m.resolveImport(w)
			continue
		}
		m.resolveOne(w)
	}
}

// allKnown reports whether it is known which certificates the stack manages. If it is not it
// is asked, unless AWS gives no answer.
func (m *managedCertificates) allKnown() bool {
	if m.have.Facts.OwnCertificatesAsked {
		return true
	}
	if q := (model.AskOwnCertificates{}); m.unavailable(q) == nil {
		m.ask(q)
	}
	return false
}

func (m *managedCertificates) resolveOne(w model.ManagedCertificate) {
	var fit, other *observed.OwnCertificate
	for i := range m.have.Facts.OwnCertificates {
		c := &m.have.Facts.OwnCertificates[i]
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
		m.own[w.ID] = fit.ARN
		m.kept[fit.ARN] = true
		return
	}
	if other != nil {
		m.own[w.ID] = other.ARN
		m.kept[other.ARN] = true
	}
	a := Address{Kind: Certificate, ID: w.ID}
	again := namedWait
	switch {
	case fit == nil, fit.Status != observed.PendingValidation && m.have.Facts.Now.Sub(fit.Created) >= refusedFor:
		if !m.mayRequest(w, a, other != nil) {
			return
		}
		tags := m.tags(w.ID, w.Tags)
		m.add(Step{
			ID: stepID("request", a), Address: a, Verb: Create,
			Do:      RequestCertificate{Domain: w.Domain, Hosts: w.Hosts, CA: w.CA, Tags: tags, Token: m.want.ID.String() + " " + w.ID + " " + strings.Join(w.Hosts, ",")},
			Changes: []Change{{Path: "hosts", To: strings.Join(w.Hosts, ", ")}},
			Why:     "from " + w.Of.String(), After: m.claimsOf(w.Member), Blames: []finding.Ref{w.Member},
		})
	case fit.Status == observed.PendingValidation:
		m.kept[fit.ARN] = true
		again = m.validate(w, *fit)
	default:
		m.kept[fit.ARN] = true
		again = refusedWait
		m.found.Add(finding.Finding{
			Object: w.Member, Field: w.Of.Field, Reason: finding.CertificatePending,
			Message: fmt.Sprintf("ACM did not issue the certificate for %s (%s %s); it is requested again later", w.Domain, fit.Status, fit.Failure),
			Fix:     "correct the hosts or the authority",
		})
	}
	m.await(w, a, "ACM to issue it", again)
}

// await has a certificate on its way looked at again.
func (m *managedCertificates) await(w model.ManagedCertificate, a Address, what string, again time.Duration) {
	m.later = append(m.later, Step{
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
