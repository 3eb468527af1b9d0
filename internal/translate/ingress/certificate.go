package ingress

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// hostFields returns, for each of the hosts, the first field of an Ingress in which the host occurs.
func hostFields(ing *networkingv1.Ingress, hosts []string) []string {
	first := map[string]string{}
	add := func(host, field string) {
		if _, known := first[host]; !known {
			first[host] = field
		}
	}
	for i, r := range ing.Spec.Rules {
		add(r.Host, fmt.Sprintf("spec.rules[%d].host", i))
	}
	for i, s := range ing.Spec.TLS {
		for j, h := range s.Hosts {
			add(h, fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j))
		}
	}
	out := make([]string, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, first[h])
	}
	return out
}

// certificateBuilder builds the certificates of listeners.
type certificateBuilder struct{ *translation }

// defaultPorts returns the ports of a member without annotation listen-ports: HTTP port 80 by default. TLS Secrets add an
// HTTPS port. A certificate that the member names or requests replaces the HTTP port by the HTTPS port.
func (t certificateBuilder) defaultPorts(m *member) []settings.ListenPort {
	if len(m.set.Certificates.Value) > 0 || m.RequestsCertificate {
		return []settings.ListenPort{{Port: defaultHTTPSPort, TLS: true}}
	}
	if held := t.heldCertificates().HeldRequests(defaultHTTPSPort, m.Member); len(held) > 0 {
		m.HoldCertificates(defaultHTTPSPort, held, members.FieldForObject(m.Ref, m.set.CreateCertificate.Origin))
		m.ImportedNames = m.Hosts // so that no certificate is searched by host
		return []settings.ListenPort{{Port: defaultHTTPSPort, TLS: true}}
	}
	ports := []settings.ListenPort{{Port: 80}}
	if t.opt.ImportCertificates && len(t.tlsSecrets(m)) > 0 || t.shouldRetainHTTPSPort(m) {
		ports = append(ports, settings.ListenPort{Port: defaultHTTPSPort, TLS: true})
	}
	return ports
}

// defaultHTTPSPort is the HTTPS port of a member with a certificate and without annotation listen-ports.
const defaultHTTPSPort = 443

// shouldRetainHTTPSPort reports whether a member without annotation listen-ports keeps its HTTPS port although TLS Secrets
// are no longer imported. It keeps the port if the listener has, or may have, certificates that were imported from its TLS
// Secrets.
func (t certificateBuilder) shouldRetainHTTPSPort(m *member) bool {
	secrets, of := t.tlsSecrets(m), t.heldCertificates()
	held := of.HeldImports(defaultHTTPSPort, secrets)
	if len(held.ARNs) == 0 && held.Fault != nil && of.ServesOn(defaultHTTPSPort, m.Member) {
		of.ReportUnavailable(defaultHTTPSPort, secrets[0], *held.Fault)
		m.HoldCertificates(defaultHTTPSPort, held.Unavailable, secrets[0].ReferencedAt.Field)
		m.ImportedNames = append(m.ImportedNames, held.Names...)
		return true
	}
	return len(held.ARNs) > 0
}

// importFlagValue is the value of --import-tls-secrets that enables the import of certificates for Ingresses.
const importFlagValue = "ingress"

// heldCertificates returns the HeldCertificates of the stack. It finds the certificates that are held because a flag is no
// longer set.
func (t certificateBuilder) heldCertificates() assemble.HeldCertificates {
	return assemble.NewHeldCertificates(&t.Builder, importFlagValue, t.referencesCertificate)
}

// referencesCertificate reports whether a member names a certificate by ARN.
func (t certificateBuilder) referencesCertificate(arn string) bool {
	return slices.ContainsFunc(t.Members, func(m *members.Member) bool { return slices.Contains(m.Set.Certificates.Value, arn) })
}

// referencesTLSSecret reports whether spec.tls of an Ingress names a Secret.
func referencesTLSSecret(ing *networkingv1.Ingress) bool {
	return slices.ContainsFunc(ing.Spec.TLS, func(s networkingv1.IngressTLS) bool { return s.SecretName != "" })
}

