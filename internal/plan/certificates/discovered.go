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

// discovery is what is found for the hosts of a member.
type discovery struct {
	arns, missing []string
	// notOwned are live certificates that cover the hosts and must not serve them any more.
	notOwned []string
	sources  []resolved.CertificateSource
	// unavailable is why it is not known whether a certificate may be used.
	unavailable *observed.Fault
}

// discover finds the certificates that cover the hosts of a member, in order of their ARNs.
func (cc *Choice) discover(c model.CertHosts, live *observed.Listener) (out discovery) {
	if !cc.Have.Facts.CertificatesAsked {
		cc.Ask(model.AskCertificates{})
		return out
	}
	for _, host := range c.Hosts {
		n := len(out.arns)
		for _, known := range cc.Have.Facts.Certificates {
			if known.Status != observed.Issued || len(cc.Opt.AllowedCAs) > 0 && !slices.Contains(cc.Opt.AllowedCAs, known.CA) ||
				!slices.ContainsFunc(known.Domains, func(d string) bool { return plan.DomainCovers(d, host) }) {
				continue
			}
			switch right, unavailable := cc.mayServeHost(known, c.Member, c.Field(host), live); {
			case unavailable != nil:
				out.unavailable = unavailable
			case right == mayServe:
				out.arns = append(out.arns, known.ARN)
			case right == noLongerServes:
				out.notOwned = append(out.notOwned, known.ARN)
			}
		}
		if len(out.arns) == n {
			out.missing = append(out.missing, host)
		}
		out.sources = append(out.sources, resolved.CertificateSource{Member: c.Member, Field: c.Field(host), Host: host, How: resolved.CertificateByHost, ARNs: slices.Clone(out.arns[n:])})
	}
	out.arns, out.notOwned = equal.SortedUnique(out.arns), equal.SortedUnique(out.notOwned)
	return out
}

// certificateRight is whether a certificate that covers a host may be found for it.
type certificateRight int

const (
	mayServe certificateRight = iota
	isNotFound
	noLongerServes // it is live
)

// mayServeHost decides whether a certificate may be found for a host of a member.
//
// One that was imported was given by a Secret to the stack of those who name that Secret, so it is found for no other
// stack, and not for that one either, which has it as long as it names the Secret. Its private key is of the namespace
// of the Secret: where a listener of another namespace has it, put there by a version that did not know the difference,
// it goes at once. A member of the namespace of the Secret could name the Secret as well, so that what it has serves on,
// with a finding.
//
// One that was requested is left out as the feature gate for it says. Without the gate no tags are read of certificates
// that ACM has issued, as their permission is not among those of a cluster without the gate.
func (cc *Choice) mayServeHost(c observed.Certificate, member finding.Ref, field string, live *observed.Listener) (certificateRight, *observed.Fault) {
	attached := live != nil && (live.Certificate == c.ARN || slices.Contains(live.Certificates, c.ARN))
	owner := c.Owner
	if owner == nil && c.Imported {
		var unavailable *observed.Fault
		if owner, unavailable = cc.ownerOf(c.ARN); owner == nil && !attached {
			return isNotFound, unavailable // who cannot be read is asked again
		}
	}
	if owner == nil || !owner.Managed {
		return mayServe, nil
	}
	namespace, imported := naming.NamespaceOfImport(owner.ResourceID)
	switch {
	case !imported && cc.Opt.SkipManagedCertificates:
		return isNotFound, nil
	case !imported:
		return mayServe, nil
	case !attached || plan.IsCertificateOf(*owner, cc.Opt.Cluster, cc.Want.ID):
		return isNotFound, nil
	}
	text := fmt.Sprintf("certificate %q was imported from a Secret of namespace %q for another load balancer", c.ARN, namespace)
	if owner.Cluster != cc.Opt.Cluster {
		text = fmt.Sprintf("certificate %q was imported by cluster %q", c.ARN, owner.Cluster)
	} else if namespace == member.Namespace {
		cc.Findings.Add(finding.Finding{
			Object: member, Field: field, Reason: finding.CertificateNotOwned, Severity: finding.Warning,
			Message: text + ", and is deleted with that; it serves this object until then",
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

// ownerOf returns for whom a certificate was imported; nil if that is not known yet, with the fault if AWS gives no
// answer. Who may not read tags has never imported certificates: then there are none.
func (cc *Choice) ownerOf(arn string) (*observed.CertificateOwner, *observed.Fault) {
	if owner, known := cc.Have.Facts.CertificateOwners[arn]; known {
		return &owner, nil
	}
	q := model.AskCertificateOwner{ARN: arn}
	if f := cc.Have.Facts.Fault(q); f != nil && f.Reason == finding.AccessDenied {
		return &observed.CertificateOwner{}, nil
	}
	if f := cc.Unavailable(q); f != nil {
		return nil, f
	}
	cc.Ask(q)
	return nil, nil
}
