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
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// Chooser chooses the certificates of listeners, among them the managed certificates of the stack.
type Chooser struct {
	*Managed
	// Retention determines which observed rules are retained.
	Retention *owners.Retention
}

// Resolve chooses the certificates of a listener. The default certificate is the first certificate of a member (see
// defaultCertificate). The default certificate is also added to the certificate list, because AWS chooses by key type only
// among the certificates in the list. An attached certificate for hosts of held members is retained unless another
// certificate covers these hosts.
func (cc *Chooser) Resolve(l model.Listener, live *observed.Listener) resolved.Certificates {
	var out resolved.Certificates
	var all []string
	var choices [][]string   // certificates of each member, in the order of the members
	var lacking finding.List // findings about missing certificates; the effect on the member is added to their messages at the end
	claims := certificateClaims{listener: l, live: live, shares: plan.Shares{}}
	if live != nil && live.Protocol == l.Protocol() {
		if f := cc.ReadFault(model.AskListenerCertificates{ARN: live.ARN}); f != nil {
			for _, c := range l.TLS.Certificates {
				if given, ok := c.(model.CertARNs); ok && !slices.ContainsFunc(given.ARNs, func(arn string) bool { return arn != live.Certificate }) {
					continue // the attached certificate is the desired certificate
				}
				cc.retainAttachedCertificates(&out, l, live, c, *f)
			}
			out.Default, out.AttachedUnavailable = live.Certificate, true
			return out
		}
	}
	for _, c := range l.TLS.Certificates {
		before := len(all)
		switch c := c.(type) {
		case model.CertARNs:
			for _, arn := range c.ARNs {
				if cc.isCertificateMissing(arn, live) {
					out.BlockedMembers = append(out.BlockedMembers, c.Member)
					lacking.Add(finding.Finding{
						Object: c.Member, Field: c.Field, Reason: finding.CertificateNotFound,
						Message: fmt.Sprintf("certificate %q does not exist in ACM", arn),
						Fix:     "correct the ARN, or request or import the certificate", Blocks: finding.BlocksMember,
					})
					continue
				}
				if !claims.admitCertificate(c.Member, arn, nil) {
					out.BlockedMembers = append(out.BlockedMembers, c.Member)
					continue
				}
				all = append(all, arn)
			}
			how := resolved.CertificateNamed
			if c.Live {
				how = resolved.CertificateKept
			}
			out.Sources = append(out.Sources, resolved.CertificateSource{Member: c.Member, Field: c.Field, Search: how, ARNs: slices.Clone(all[before:])})
		case model.CertManaged:
			if f := cc.ReadFault(model.AskOwnCertificates{}); f != nil {
				cc.retainAttachedCertificates(&out, l, live, c, *f)
				continue
			}
			for _, id := range c.IDs {
				if arn := cc.managedARNs[id]; arn != "" && claims.admitCertificate(c.Member, arn, cc.managedHosts(id)) {
					all = append(all, arn)
				}
				out.ImportPending = out.ImportPending || live == nil && cc.importingIDs[id]
			}
			if len(all) == before {
				out.BlockedMembers = append(out.BlockedMembers, c.Member)
			}
			out.Sources = append(out.Sources, resolved.CertificateSource{Member: c.Member, Search: resolved.CertificateManaged, ARNs: slices.Clone(all[before:])})
		case model.CertHosts:
			if f := cc.ReadFault(model.AskCertificates{}); f != nil {
				cc.retainAttachedCertificates(&out, l, live, c, *f)
				continue
			}
			of := cc.discoverCertificates(c, live)
			if of.unavailable != nil {
				cc.retainAttachedCertificates(&out, l, live, c, *of.unavailable)
				continue
			}
			out.Sources, out.NotOwnedARNs = append(out.Sources, of.sources...), append(out.NotOwnedARNs, of.notOwned...)
			for _, host := range of.missingHosts {
				lacking.Add(finding.Finding{
					Object: c.Member, Field: c.Field(host), Reason: finding.CertificateNotFound,
					Message: fmt.Sprintf("no issued certificate in ACM covers host %q", host),
					Fix:     "request one in ACM, or " + CertificateSourceText(cc.Want.ID, l.TLS), Blocks: finding.BlocksMember,
				})
			}
			if len(of.missingHosts) > 0 {
				out.BlockedMembers = append(out.BlockedMembers, c.Member)
				continue
			}
			for _, arn := range of.arns {
				if !claims.admitCertificate(c.Member, arn, c.Hosts) {
					out.BlockedMembers = append(out.BlockedMembers, c.Member)
					continue
				}
				all = append(all, arn)
			}
		}
		if len(all) > before {
			choices = append(choices, all[before:])
		}
	}
	if left := cc.assignReplacements(&claims, &out, all); len(left) > 0 {
		without := func(arn string) bool { return slices.Contains(left, arn) }
		for i, c := range choices {
			choices[i] = slices.DeleteFunc(slices.Clone(c), without)
		}
		choices = slices.DeleteFunc(choices, func(c []string) bool { return len(c) == 0 })
		all = slices.DeleteFunc(all, without)
	}
	if kept := cc.certificatesToRetain(l, live, out, all); len(kept) > 0 {
		if slices.Contains(kept, live.Certificate) {
			out.Default = live.Certificate
		}
		all = append(all, kept...)
		out.Sources = append(out.Sources, resolved.CertificateSource{Search: resolved.CertificateKept, ARNs: kept})
	}
	if out.ImportPending {
		return resolved.Certificates{ImportPending: true, BlockedMembers: out.BlockedMembers, Unavailable: out.Unavailable, Sources: out.Sources}
	}
	if out.Default == "" && len(all) > 0 {
		first := all[0]
		if cc.Want.ID.Kind.IsGateway() && len(l.TLS.Certificates) > 0 {
			if _, found := l.TLS.Certificates[0].(model.CertHosts); found {
				first = slices.Min(all) // so that all listeners and routes get the same default certificate
			}
		}
		out.Default = defaultCertificate(choices, first, live)
	}
	for _, arn := range all {
		if !slices.Contains(out.List, arn) {
			out.List = append(out.List, arn)
		}
	}
	if len(out.NotOwnedARNs) > 0 && out.Default == "" && !slices.Contains(out.NotOwnedARNs, live.Certificate) {
		out.Default, out.List = live.Certificate, []string{live.Certificate} // only the default certificate is retained
	}
	for _, f := range lacking {
		kept := live
		if out.IsWithdrawn() {
			kept = nil
		}
		f.Message, f.Port = f.Message+"; "+MissingCertificateText(l, kept, out.Default != ""), l.Port
		cc.Findings.Add(f)
	}
	return out
}

