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
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// When AWS takes no further certificate on a load balancer, a new one takes the place of a live one of its listener that
// no member asks for any more: that is removed just before. One that a namespace does not ask for any more is that
// namespace's to replace. One for which there is no such place is left out.

// certificateClaim is a certificate that a member asks for while AWS has no room for all of them.
type certificateClaim struct {
	member  finding.Ref
	arn     string
	hosts   []string
	refused bool   // AWS has refused it for lack of room
	place   string // the live certificate that it takes the place of, "" if there is none
}

// certificateTurn collects what the members of a listener ask for.
type certificateTurn struct {
	l      model.Listener
	live   *observed.Listener
	claims []certificateClaim
	shares map[string]draft.Share // of namespaces, in certificates that are attached
}

// takesPlace reports whether a certificate of a member is one of those that the listener is to have, as far as AWS
// takes it.
func (t *certificateTurn) takesPlace(member finding.Ref, arn string, hosts []string) bool {
	switch {
	case t.live != nil && (t.live.Certificate == arn || slices.Contains(t.live.Certificates, arn)):
		of := t.shares[member.Namespace]
		of.Staying++
		t.shares[member.Namespace] = of
	case slices.Contains(t.l.TLS.Refused, arn):
		return false
	case len(t.l.TLS.NoRoom) > 0:
		// One that is not refused yet is among them, so that its namespace keeps its place while its rules change as well.
		t.claims = append(t.claims, certificateClaim{member: member, arn: arn, hosts: t.hostsOf(member, hosts), refused: slices.Contains(t.l.TLS.NoRoom, arn)})
	}
	return true
}

// hostsOf returns the hosts of a member on the listener, besides those that are known already. Those of a Gateway are
// those of all its routes.
func (t *certificateTurn) hostsOf(member finding.Ref, hosts []string) []string {
	out := slices.Clone(hosts)
	for _, r := range t.l.Rules {
		if r.Member == member || member.Kind == "Gateway" && len(hosts) == 0 {
			out = append(out, r.Hosts()...)
		}
	}
	return equal.SortedUnique(out)
}

// assignPlaces gives places to the claims of a listener, and returns those that stay without. all are the certificates
// that are asked for. What a claim without a place keeps for the hosts of its member is the place of no namespace.
func (cc *Choice) assignPlaces(t *certificateTurn, out *resolved.Certificates, all []string) (left []string) {
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
	owners := map[string]string{} // of free places, as far as they are known
	for _, arn := range free {
		if n := cc.previousNamespace(t, arn); n != "" {
			owners[arn] = n
			of := t.shares[n]
			of.Leaving++
			t.shares[n] = of
		}
	}
	related := func(c *certificateClaim, arn string) bool {
		return owners[arn] == c.member.Namespace || slices.ContainsFunc(t.claims, func(o certificateClaim) bool {
			return o.member.Namespace == c.member.Namespace && cc.coversAny(arn, o.hosts)
		})
	}
	reserved := func(c *certificateClaim, arn string) bool { // for another namespace
		return owners[arn] != "" && owners[arn] != c.member.Namespace && slices.ContainsFunc(t.claims, func(o certificateClaim) bool {
			return o.place == "" && o.member.Namespace == owners[arn]
		})
	}
	for _, fits := range []func(c *certificateClaim, arn string) bool{
		func(c *certificateClaim, arn string) bool { return cc.coversAny(arn, c.hosts) },
		related,
		func(*certificateClaim, string) bool { return true },
	} {
		for _, n := range draft.OrderClaims(t.shares, claimants) {
			c := &t.claims[n]
			at := slices.IndexFunc(free, func(arn string) bool {
				return fits(c, arn) && !reserved(c, arn) && cc.isReplaceable(t, *out, arn, append(slices.Clone(has), c.arn))
			})
			if c.place != "" || at < 0 {
				continue
			}
			c.place = free[at]
			has, free = append(has, c.arn), slices.Delete(free, at, at+1)
			left = slices.DeleteFunc(left, func(arn string) bool { return arn == c.arn })
			if out.ReplacedBy == nil {
				out.ReplacedBy = map[string]string{}
			}
			out.ReplacedBy[c.place] = c.arn
			cc.Findings.Add(finding.Finding{
				Object: c.member, Reason: finding.QuotaReached, Severity: finding.Warning, Port: t.l.Port, Blocks: finding.BlocksNothing,
				Message: fmt.Sprintf("port %d: AWS has no room for certificate %q besides %q, which it replaces; that is removed just before, and clients in between get the default certificate", t.l.Port, c.arn, c.place),
				Fix:     "ask AWS for a higher quota of certificates for each load balancer; no object has to be changed",
			})
		}
	}
	for _, c := range t.claims {
		switch {
		case c.place != "":
		case c.refused:
			out.Blocked = append(out.Blocked, c.member)
		default: // it is tried
			left = slices.DeleteFunc(left, func(arn string) bool { return arn == c.arn })
		}
	}
	return left
}

// previousNamespace returns the namespace of the Secret of a live certificate, or the one whose rules alone
// have hosts of it; "" if it is not known.
func (cc *Choice) previousNamespace(t *certificateTurn, arn string) string {
	if i := slices.IndexFunc(cc.Have.Facts.OwnCertificates, func(c observed.OwnCertificate) bool { return c.ARN == arn }); i >= 0 {
		if namespace, imported := naming.NamespaceOfImport(cc.Have.Facts.OwnCertificates[i].ResourceID); imported {
			return namespace
		}
	}
	var of []string
	for _, r := range t.live.Rules {
		if cc.coversAny(arn, model.Rule{Conditions: r.Conditions}.Hosts()) {
			of = append(of, cc.namespacesOf(r.Actions)...)
		}
	}
	if of = equal.SortedUnique(of); len(of) == 1 {
		return of[0]
	}
	return ""
}

// namespacesOf returns the namespaces of the target groups to which live actions forward; "" stands for one that is not
// known.
func (cc *Choice) namespacesOf(actions []model.Action) []string {
	to := equal.ForwardOf(actions)
	if to == nil || cc.Want.ID.Kind.OfGateway() {
		return []string{""}
	}
	var out []string
	for _, g := range to.Groups {
		namespace := ""
		for _, h := range cc.Have.TargetGroups {
			if h.ARN == g.Group.ARN {
				namespace, _, _ = strings.Cut(h.ResourceID, "/")
			}
		}
		out = append(out, namespace)
	}
	return out
}

// isReplaceable reports whether a live certificate serves no host of those that are held, or have no place yet, which
// asked do not serve as well.
func (cc *Choice) isReplaceable(t *certificateTurn, out resolved.Certificates, arn string, asked []string) bool {
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
		return slices.ContainsFunc(cc.Have.Facts.Certificates[i].Domains, func(d string) bool { return plan.DomainCovers(d, h) })
	})
}

// managedHosts returns the hosts of a certificate that is requested or imported.
func (cc *Choice) managedHosts(id string) []string {
	i := slices.IndexFunc(cc.Want.Certificates, func(c model.ManagedCertificate) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return cc.Want.Certificates[i].Hosts
}