// reportTLSWithoutListener reports a member that sets spec.tls but gets no HTTPS listener, because spec.tls alone adds none.
// A member with annotation listen-ports is not reported.
func (t certificateBuilder) reportTLSWithoutListener(m *member) {
	if m.Undetermined || m.set.ListenPorts.Set || len(m.ing.Spec.TLS) == 0 || slices.ContainsFunc(m.Ports, func(p settings.ListenPort) bool { return p.TLS }) {
		return
	}
	f := finding.Finding{
		Object: m.Ref, Field: "spec.tls", Reason: finding.TLSNotServed, Severity: finding.Warning,
		Message: "spec.tls adds no HTTPS port; the Ingress is served only over HTTP",
		Fix:     "set " + naming.SettingName(t.ID.Kind, "certificate-arn") + " to a certificate in ACM, or " + naming.SettingName(t.ID.Kind, "listen-ports") + ` to [{"HTTP": 80}, {"HTTPS": 443}] to have certificates in ACM found by host`,
	}
	if i := slices.IndexFunc(m.ing.Spec.TLS, func(s networkingv1.IngressTLS) bool { return s.SecretName != "" }); i >= 0 && !t.opt.ImportCertificates {
		f.Field = fmt.Sprintf("spec.tls[%d].secretName", i)
		f.Message = fmt.Sprintf("Secret %q is not used, because --import-tls-secrets is off, so spec.tls adds no HTTPS port; the Ingress is served only over HTTP",
			m.Ref.Namespace+"/"+finding.TruncateValue(m.ing.Spec.TLS[i].SecretName))
		f.Fix += ", or ask the operator for --import-tls-secrets=ingress"
	}
	t.Found.Add(f)
}

// tlsSecrets returns the Secrets in spec.tls whose certificates are to be imported. There are none for a member that names a
// certificate of ACM or requests one.
func (t certificateBuilder) tlsSecrets(m *member) []assemble.TLSSecret {
	if m.set.Certificates.Fault != nil || len(m.set.Certificates.Value) > 0 || m.RequestsCertificate || m.Undetermined {
		return nil
	}
	var out []assemble.TLSSecret
	for i, s := range m.ing.Spec.TLS {
		if s.SecretName != "" {
			out = append(out, assemble.TLSSecret{
				Namespace: m.Ref.Namespace, Name: s.SecretName, Hosts: s.Hosts,
				ReferencedAt: finding.Origin{Object: m.Ref, Field: fmt.Sprintf("spec.tls[%d].secretName", i)},
			})
		}
	}
	return out
}

// importCertificates adds the certificates of TLS Secrets to a member with an HTTPS port. If TLS Secrets are not imported,
// it holds the certificates that were imported before.
func (t certificateBuilder) importCertificates(m *member) {
	if slices.ContainsFunc(m.Ports, func(p settings.ListenPort) bool { return p.TLS }) {
		secrets := t.tlsSecrets(m)
		if len(secrets) == 0 {
			return
		}
		if !t.opt.ImportCertificates {
			t.holdImportedCertificates(m, secrets)
			return
		}
		claims, rank := t.certificateHostClaims()
		for i := range secrets {
			secrets[i].Rank = rank[m]
		}
		assemble.ImportTLSSecrets(&t.Builder, m.Member, secrets, claims, authBuilder(t).readSecret)
	}
}

// holdImportedCertificates holds the existing certificates that were imported from the Secrets of a member, on each of its
// HTTPS ports.
func (t certificateBuilder) holdImportedCertificates(m *member, secrets []assemble.TLSSecret) {
	for _, p := range m.Ports {
		if !p.TLS {
			continue
		}
		if held := t.heldCertificates().HeldImports(p.Port, secrets); len(held.ARNs) > 0 {
			m.HoldCertificates(p.Port, held.ARNs, secrets[0].ReferencedAt.Field)
			m.ImportedNames = append(m.ImportedNames, held.Names...)
		}
	}
}

// certificateHostClaims returns the hosts that all members claim, and the rank of each member by age; the oldest member has
// rank 0. The first call computes them.
func (t certificateBuilder) certificateHostClaims() (*assemble.HostClaims, map[*member]int) {
	if t.claimedHosts != nil {
		return t.claimedHosts, t.ageRank
	}
	t.claimedHosts, t.ageRank = &assemble.HostClaims{}, map[*member]int{}
	for i, m := range slices.SortedStableFunc(slices.Values(t.ingresses), func(a, b *member) int { return members.CompareAge(a.Member, b.Member) }) {
		t.ageRank[m] = i
		for _, h := range certificateHosts(m.ing) {
			t.claimedHosts.Add(h, m.Ref, i)
		}
	}
	return t.claimedHosts, t.ageRank
}
