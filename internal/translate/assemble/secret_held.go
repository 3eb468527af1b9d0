package assemble

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

// If --import-tls-secrets is not set, a certificate that was imported from a Secret stays on its listener as long as an
// object names the Secret and may use it. In the same way, a requested certificate stays if feature gate
// EnableCertificateManagement is off. The tags of certificates in AWS show which certificates were imported or
// requested. To save calls, the tags of certificates that an object names by ARN are not read. In the search for
// imported certificates, the tags of certificates that ACM has issued are not read either.

// HeldCertificates finds the certificates on existing listeners of a stack that are held while the flag that would
// manage them is not set.
type HeldCertificates struct {
	b *Builder
	// flagValue is the value of --import-tls-secrets that would import the Secrets, for messages.
	flagValue string
	// isNamed reports whether an object names a certificate by its ARN.
	isNamed func(arn string) bool
}

// NewHeldCertificates returns the HeldCertificates of a stack. kind is the value of --import-tls-secrets that would
// import the Secrets. named reports whether an object names a certificate by its ARN.
func NewHeldCertificates(b *Builder, kind string, named func(arn string) bool) HeldCertificates {
	return HeldCertificates{b, kind, named}
}

// heldImports has the certificates of a port that are held while TLS Secrets are not imported.
type heldImports struct {
	ARNs []string
	// Names are the DNS names in the certificates, and the hosts for which objects name the Secrets.
	Names []string
	// Unavailable are the ARNs of certificates on the listener whose tags cannot be read. Fault is the reason.
	Unavailable []string
	Fault       *observed.Fault
}

// HeldImports returns and reports the certificates on the existing listener of a port that were imported from the
// Secrets. The result is empty if the controller imports Secrets.
func (h HeldCertificates) HeldImports(port int32, secrets []TLSSecret) (out heldImports) {
	if h.b.ImportCertificates || len(secrets) == 0 {
		return out
	}
	skip := func(arn string) bool { return h.isNamed(arn) || h.isIssued(arn) }
	out.Unavailable, out.Fault = h.eachStackCertificate(port, skip, func(arn string, o observed.CertificateOwner) {
		if i := slices.IndexFunc(secrets, func(s TLSSecret) bool { return s.ID() == o.ResourceID }); i >= 0 {
			out.ARNs, out.Names = append(out.ARNs, arn), append(out.Names, o.Names...)
			h.reportHeld(secrets[i], o)
		}
	})
	for _, s := range secrets {
		out.Names = append(out.Names, s.Hosts...)
	}
	return out
}

// HeldRequests returns the certificates on the existing listener of a port that were requested for a member. The result
// is empty if the controller requests certificates, or if the member does not want a requested certificate.
func (h HeldCertificates) HeldRequests(port int32, m *members.Member) (arns []string) {
	if h.b.ManageCertificates || !m.Set.CreateCertificate.ValueOr(false) || len(m.Set.Certificates.Value) > 0 {
		return nil
	}
	h.b.Stack.Contested = true
	if !h.ServesOn(port, m) {
		return nil
	}
	_, suffix, _ := strings.Cut(naming.CertificateID("", m.Ref, ""), "/")
	h.eachStackCertificate(port, func(string) bool { return false }, func(arn string, o observed.CertificateOwner) {
		if strings.HasSuffix(o.ResourceID, suffix) {
			arns = append(arns, arn)
		}
	})
	return arns
}

// ServesOn reports whether the existing listener of a port forwards to target groups of a member.
func (h HeldCertificates) ServesOn(port int32, m *members.Member) bool {
	return h.b.OwnsListenerPart(m.Ref, h.b.LiveLoadBalancer().ListenerOnPort(port))
}

// eachStackCertificate calls found for each certificate on the existing listener of a port that was imported or requested
// for the stack. It leaves out certificates for which skip returns true. It returns the ARNs of certificates whose tags
// cannot be read, and the reason.
func (h HeldCertificates) eachStackCertificate(port int32, skip func(arn string) bool, found func(arn string, o observed.CertificateOwner)) (unavailable []string, fault *observed.Fault) {
	b := h.b
	b.Stack.Contested = true // the result depends on the existing listener
	l := b.LiveLoadBalancer().ListenerOnPort(port)
	if l == nil || l.Protocol != "HTTPS" && l.Protocol != "TLS" {
		return nil, nil
	}
	attached := append([]string{l.Certificate}, l.Certificates...)
	slices.Sort(attached)
	for _, arn := range slices.Compact(attached) {
		if arn == "" || skip(arn) {
			continue
		}
		q := model.AskCertificateOwner{ARN: arn}
		owner, known := b.Live.Facts.CertificateOwners[arn]
		if b.RequireFact(q, known) {
			if plan.IsCertificateOf(owner, b.Cluster, b.ID) {
				found(arn, owner)
			}
		} else if f := b.Live.Facts.Fault(q); f != nil {
			unavailable, fault = append(unavailable, arn), f
		}
	}
	return unavailable, fault
}

// isIssued reports whether ACM has issued a certificate. Such a certificate was not imported.
func (h HeldCertificates) isIssued(arn string) bool {
	facts := &h.b.Live.Facts
	return slices.ContainsFunc(facts.Certificates, func(c observed.Certificate) bool { return c.ARN == arn && !c.Imported }) ||
		slices.ContainsFunc(facts.OwnCertificates, func(c observed.OwnCertificate) bool { return c.ARN == arn && c.ImportedIdentity == nil })
}

func (h HeldCertificates) reportHeld(s TLSSecret, owner observed.CertificateOwner) {
	ends := ""
	if !owner.NotAfter.IsZero() {
		ends = ", and expires at " + owner.NotAfter.UTC().Format(time.RFC3339)
	}
	h.b.Found.Add(finding.Finding{
		Object: s.ReferencedAt.Object, Field: s.ReferencedAt.Field, Reason: finding.ImportsDisabled, Severity: finding.Warning,
		Message: fmt.Sprintf("Secret \"%s/%s\" is not read, because --import-tls-secrets does not name %q; the certificate that was imported from it stays in use and is not renewed%s", s.Namespace, s.Name, h.flagValue, ends),
		Fix:     fmt.Sprintf("start the controller with --import-tls-secrets=%s, or remove the reference to the Secret", h.flagValue),
	})
}

// ReportUnavailable reports that a port keeps its certificate, because it is not known whether it was imported from a
// Secret.
func (h HeldCertificates) ReportUnavailable(port int32, s TLSSecret, f observed.Fault) {
	h.b.Found.Add(finding.Finding{
		Object: s.ReferencedAt.Object, Field: s.ReferencedAt.Field, Reason: f.Reason, Severity: finding.Warning,
		Message: fmt.Sprintf("%s, so it is not known whether the certificate of port %d was imported from Secret \"%s/%s\"; the port keeps its certificate", f.Message, port, s.Namespace, s.Name),
		Fix:     fmt.Sprintf("grant acm:ListTagsForCertificate, start the controller with --import-tls-secrets=%s, or remove the reference to the Secret", h.flagValue),
	})
}
