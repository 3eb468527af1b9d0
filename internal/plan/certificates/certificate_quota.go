package certificates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// If the quota of certificates of a load balancer is reached, a new certificate replaces an attached certificate of the
// listener that no member requests any more. The attached certificate is removed immediately before the new certificate is
// added. The namespace that requested the attached certificate has precedence. A new certificate that can replace no
// attached certificate is omitted.

// certificateClaim is a new certificate that a member requests while the quota of the load balancer is reached.
type certificateClaim struct {
	member         finding.Ref
	arn            string
	hosts          []string
	refusedByQuota bool   // AWS has refused the certificate because a quota is reached
	replacedARN    string // ARN of the attached certificate that the new certificate replaces; empty if there is none
}

// certificateClaims collects the new certificates that the members of a listener request.
type certificateClaims struct {
	listener model.Listener
	live     *observed.Listener
	claims   []certificateClaim
	shares   plan.Shares // numbers of attached certificates by namespace
}

// admitCertificate reports whether a certificate of a member is attached to the listener or may be attached. It counts a
// certificate that is attached. If the quota of the load balancer is reached, it records a claim for a new certificate.
func (t *certificateClaims) admitCertificate(member finding.Ref, arn string, hosts []string) bool {
	switch {
	case t.live.HasCertificate(arn):
		t.shares.AddRetained(member.Namespace)
	case slices.Contains(t.listener.TLS.Refused, arn):
		return false
	case len(t.listener.TLS.OverQuota) > 0:
		// A claim is recorded even if AWS has not refused this certificate yet, so that the certificate can replace one
		// that the same namespace requested before.
		t.claims = append(t.claims, certificateClaim{member: member, arn: arn, hosts: t.hostsOf(member, hosts), refusedByQuota: slices.Contains(t.listener.TLS.OverQuota, arn)})
	}
	return true
}

// hostsOf returns the given hosts, and the hosts of the rules of the member on the listener. A Gateway without given hosts
// gets the hosts of all its routes.
func (t *certificateClaims) hostsOf(member finding.Ref, hosts []string) []string {
	out := slices.Clone(hosts)
	for _, r := range t.listener.Rules {
		if r.Member == member || member.Kind == "Gateway" && len(hosts) == 0 {
			out = append(out, r.Hosts()...)
		}
	}
	return equal.SortedUnique(out)
}

// assignReplacements chooses the attached certificate that each claim replaces, and returns the certificates that are
// omitted, because they can replace no attached certificate. all has the certificates that members request.
func (cc *Chooser) assignReplacements(t *certificateClaims, out *resolved.Certificates, all []string) (left []string) {
	var free, has, claimants []string
	for _, c := range t.claims {
		left, claimants = append(left, c.arn), append(claimants, c.member.Namespace)
	}
	if t.live != nil {
		free = slices.DeleteFunc(slices.Clone(t.live.Certificates), func(arn string) bool {
			return slices.Contains(all, arn) || slices.Contains(out.NotOwnedARNs, arn)
		})
	}
	if len(left) > 0 && len(free) > 0 {
		cc.requestCertificates()
	}
	for _, arn := range all {
		if !slices.Contains(left, arn) {
			has = append(has, arn)
		}
	}
	owners := map[string]string{} // namespaces that requested the free certificates, by ARN, if known
	for _, arn := range free {
		if n := cc.previousNamespace(t, arn); n != "" {
			owners[arn] = n
			t.shares.AddToBeDeleted(n)
		}
	}
	related := func(c *certificateClaim, arn string) bool {
		return owners[arn] == c.member.Namespace || slices.ContainsFunc(t.claims, func(o certificateClaim) bool {
			return o.member.Namespace == c.member.Namespace && cc.coversAny(arn, o.hosts)
		})
	}
	reserved := func(c *certificateClaim, arn string) bool { // the namespace that requested the attached certificate has a claim itself
		return owners[arn] != "" && owners[arn] != c.member.Namespace && slices.ContainsFunc(t.claims, func(o certificateClaim) bool {
			return o.replacedARN == "" && o.member.Namespace == owners[arn]
		})
	}
	for _, fits := range []func(c *certificateClaim, arn string) bool{
		func(c *certificateClaim, arn string) bool { return cc.coversAny(arn, c.hosts) },
		related,
		func(*certificateClaim, string) bool { return true },
	} {
		for _, n := range plan.OrderClaims(t.shares, claimants) {
			c := &t.claims[n]
			at := slices.IndexFunc(free, func(arn string) bool {
				return fits(c, arn) && !reserved(c, arn) && cc.isReplaceable(t, *out, arn, append(slices.Clone(has), c.arn))
			})
			if c.replacedARN != "" || at < 0 {
				continue
			}
			replaced := free[at]
			has, free = append(has, c.arn), slices.Delete(free, at, at+1)
			left = slices.DeleteFunc(left, func(arn string) bool { return arn == c.arn })
			if out.ReplacedBy == nil {
				out.ReplacedBy = map[string]string{}
			}
			out.ReplacedBy[replaced] = c.arn
			for i := range t.claims { // several members may claim the same certificate
				o := &t.claims[i]
				if o.arn != c.arn {
					continue
				}
				o.replacedARN = replaced
				cc.Findings.Add(finding.Finding{
					Object: o.member, Reason: finding.QuotaReached, Severity: finding.Warning, Port: t.listener.Port, Blocks: finding.BlocksNothing,
					Message: fmt.Sprintf("port %d: the quota of certificates is reached; certificate %q replaces certificate %q, which is removed first, and clients get the default certificate in between", t.listener.Port, o.arn, replaced),
					Fix:     "ask AWS for a higher quota of certificates per load balancer; no object has to be changed",
				})
			}
		}
	}
	for _, c := range t.claims {
		switch {
		case c.replacedARN != "":
		case c.refusedByQuota:
			out.BlockedMembers = append(out.BlockedMembers, c.member)
		default: // AWS has not refused the certificate: it is attached and replaces no other certificate
			left = slices.DeleteFunc(left, func(arn string) bool { return arn == c.arn })
		}
	}
	return left
}

