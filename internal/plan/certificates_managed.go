package plan

import (
	"fmt"
	"slices"
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
	issueWait  = 15 * time.Second
	recordWait = time.Minute
	refusedFor = time.Hour
)

// resolveOwnCertificates finds or requests the certificates that the stack manages. One for other
// hosts serves on until the one that takes its place is issued.
func (b *builder) resolveOwnCertificates() {
	if !b.opt.ManageCertificates {
		return
	}
	if !b.have.Facts.OwnCertificatesAsked {
		b.ask(model.AskOwnCertificates{})
		return
	}
	b.own, b.ownKept = map[string]string{}, map[string]bool{}
	for _, w := range b.want.Certificates {
		b.resolveOwnCertificate(w)
	}
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
	again := issueWait
	switch {
	case fit == nil, fit.Status != observed.PendingValidation && b.have.Facts.Now.Sub(fit.Created) >= refusedFor:
		tags := b.tags(w.ID, w.Tags)
		b.add(Step{
			ID: stepID("request", a), Address: a, Verb: Create,
			Do:      RequestCertificate{Domain: w.Domain, Hosts: w.Hosts, CA: w.CA, Tags: tags, Token: b.want.ID.String() + " " + w.ID + " " + strings.Join(w.Hosts, ",")},
			Changes: []Change{{Path: "hosts", To: strings.Join(w.Hosts, ", ")}},
			Why:     "from " + w.Of.String(), After: b.claims(), Blames: []finding.Ref{w.Member},
		})
	case fit.Status == observed.PendingValidation:
		b.ownKept[fit.ARN] = true
		if len(fit.Records) > 0 {
			again = recordWait
		}
		b.pending(w, *fit)
	default:
		b.ownKept[fit.ARN] = true
		again = recordWait
		b.found.Add(finding.Finding{
			Object: w.Member, Field: w.Of.Field, Reason: finding.CertificatePending,
			Message: fmt.Sprintf("ACM did not issue the certificate for %s (%s %s); it is requested again later", w.Domain, fit.Status, fit.Failure),
			Fix:     "correct the hosts or the authority",
		})
	}
	b.later = append(b.later, Step{
		ID: stepID("issue", a), Address: a, Verb: Update, Wait: "ACM to issue it", Again: again,
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

// pending names the records that somebody has to make, as this controller does not write to DNS.
func (b *builder) pending(w model.ManagedCertificate, c observed.OwnCertificate) {
	if len(c.Records) == 0 {
		return
	}
	var records []string
	for _, r := range c.Records {
		records = append(records, r.Name+" CNAME "+r.Value)
	}
	b.found.Add(finding.Finding{
		Object: w.Member, Field: w.Of.Field, Reason: finding.CertificatePending,
		Message: fmt.Sprintf("the certificate for %s waits for its DNS records, which this version does not make: %s", w.Domain, strings.Join(sortedUnique(records), "; ")),
		Fix:     "create the records",
	})
}

// removeOwnCertificates deletes what no listener uses any more.
func (b *builder) removeOwnCertificates(after []StepID) {
	if !b.opt.ManageCertificates || b.want.CertificatesPartial {
		return
	}
	if !b.have.Facts.OwnCertificatesAsked {
		b.ask(model.AskOwnCertificates{})
		return
	}
	used := map[string]bool{}
	for _, l := range b.listeners {
		used[l.certs.Default] = true
		for _, arn := range l.certs.Extra {
			used[arn] = true
		}
		if !l.make && l.live != nil {
			used[l.live.Certificate] = true
			for _, arn := range l.live.Certificates {
				used[arn] = true
			}
		}
	}
	for _, c := range b.have.Facts.OwnCertificates {
		if used[c.ARN] || b.ownKept[c.ARN] {
			continue
		}
		a := Address{Kind: Certificate, ID: c.ARN}
		b.add(Step{
			ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteCertificate{ARN: c.ARN},
			Changes: []Change{{Path: "hosts", From: strings.Join(c.Domains, ", ")}},
			Why:     "no listener needs it any more", After: after, Blames: b.members(),
		})
	}
}

// ownCertificate does what the call of a step would do; certificates are issued at once.
func (s *simulation) ownCertificate(st Step) {
	all := &s.have.Facts.OwnCertificates
	switch do := st.Do.(type) {
	case RequestCertificate:
		arn := st.Address.String()
		for slices.ContainsFunc(*all, func(c observed.OwnCertificate) bool { return c.ARN == arn }) {
			arn += "'"
		}
		*all = append(slices.Clone(*all), observed.OwnCertificate{
			ARN: arn, ResourceID: st.Address.ID, Domains: do.Hosts, Status: observed.Issued,
		})
	case DeleteCertificate:
		for _, lb := range s.have.LoadBalancers {
			for _, l := range lb.Listeners {
				if l.Certificate == do.ARN || slices.Contains(l.Certificates, do.ARN) {
					panic("simulate: " + do.ARN + " is in use")
				}
			}
		}
		*all = slices.DeleteFunc(slices.Clone(*all), func(c observed.OwnCertificate) bool { return c.ARN == do.ARN })
	}
}