// MissingCertificateText returns the end of a message about a certificate that was not found: the effect on the member of
// the listener. made is set if the listener has another certificate.
func MissingCertificateText(l model.Listener, live *observed.Listener, made bool) string {
	switch {
	case live != nil:
		return fmt.Sprintf("the listener on port %d keeps the current certificates of this object", l.Port)
	case made && l.BaseProtocol == model.HTTP:
		return fmt.Sprintf("the rules of this object on port %d are held and answer 503", l.Port)
	}
	return fmt.Sprintf("the listener of port %d is not created", l.Port)
}

// defaultCertificate returns the certificate for clients that send no server name. If a member requests the current default
// certificate, the result is the first certificate of this member, so that a new member does not present its certificate to
// the clients of other members. If no member requests the current default certificate, the result is the parameter first.
func defaultCertificate(choices [][]string, first string, live *observed.Listener) string {
	if live == nil || live.Certificate == "" {
		return first
	}
	for _, c := range choices {
		if c[0] == live.Certificate {
			return live.Certificate
		}
	}
	for _, c := range choices {
		if slices.Contains(c, live.Certificate) {
			return c[0]
		}
	}
	return first
}

// certificatesToRetain returns the attached certificates that no member requests, but that cover hosts of held members. The
// default certificate comes first. A certificate with unknown domains is retained if held members have hosts that no other
// certificate covers. asked has the certificates that members request.
func (cc *Chooser) certificatesToRetain(l model.Listener, live *observed.Listener, certs resolved.Certificates, asked []string) []string {
	if live == nil {
		return nil
	}
	attached := slices.DeleteFunc(append([]string{live.Certificate}, live.Certificates...), func(arn string) bool {
		return arn == "" || slices.Contains(certs.NotOwnedARNs, arn)
	})
	if certs.Unavailable && live.Certificate != "" {
		return attached
	}
	hosts := cc.hostsOfHeldMembers(l, live, certs.BlockedMembers)
	if len(hosts) == 0 {
		return nil
	}
	cc.requestCertificates()
	known := map[string]observed.Certificate{}
	for _, c := range cc.Have.Facts.Certificates {
		known[c.ARN] = c
	}
	hosts = slices.DeleteFunc(hosts, func(h string) bool {
		// Any certificate can be presented for a rule without a host.
		return h == "" && len(asked) > 0 || slices.ContainsFunc(asked, func(arn string) bool { return covers(known[arn], h) })
	})
	var kept []string
	for _, arn := range attached {
		_, isKnown := known[arn]
		serving := slices.ContainsFunc(hosts, func(h string) bool { return h == "" || covers(known[arn], h) })
		if !slices.Contains(asked, arn) && (serving || !isKnown && len(hosts) > 0) {
			kept = append(kept, arn)
		}
	}
	return kept
}