// previousNamespace returns the namespace that requested an attached certificate. The result is the namespace of the Secret
// of the certificate, or the only namespace with rules for hosts of the certificate; "" if the namespace is not known.
func (cc *Chooser) previousNamespace(t *certificateClaims, arn string) string {
	if i := slices.IndexFunc(cc.Have.Facts.OwnCertificates, func(c observed.OwnCertificate) bool { return c.ARN == arn }); i >= 0 {
		if namespace, imported := naming.NamespaceOfImport(cc.Have.Facts.OwnCertificates[i].ResourceID); imported {
			return namespace
		}
	}
	if cc.Want.ID.Kind.IsGateway() {
		return ""
	}
	var of []string // "" for a rule or target group whose namespace is not known
	for _, r := range t.live.Rules {
		if !cc.coversAny(arn, model.Rule{Conditions: r.Conditions}.Hosts()) {
			continue
		}
		ids := cc.Retention.TargetGroupIDs(r.Actions)
		if len(ids) == 0 {
			of = append(of, "")
		}
		for _, id := range ids {
			namespace, _, _ := strings.Cut(id, "/")
			of = append(of, namespace)
		}
	}
	if of = equal.SortedUnique(of); len(of) == 1 {
		return of[0]
	}
	return ""
}

// isReplaceable reports whether an attached certificate can be removed, because the certificates in asked cover all of its
// hosts that held members need, or members whose claim has no replacement. The last certificate in asked is the replacement.
func (cc *Chooser) isReplaceable(t *certificateClaims, out resolved.Certificates, arn string, asked []string) bool {
	out.BlockedMembers = slices.Clone(out.BlockedMembers)
	for _, c := range t.claims {
		if c.replacedARN == "" && c.arn != asked[len(asked)-1] {
			out.BlockedMembers = append(out.BlockedMembers, c.member)
		}
	}
	return !slices.Contains(cc.certificatesToRetain(t.listener, t.live, out, asked), arn)
}

// coversAny reports whether a certificate covers at least one of the hosts; false if its domains are not known.
func (cc *Chooser) coversAny(arn string, hosts []string) bool {
	i := slices.IndexFunc(cc.Have.Facts.Certificates, func(c observed.Certificate) bool { return c.ARN == arn })
	return i >= 0 && slices.ContainsFunc(hosts, func(h string) bool { return covers(cc.Have.Facts.Certificates[i], h) })
}

// covers reports whether one of the domains of a certificate covers a host.
func covers(c observed.Certificate, host string) bool {
	return slices.ContainsFunc(c.Domains, func(d string) bool { return plan.DomainCovers(d, host) })
}

// managedHosts returns the hosts of the managed certificate with the id; nil if there is none.
func (cc *Chooser) managedHosts(id string) []string {
	i := slices.IndexFunc(cc.Want.Certificates, func(c model.ManagedCertificate) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return cc.Want.Certificates[i].Hosts
}
