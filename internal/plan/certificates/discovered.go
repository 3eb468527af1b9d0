package certificates

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// certificateDiscovery is the result of a search in ACM for certificates for the hosts of a member.
type certificateDiscovery struct {
	arns, missingHosts []string
	// notOwned are attached certificates that cover a host of the member, but must not be presented for this host any more.
	notOwned []string
	sources  []resolved.CertificateSource
	// unavailable is the reason why it is not known whether a certificate may be used; nil if this is known for all
	// certificates.
	unavailable *observed.Fault
}

// discoverCertificates finds the issued certificates that cover the hosts of a member, sorted by ARN. It also returns the
// hosts that no certificate covers.
func (cc *Chooser) discoverCertificates(c model.CertHosts, live *observed.Listener) (out certificateDiscovery) {
	if !cc.Have.Facts.CertificatesAsked {
		cc.Ask(model.AskCertificates{})
		return out
	}
	for _, host := range c.Hosts {
		n := len(out.arns)
		for _, known := range cc.Have.Facts.Certificates {
			if known.Status != observed.CertificateIssued || len(cc.Opt.AllowedCAs) > 0 && !slices.Contains(cc.Opt.AllowedCAs, known.CA) ||
				!covers(known, host) {
				continue
			}
			switch right, unavailable := cc.decideCertificateRight(known, c.Member, c.Field(host), live); {
			case unavailable != nil:
				out.unavailable = unavailable
			case right == mayServe:
				out.arns = append(out.arns, known.ARN)
			case right == noLongerServes:
				out.notOwned = append(out.notOwned, known.ARN)
			}
		}
		if len(out.arns) == n {
			out.missingHosts = append(out.missingHosts, host)
		}
		out.sources = append(out.sources, resolved.CertificateSource{Member: c.Member, Field: c.Field(host), Host: host, Search: resolved.CertificateByHost, ARNs: slices.Clone(out.arns[n:])})
	}
	out.arns, out.notOwned = equal.SortedUnique(out.arns), equal.SortedUnique(out.notOwned)
	return out
}

// certificateRight is the result of decideCertificateRight: whether a certificate may be presented for a host of a member.
type certificateRight int

const (
	mayServe certificateRight = iota
	notCandidate
	noLongerServes // the certificate is attached to the listener, and has to be removed
)

// decideCertificateRight decides whether a certificate may be presented for a host of a member.
//
// An imported certificate comes from a Secret, and was imported for the stack whose members reference this Secret. Discovery
// does not find it: another stack must not use the certificate, and its own stack uses it without discovery as long as a
// member references the Secret. The private key belongs to the namespace of the Secret. A listener of another namespace may
// have the certificate, because an earlier version did not distinguish namespaces. In this case, the certificate is removed
// at once. For a member in the namespace of the Secret, the certificate is retained with a finding, because the member could
// reference the Secret itself.
//
// If Options.SkipManagedCertificates is set, discovery excludes certificates that a controller has requested from ACM.
// Discovery for Gateways never excludes them. If the option is not set, the tags of certificates that ACM issued are not
// read, because the controller may lack the permission.
func (cc *Chooser) decideCertificateRight(c observed.Certificate, member finding.Ref, field string, live *observed.Listener) (certificateRight, *observed.Fault) {
	attached := live.HasCertificate(c.ARN)
	owner := c.Owner
	if owner == nil && c.Imported {
		var unavailable *observed.Fault
		if owner, unavailable = cc.certificateOwner(c.ARN); owner == nil && !attached {
			return notCandidate, unavailable // if the owner could not be read, a later run reads it again
		}
	}
	if owner == nil || !owner.Managed {
		return mayServe, nil
	}
	namespace, imported := naming.NamespaceOfImport(owner.ResourceID)
	switch {
	case !imported && cc.Opt.SkipManagedCertificates && !cc.Want.ID.Kind.IsGateway():
		return notCandidate, nil
	case !imported:
		return mayServe, nil
	case !attached || plan.IsCertificateOf(*owner, cc.Opt.Cluster, cc.Want.ID):
		return notCandidate, nil
	}
	text := fmt.Sprintf("certificate %q was imported from a Secret of namespace %q for another load balancer", c.ARN, namespace)
	if owner.Cluster != cc.Opt.Cluster {
		text = fmt.Sprintf("certificate %q was imported by cluster %q", c.ARN, owner.Cluster)
	} else if namespace == member.Namespace {
		cc.Findings.Add(finding.Finding{
			Object: member, Field: field, Reason: finding.CertificateNotOwned, Severity: finding.Warning,
			Message: text + ", which renews it only as long as it needs the certificate itself",
			Fix:     "name the Secret here as well, or " + CertificateSourceText(cc.Want.ID, nil),
		})
		return mayServe, nil
	}
	cc.Findings.Add(finding.Finding{
		Object: member, Field: field, Reason: finding.CertificateNotOwned, Severity: finding.Error,
		Message: text + "; it does not serve this object any more",
		Fix:     "request a certificate for the host in ACM, or " + CertificateSourceText(cc.Want.ID, nil),
	})
	return noLongerServes, nil
}

// certificateOwner returns the stack for which a certificate was imported. It returns nil if the stack is not known yet,
// together with the fault if AWS could not be read. A controller that may not read tags has never imported certificates.
// Therefore access denied means that the certificate was imported for no stack.
func (cc *Chooser) certificateOwner(arn string) (*observed.CertificateOwner, *observed.Fault) {
	if owner, known := cc.Have.Facts.CertificateOwners[arn]; known {
		return &owner, nil
	}
	q := model.AskCertificateOwner{ARN: arn}
	if f := cc.Have.Facts.Fault(q); f != nil && f.Reason == finding.AccessDenied {
		return &observed.CertificateOwner{}, nil
	}
	if f := cc.ReadFault(q); f != nil {
		return nil, f
	}
	cc.Ask(q)
	return nil, nil
}
