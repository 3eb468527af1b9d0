package certificates

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// When AWS takes no further certificate on a load balancer, a new one takes the place of a live one of its listener that
// nobody asks for any more: that is removed just before. One for which there is no such place is left out.

// certificateClaim is a certificate that a member asks for and for which AWS has no room.
type certificateClaim struct {
	member finding.Ref
	arn    string
	hosts  []string
	place  string // the live certificate that it takes the place of, "" if there is none
}

// certificateTurn collects what the members of a listener ask for.
type certificateTurn struct {
	l      model.Listener
	live   *observed.Listener
	claims []certificateClaim
	shares map[string]draft.Share // of namespaces, in certificates that are attached
}

// takes reports whether a certificate of a member is one of those that the listener is to have, as far as AWS takes it.
func (t *certificateTurn) takes(member finding.Ref, arn string, hosts []string) bool {
	switch {
	case t.live != nil && (t.live.Certificate == arn || slices.Contains(t.live.Certificates, arn)):
		of := t.shares[member.Namespace]
		of.Stays++
		t.shares[member.Namespace] = of
	case slices.Contains(t.l.TLS.Refused, arn):
		return false
	case slices.Contains(t.l.TLS.NoRoom, arn):
		t.claims = append(t.claims, certificateClaim{member: member, arn: arn, hosts: t.hostsOf(member, hosts)})
	}
	return true
}

// hostsOf are the hosts of a member on the listener, besides those that are known already. Those of a Gateway are those of
// all its routes.
func (t *certificateTurn) hostsOf(member finding.Ref, hosts []string) []string {
	out := slices.Clone(hosts)
	for _, r := range t.l.Rules {
		if r.Member == member || member.Kind == "Gateway" && len(hosts) == 0 {
			out = append(out, r.Hosts()...)
		}
	}
	return equal.SortedUnique(out)
}

// place gives places to the claims of a listener, and returns those that stay without. all are the certificates that are
// asked for. What a claim without a place keeps for the hosts of its member is nobody's place.
func (cc *Choice) place(t *certificateTurn, out *resolved.Certificates, all []string) (left []string) {
	var free, has, claimants []string
	for _, c := range t.claims {
		left, claimants = append(left, c.arn), append(claimants, c.member.Namespace)
	}
	if t.live != nil {
		free = slices.DeleteFunc(slices.Clone(t.live.Certificates), func(arn string) bool {
			return slices.Contains(all, arn) || slices.Contains(out.NotOwned, arn)
		})
	}
	if len(left) > 0 && len(free) > 0 && !cc.Have.Facts.CertificatesAsked && cc.Unavailable(model.AskCertificates{}) == nil {
		cc.Ask(model.AskCertificates{})
	}
	for _, arn := range all {
		if !slices.Contains(left, arn) {
			has = append(has, arn)
		}
	}
	related := func(c *certificateClaim, arn string) bool {
		return slices.ContainsFunc(t.claims, func(o certificateClaim) bool {
			return o.member.Namespace == c.member.Namespace && cc.coversAny(arn, o.hosts)
		})
	}
	for _, fits := range []func(c *certificateClaim, arn string) bool{
		func(c *certificateClaim, arn string) bool { return cc.coversAny(arn, c.hosts) },
		related,
		func(*certificateClaim, string) bool { return true },
	} {
		for _, n := range draft.InTurn(t.shares, claimants) {
			c := &t.claims[n]
			at := slices.IndexFunc(free, func(arn string) bool { return fits(c, arn) && cc.open(t, *out, arn, append(slices.Clone(has), c.arn)) })
			if c.place != "" || at < 0 {
				continue
			}
			c.place = free[at]
			has, free = append(has, c.arn), slices.Delete(free, at, at+1)
			left = slices.DeleteFunc(left, func(arn string) bool { return arn == c.arn })
			if out.Places == nil {
				out.Places = map[string]string{}
			}
			out.Places[c.place] = c.arn
			cc.Found.Add(finding.Finding{
				Object: c.member, Reason: finding.QuotaReached, Severity: finding.Warning, Port: t.l.Port, Blocks: finding.BlocksNothing,
				Message: fmt.Sprintf("port %d: AWS has no room for certificate %q besides %q, which it replaces; that is removed just before, and clients in between get the default certificate", t.l.Port, c.arn, c.place),
				Fix:     "ask AWS for a higher quota of certificates for each load balancer; no object has to be changed",
			})
		}
	}
	for _, c := range t.claims {
		if c.place == "" {
			out.Blocked = append(out.Blocked, c.member)
		}
	}
	return left
}

// open reports whether a live certificate serves no host of those that are held, or have no place yet, which asked do not
// serve as well.
func (cc *Choice) open(t *certificateTurn, out resolved.Certificates, arn string, asked []string) bool {
	out.Blocked = slices.Clone(out.Blocked)
	for _, c := range t.claims {
		if c.place == "" && c.arn != asked[len(asked)-1] {
			out.Blocked = append(out.Blocked, c.member)
		}
	}
	return !slices.Contains(cc.keptCertificates(t.l, t.live, out, asked), arn)
}

// coversAny reports whether a certificate is known to cover one of the hosts.
func (cc *Choice) coversAny(arn string, hosts []string) bool {
	i := slices.IndexFunc(cc.Have.Facts.Certificates, func(c observed.Certificate) bool { return c.ARN == arn })
	return i >= 0 && slices.ContainsFunc(hosts, func(h string) bool {
		return slices.ContainsFunc(cc.Have.Facts.Certificates[i].Domains, func(d string) bool { return d == h || plan.Covers(d, h) })
	})
}

// managedHosts are the hosts of a certificate that is requested or imported.
func (cc *Choice) managedHosts(id string) []string {
	i := slices.IndexFunc(cc.Want.Certificates, func(c model.ManagedCertificate) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return cc.Want.Certificates[i].Hosts
}
