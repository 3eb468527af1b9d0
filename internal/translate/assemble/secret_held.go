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

// A flag that is missing is no withdrawal of a right: a certificate that was imported from a Secret that an object still
// names, and may name, serves on without --import-tls-secrets, and one that was requested without its feature gate.
// What is live shows such a certificate, by its tags. These are read only where no object names it by ARN and, of
// imported ones, ACM has not issued it, so that load balancers of another controller, which ignores such Secrets, cost
// no call.

// HeldCertificates finds what is held of a stack while the flag for it is missing.
type HeldCertificates struct {
	b *Builder
	// kind is the kind of the flag for TLS Secrets.
	kind string
	// named reports whether an object names a certificate by ARN.
	named func(arn string) bool
}

// HeldCertificatesOf returns what finds held certificates; see its fields.
func HeldCertificatesOf(b *Builder, kind string, named func(arn string) bool) HeldCertificates {
	return HeldCertificates{b, kind, named}
}

// HeldImports are the live certificates of a port that are held while TLS Secrets are not imported.
type HeldImports struct {
	ARNs []string
	// Names that the certificates are for, and hosts that the Secrets are meant for.
	Names []string
	// Unavailable are live certificates of which AWS does not say whether they were imported, and why.
	Unavailable []string
	Fault       *observed.Fault
}

// Imports finds on the live listener of a port what was imported from Secrets that are named for it, and reports it.
func (h HeldCertificates) Imports(port int32, secrets []TLSSecret) (out HeldImports) {
	if h.b.ImportCertificates || len(secrets) == 0 {
		return out
	}
	skip := func(arn string) bool { return h.named(arn) || h.isIssued(arn) }
	out.Unavailable, out.Fault = h.liveOwned(port, skip, func(arn string, o observed.CertificateOwner) {
		if i := slices.IndexFunc(secrets, func(s TLSSecret) bool { return s.ID() == o.ResourceID }); i >= 0 {
			out.ARNs, out.Names = append(out.ARNs, arn), append(out.Names, o.Names...)
			h.report(secrets[i], o)
		}
	})
	for _, s := range secrets {
		out.Names = append(out.Names, s.Hosts...)
	}
	return out
}

// Requests returns the live certificates of a port that were requested for a member, while none are requested.
func (h HeldCertificates) Requests(port int32, m *members.Member) (arns []string) {
	if h.b.ManageCertificates || !m.Set.CreateCertificate.Or(false) || len(m.Set.Certificates.Value) > 0 {
		return nil
	}
	h.b.Stack.Contested = true
	if !h.ServesOn(port, m) {
		return nil
	}
	_, mark, _ := strings.Cut(naming.CertificateID("", m.Ref, ""), "/")
	h.liveOwned(port, func(string) bool { return false }, func(arn string, o observed.CertificateOwner) {
		if strings.HasSuffix(o.ResourceID, mark) {
			arns = append(arns, arn)
		}
	})
	return arns
}

// ServesOn reports whether the live listener of a port forwards to target groups of a member.
func (h HeldCertificates) ServesOn(port int32, m *members.Member) bool {
	l := h.b.LiveLoadBalancer().OnPort(port)
	return l != nil && (h.b.Owns(m.Ref, l.Default) || slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return h.b.Owns(m.Ref, r.Actions) }))
}

// liveOwned calls found with the certificates of the live listener of a port that a controller has imported or requested
// for the stack, and returns those of which it is not known.
func (h HeldCertificates) liveOwned(port int32, skip func(arn string) bool, found func(arn string, o observed.CertificateOwner)) (unavailable []string, fault *observed.Fault) {
	b := h.b
	b.Stack.Contested = true // it depends on what is live
	l := b.LiveLoadBalancer().OnPort(port)
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
		if b.Compare(q, known) {
			if plan.IsCertificateOf(owner, b.Cluster, b.ID) {
				found(arn, owner)
			}
		} else if f := b.Live.Facts.Fault(q); f != nil {
			unavailable, fault = append(unavailable, arn), f
		}
	}
	return unavailable, fault
}

// isIssued reports whether ACM has issued a certificate, so that it was not imported.
func (h HeldCertificates) isIssued(arn string) bool {
	facts := &h.b.Live.Facts
	return slices.ContainsFunc(facts.Certificates, func(c observed.Certificate) bool { return c.ARN == arn && !c.Imported }) ||
		slices.ContainsFunc(facts.OwnCertificates, func(c observed.OwnCertificate) bool { return c.ARN == arn && c.Imported == nil })
}

func (h HeldCertificates) report(s TLSSecret, owner observed.CertificateOwner) {
	ends := ""
	if !owner.NotAfter.IsZero() {
		ends = ", and ends at " + owner.NotAfter.UTC().Format(time.RFC3339)
	}
	h.b.Found.Add(finding.Finding{
		Object: s.By.Object, Field: s.By.Field, Reason: finding.ImportsDisabled, Severity: finding.Warning,
		Message: fmt.Sprintf("Secret \"%s/%s\" is not read, because --import-tls-secrets does not name %q; the certificate that was imported from it serves on and is not renewed%s", s.Namespace, s.Name, h.kind, ends),
		Fix:     fmt.Sprintf("start the controller with --import-tls-secrets=%s, or remove the reference to the Secret", h.kind),
	})
}

// ReportUnavailable reports a listener that is held because AWS does not say whether its certificate was imported.
func (h HeldCertificates) ReportUnavailable(port int32, s TLSSecret, f observed.Fault) {
	h.b.Found.Add(finding.Finding{
		Object: s.By.Object, Field: s.By.Field, Reason: f.Reason, Severity: finding.Warning,
		Message: fmt.Sprintf("%s, so that it is not known whether the certificate of port %d was imported from Secret \"%s/%s\"; the port keeps its certificate", f.Message, port, s.Namespace, s.Name),
		Fix:     fmt.Sprintf("grant acm:ListTagsForCertificate, start the controller with --import-tls-secrets=%s, or remove the reference to the Secret", h.kind),
	})
}