// hostsOfHeldMembers returns the hosts of held members and of retained observed rules on a listener. The result contains ""
// for a rule without a host.
func (cc *Chooser) hostsOfHeldMembers(l model.Listener, live *observed.Listener, blocked []finding.Ref) []string {
	held := map[finding.Ref]bool{}
	for _, ref := range blocked {
		held[ref] = true
	}
	for _, m := range cc.Want.Members {
		if m.Blocked {
			held[m.Ref] = true
		}
	}
	var out []string
	add := func(r model.Rule) {
		hosts := r.Hosts()
		if len(hosts) == 0 {
			hosts = []string{""}
		}
		out = append(out, hosts...)
	}
	for _, r := range l.Rules {
		if held[r.Member] {
			add(r)
		}
	}
	for _, c := range l.TLS.Certificates {
		if c, ok := c.(model.CertHosts); ok && held[c.Member] {
			out = append(out, c.Hosts...)
		}
	}
	if l.DefaultHeld != 0 || held[l.DefaultOf.Object] {
		out = append(out, "")
	}
	if live != nil && len(cc.Want.Held.Members) > 0 {
		for i := range live.Rules {
			if r := &live.Rules[i]; cc.Retention.RetainedMemberOf(live.Port, r) != nil {
				add(model.Rule{Conditions: r.Conditions})
			}
		}
	}
	return equal.SortedUnique(out)
}

// isCertificateMissing reports whether a certificate that a user specified by ARN is known not to exist in ACM. This can be
// known only for the account and region of the controller. A certificate that is attached already is not looked up.
func (cc *Chooser) isCertificateMissing(arn string, live *observed.Listener) bool {
	facts := cc.Have.Facts
	if live.HasCertificate(arn) || !strings.HasPrefix(arn, "arn:") || !strings.Contains(arn, ":acm:") {
		return false
	}
	if cc.requestCertificates(); !facts.CertificatesAsked {
		return false // AWS refuses the listener if the certificate does not exist
	}
	part := strings.SplitN(arn, ":", 6)
	if len(part) < 6 || part[3] != facts.Region || facts.Account != "" && part[4] != facts.Account {
		return false
	}
	return !slices.ContainsFunc(facts.Certificates, func(c observed.Certificate) bool { return c.ARN == arn })
}

// requestCertificates adds the question for the certificates in ACM, unless the certificates are known or cannot be read.
func (cc *Chooser) requestCertificates() {
	if !cc.Have.Facts.CertificatesAsked && cc.ReadFault(model.AskCertificates{}) == nil {
		cc.Ask(model.AskCertificates{})
	}
}

// CertificateSourceText returns a part of the fix of a finding: the setting with which users specify a certificate.
func CertificateSourceText(id model.StackID, tls *model.TLS) string {
	name := naming.SettingName(id.Kind, "certificate-arn")
	way, kind := "set the "+name+" annotation", "ingress"
	if id.Kind.IsGateway() {
		way, kind = "set "+name+" of the port in spec.listenerConfigurations of a LoadBalancerConfiguration of the Gateway", "gateway"
	}
	if tls != nil && tls.NotImported {
		way += ", or ask the operator to set --import-tls-secrets=" + kind + ", without which TLS Secrets are not used"
	}
	return way
}
