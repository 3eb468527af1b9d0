package certificates

import (
	"fmt"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
)

// Managed are the certificates that the stack requests from ACM or imports into it, and deletes.
type Managed struct {
	*draft.Draft
	*draft.Finalizers
	groups  *owners.TargetGroups
	own     map[string]string // ARNs of those that serve, by id
	coming  map[string]bool   // ids of those that are imported right now
	kept    map[string]bool   // ARNs of those that must not be deleted
	imports int               // how many certificates the plan imports as new ones
	orders  []plan.Step       // what Resolve has decided to have made
	records map[string]bool   // names of DNS records that the plan makes or removes
}

// NewManaged returns the certificates that a stack manages.
func NewManaged(tg *owners.TargetGroups, f *draft.Finalizers) *Managed {
	return &Managed{Draft: tg.Draft, Finalizers: f, groups: tg, records: map[string]bool{}}
}

// Resolve finds the certificates that the stack manages, and decides which ones to request or to import. One for other
// hosts serves on until the one that takes its place is issued.
func (m *Managed) Resolve() {
	if !m.Opt.ManagesCertificates() {
		return
	}
	if !m.allKnown() {
		return
	}
	m.own, m.kept, m.coming = map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, w := range m.limitImports(m.Want.Certificates) {
		if w.Import != nil {
			m.resolveImport(w)
			continue
		}
		m.resolveOne(w)
	}
}

// addOrder adds a step that Resolve has decided on.
func (m *Managed) addOrder(s plan.Step) { m.orders = append(m.orders, s) }

// Order plans what Resolve has decided to request, to import and to record.
func (m *Managed) Order() {
	for _, s := range m.orders {
		m.Add(s)
	}
}

// allKnown reports whether it is known which certificates the stack manages. If it is not it
// is asked, unless AWS gives no answer.
func (m *Managed) allKnown() bool {
	if m.Have.Facts.OwnCertificatesAsked {
		return true
	}
	if q := (model.AskOwnCertificates{}); m.Unavailable(q) == nil {
		m.Ask(q)
	}
	return false
}

func (m *Managed) resolveOne(w model.ManagedCertificate) {
	var fit, other *observed.OwnCertificate
	for i := range m.Have.Facts.OwnCertificates {
		c := &m.Have.Facts.OwnCertificates[i]
		switch {
		case c.ResourceID != w.ID:
		case !equal.SameSet(c.Domains, w.Hosts):
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
	a := plan.Address{Kind: plan.Certificate, ID: w.ID}
	again := durations.FirstBackOff
	switch {
	case fit == nil, fit.Status != observed.PendingValidation && m.Have.Facts.Now.Sub(fit.Created) >= durations.StableFactAge:
		if !m.mayRequest(w, a, other != nil) {
			return
		}
		tags := m.Tags(w.ID, w.Tags)
		m.addOrder(plan.Step{
			ID: plan.NewStepID("request", a), Address: a, Verb: plan.Create,
			Do:      plan.RequestCertificate{Domain: w.Domain, Hosts: w.Hosts, CA: w.CA, Tags: tags, Token: m.Want.ID.String() + " " + w.ID + " " + strings.Join(w.Hosts, ",")},
			Changes: []plan.Change{{Path: "hosts", To: strings.Join(w.Hosts, ", ")}},
			Why:     "from " + w.Of.String(), After: m.ClaimStepsOf(w.Member), Blames: []finding.Ref{w.Member},
		})
	case fit.Status == observed.PendingValidation:
		m.kept[fit.ARN] = true
		again = m.validate(w, *fit)
	default:
		m.kept[fit.ARN] = true
		again = durations.MissingWait
		m.Findings.Add(finding.Finding{
			Object: w.Member, Field: w.Of.Field, Reason: finding.CertificatePending,
			Message: fmt.Sprintf("ACM did not issue the certificate for %s (%s %s); it is requested again later", w.Domain, fit.Status, fit.Failure),
			Fix:     "correct the hosts or the authority",
		})
	}
	m.pollCertificate(w, a, "ACM to issue it", again)
}

// pollCertificate plans to look again at a certificate that is not issued yet.
func (m *Managed) pollCertificate(w model.ManagedCertificate, a plan.Address, what string, again time.Duration) {
	m.TrailingSteps = append(m.TrailingSteps, plan.Step{
		ID: plan.NewStepID("issue", a), Address: a, Verb: plan.Update, Wait: plan.Wait{For: what, RetryAfter: again},
		Do: plan.RequestCertificate{}, Why: "from " + w.Of.String(), Blames: []finding.Ref{w.Member},
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

// AssumeIssued lets listeners have the certificates that the stack requests, as if all were issued: what
// serves until then is being removed. It returns the ids of these and of those that they take the place
// of, by ARN.
func (m *Managed) AssumeIssued() map[string]string {
	if !m.Opt.ManagesCertificates() {
		return nil
	}
	issued := map[string]string{}
	m.own = map[string]string{}
	for _, w := range m.Want.Certificates {
		arn := plan.Address{Kind: plan.Certificate, ID: w.ID}.String()
		m.own[w.ID], issued[arn] = arn, w.ID
		for _, c := range m.Have.Facts.OwnCertificates {
			if c.ResourceID == w.ID {
				issued[c.ARN] = w.ID
			}
		}
	}
	return issued
}
