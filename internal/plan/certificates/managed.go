package certificates

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
)

// Managed plans the certificates that the stack requests from ACM or imports into it.
type Managed struct {
	*draft.Draft
	*draft.Finalizers
	targetGroups *owners.TargetGroups
	managedARNs  map[string]string // ARNs of the certificates to use, by the id of the certificate in the model
	// importingIDs are the ids of the certificates that this plan imports. The creation of a listener waits for them, so that
	// its default certificate is the first certificate that a member requests.
	importingIDs   map[string]bool
	retainedARNs   map[string]bool // ARNs of certificates that must not be deleted
	importCounts   map[string]int  // numbers of certificates that this plan imports, by namespace of the Secret; they count in the import quota
	plannedSteps   []plan.Step     // steps that Resolve has planned
	plannedRecords map[string]bool // names of DNS records that the plan creates or deletes
}

// NewManaged returns the planner of the managed certificates of a stack.
func NewManaged(tg *owners.TargetGroups, f *draft.Finalizers) *Managed {
	return &Managed{Draft: tg.Draft, Finalizers: f, targetGroups: tg, importCounts: map[string]int{}, plannedRecords: map[string]bool{}}
}

// Resolve finds the managed certificates in ACM, and decides which certificates to request or to import. If the hosts of a
// certificate change, the current certificate is used until the new certificate is issued.
func (m *Managed) Resolve() {
	if !m.Opt.ManagesCertificates() {
		return
	}
	if !m.requestManagedFacts() {
		return
	}
	m.managedARNs, m.retainedARNs, m.importingIDs = map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, w := range m.limitImports(m.Want.Certificates) {
		if w.Import != nil {
			m.resolveImport(w)
			continue
		}
		m.resolveRequested(w)
	}
}

// planStep records a step that AddPlannedSteps adds to the plan.
func (m *Managed) planStep(s plan.Step) { m.plannedSteps = append(m.plannedSteps, s) }

// AddPlannedSteps adds the steps that Resolve has recorded to the plan.
func (m *Managed) AddPlannedSteps() {
	for _, s := range m.plannedSteps {
		m.Add(s)
	}
}

// requestManagedFacts reports whether the managed certificates in ACM are known. If they are not, it adds the question for
// them, unless they could not be read.
func (m *Managed) requestManagedFacts() bool {
	if m.Have.Facts.OwnCertificatesAsked {
		return true
	}
	if q := (model.AskOwnCertificates{}); m.ReadFault(q) == nil {
		m.Ask(q)
	}
	return false
}

// resolveRequested finds a certificate that was requested from ACM, or plans to request it.
func (m *Managed) resolveRequested(w model.ManagedCertificate) {
	var fit, other *observed.OwnCertificate
	for i := range m.Have.Facts.OwnCertificates {
		c := &m.Have.Facts.OwnCertificates[i]
		switch {
		case c.ResourceID != w.ID:
		case !equal.SameSet(c.Domains, w.Hosts):
			if c.Status == observed.CertificateIssued && other == nil {
				other = c
			}
		case fit == nil || issueRank(*c) < issueRank(*fit):
			fit = c
		}
	}
	if fit != nil && fit.Status == observed.CertificateIssued {
		m.managedARNs[w.ID] = fit.ARN
		m.retainedARNs[fit.ARN] = true
		return
	}
	if other != nil {
		m.managedARNs[w.ID] = other.ARN
		m.retainedARNs[other.ARN] = true
	}
	a := plan.Address{Kind: plan.Certificate, ID: w.ID}
	again := durations.FirstBackOff
	switch {
	case fit == nil, fit.Status != observed.CertificatePendingValidation && m.Have.Facts.Now.Sub(fit.Created) >= durations.StableFactAge:
		if !m.checkHostedZones(w, a, other != nil) {
			return
		}
		tags := m.Tags(w.ID, w.Tags)
		m.planStep(plan.Step{
			ID: plan.NewStepID("request", a), Address: a, Verb: plan.Create,
			Do:      plan.RequestCertificate{Domain: w.Domain, Hosts: w.Hosts, CA: w.CA, Tags: tags, Token: m.Want.ID.String() + " " + w.ID + " " + strings.Join(w.Hosts, ",")},
			Changes: []plan.Change{{Path: "hosts", To: strings.Join(w.Hosts, ", ")}},
			Why:     "from " + w.Of.String(), After: m.ClaimStepsOf(w.Member), RequestedBy: []finding.Ref{w.Member},
		})
	case fit.Status == observed.CertificatePendingValidation:
		m.retainedARNs[fit.ARN] = true
		again = m.planValidationRecords(w, *fit)
	default:
		m.retainedARNs[fit.ARN] = true
		again = durations.MissingWait
		m.Findings.Add(finding.Finding{
			Object: w.Member, Field: w.Of.Field, Reason: finding.CertificatePending,
			Message: fmt.Sprintf("ACM did not issue the certificate for %s (%s %s); it is requested again later", w.Domain, fit.Status, fit.Failure),
			Fix:     "correct the hosts or the certificate authority",
		})
	}
	m.awaitCertificate(w, a, plan.Wait{For: "ACM to issue it", RetryAfter: again})
}

// awaitCertificate adds a step that waits until a certificate is issued or imported. after has the steps that import it.
func (m *Managed) awaitCertificate(w model.ManagedCertificate, a plan.Address, wait plan.Wait, after ...plan.StepID) {
	s := plan.Step{
		ID: plan.NewStepID("issue", a), Address: a, Verb: plan.Update, Wait: wait, After: after,
		Do: plan.RequestCertificate{}, Why: "from " + w.Of.String(), RequestedBy: []finding.Ref{w.Member},
	}
	if w.Import != nil {
		s.ID, s.Do, s.RequestedBy = plan.NewStepID("await", a), plan.ImportCertificate{}, w.Import.Members()
	}
	m.TrailingSteps = append(m.TrailingSteps, s)
}

// issueRank returns the rank of a certificate among those for the same hosts: issued certificates come first, then those in
// validation.
func issueRank(c observed.OwnCertificate) int {
	switch c.Status {
	case observed.CertificateIssued:
		return 0
	case observed.CertificatePendingValidation:
		return 1
	}
	return 2
}

// AssumeIssued resolves all desired certificates as if they were already issued. It is used to describe the desired result.
// It returns the ids of the certificates, by their assumed and observed ARNs.
func (m *Managed) AssumeIssued() map[string]string {
	if !m.Opt.ManagesCertificates() {
		return nil
	}
	issued := map[string]string{}
	m.managedARNs = map[string]string{}
	for _, w := range m.Want.Certificates {
		arn := plan.Address{Kind: plan.Certificate, ID: w.ID}.String()
		m.managedARNs[w.ID], issued[arn] = arn, w.ID
		for _, c := range m.Have.Facts.OwnCertificates {
			if c.ResourceID == w.ID {
				issued[c.ARN] = w.ID
			}
		}
	}
	return issued
}
