package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// certificates is the answer to a listener's certificate choices.
type certificates struct {
	Default string
	Extra   []string // to be attached besides, the default again among them; in order
	// Blocked are members whose certificates could not be found.
	Blocked []finding.Ref
}

// resolveCertificates merges the members' choices: the default is the first certificate of the
// first member that has one; all are attached as additional ones, because AWS serves the default
// beside certificates of other key types only if it is in that list too. While a member of the
// stack is blocked nothing that is live is taken away, because it may be that member's.
func (b *builder) resolveCertificates(l model.Listener, live *observed.Listener) certificates {
	var out certificates
	var all []string
	for _, c := range l.TLS.Certificates {
		switch c := c.(type) {
		case model.CertARNs:
			for _, arn := range c.ARNs {
				if b.certificateMissing(arn, live) {
					out.Blocked = append(out.Blocked, c.Member)
					b.found.Add(finding.Finding{
						Object: c.Member, Field: c.Field, Reason: finding.CertificateNotFound,
						Message: fmt.Sprintf("certificate %s does not exist in ACM, so port %d keeps what it served for this object", arn, l.Port),
						Fix:     "correct the ARN, or request or import the certificate", Blocks: finding.BlocksMember,
					})
					continue
				}
				all = append(all, arn)
			}
		case model.CertManaged:
			if arn := b.own[c.ID]; arn != "" {
				all = append(all, arn)
			} else {
				out.Blocked = append(out.Blocked, c.Member)
			}
		case model.CertHosts:
			found, missing := b.discover(c.Hosts)
			for _, host := range missing {
				b.found.Add(finding.Finding{
					Object: c.Member, Field: "spec.tls", Reason: finding.CertificateNotFound,
					Message: fmt.Sprintf("no issued certificate in ACM covers host %s, which port %d serves", host, l.Port),
					Fix:     "request one in ACM, or set the certificate-arn annotation", Blocks: finding.BlocksMember,
				})
			}
			if len(missing) > 0 {
				out.Blocked = append(out.Blocked, c.Member)
				continue
			}
			all = append(all, found...)
		}
	}
	if (len(out.Blocked) > 0 || b.anyBlocked()) && live != nil {
		if live.Certificate != "" {
			out.Default = live.Certificate
		}
		all = append(all, live.Certificates...)
	}
	if out.Default == "" && len(all) > 0 {
		out.Default = all[0]
	}
	for _, arn := range all {
		if !slices.Contains(out.Extra, arn) {
			out.Extra = append(out.Extra, arn)
		}
	}
	return out
}

// anyBlocked says whether a member could not say all that it wishes for.
func (b *builder) anyBlocked() bool {
	return slices.ContainsFunc(b.want.Members, func(m model.Member) bool { return m.Blocked })
}

// certificateMissing says whether a certificate that a user named is known not to exist. Only
// certificates of the controller's own account and region can be known; one that is attached
// already is not asked for.
func (b *builder) certificateMissing(arn string, live *observed.Listener) bool {
	if live != nil && (live.Certificate == arn || slices.Contains(live.Certificates, arn)) {
		return false
	}
	facts := b.have.Facts
	if !strings.HasPrefix(arn, "arn:") || !strings.Contains(arn, ":acm:") {
		return false
	}
	if !facts.CertificatesAsked {
		b.ask(model.AskCertificates{})
		return false
	}
	part := strings.SplitN(arn, ":", 6)
	if len(part) < 6 || part[3] != facts.Region || facts.Account != "" && part[4] != facts.Account {
		return false
	}
	return !slices.ContainsFunc(facts.Certificates, func(c observed.Certificate) bool { return c.ARN == arn })
}

// discover finds the certificates that cover the hosts, in order of their ARNs.
func (b *builder) discover(hosts []string) (arns, missing []string) {
	if !b.have.Facts.CertificatesAsked {
		b.ask(model.AskCertificates{})
		return nil, nil
	}
	for _, host := range hosts {
		n := len(arns)
		for _, c := range b.have.Facts.Certificates {
			if c.Status != "ISSUED" || c.Managed && b.opt.SkipManagedCertificates ||
				len(b.opt.AllowedCAs) > 0 && !slices.Contains(b.opt.AllowedCAs, c.CA) {
				continue
			}
			if slices.ContainsFunc(c.Domains, func(d string) bool { return covers(d, host) }) {
				arns = append(arns, c.ARN)
			}
		}
		if len(arns) == n {
			missing = append(missing, host)
		}
	}
	return sortedUnique(arns), missing
}

// covers says whether a certificate's domain covers a host: equal, or a wildcard for exactly one
// label.
func covers(domain, host string) bool {
	if domain == host {
		return true
	}
	rest, wild := strings.CutPrefix(domain, "*.")
	if !wild {
		return false
	}
	_, parent, ok := strings.Cut(host, ".")
	return ok && parent == rest
}
