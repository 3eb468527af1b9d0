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

// hostFields returns the first fields of an Ingress that name the hosts, in their order.
func hostFields(ing *networkingv1.Ingress, hosts []string) []string {
	first := map[string]string{}
	note := func(host, field string) {
		if _, known := first[host]; !known {
			first[host] = field
		}
	}
	for i, r := range ing.Spec.Rules {
		note(r.Host, fmt.Sprintf("spec.rules[%d].host", i))
	}
	for i, s := range ing.Spec.TLS {
		for j, h := range s.Hosts {
			note(h, fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j))
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

// defaultPorts returns the ports of a member that names none. TLS Secrets come on top of what is served without
// them.
func (t certificateBuilder) defaultPorts(m *member) []settings.ListenPort {
	if len(m.set.Certificates.Value) > 0 || m.RequestsCertificate {
		return []settings.ListenPort{{Port: securePort, TLS: true}}
	}
	if held := t.heldCertificates().Requests(securePort, m.Member); len(held) > 0 {
		m.HoldCertificates(securePort, held, members.FieldOn(m.Ref, m.set.CreateCertificate.Origin))
		m.ImportedNames = m.Hosts // none is looked for
		return []settings.ListenPort{{Port: securePort, TLS: true}}
	}
	ports := []settings.ListenPort{{Port: 80}}
	if t.opt.ImportCertificates && len(t.tlsSecrets(m)) > 0 || t.holdsImports(m) {
		ports = append(ports, settings.ListenPort{Port: securePort, TLS: true})
	}
	return ports
}

// securePort is the port of a member that names no ports and has a certificate.
const securePort = 443

// holdsImports reports whether a member that names no ports keeps the one that it has for the certificates of TLS
// Secrets, while these are not imported.
func (t certificateBuilder) holdsImports(m *member) bool {
	secrets, of := t.tlsSecrets(m), t.heldCertificates()
	held := of.Imports(securePort, secrets)
	if len(held.ARNs) == 0 && held.Fault != nil && of.ServesOn(securePort, m.Member) {
		of.ReportUnavailable(securePort, secrets[0], *held.Fault)
		m.HoldCertificates(securePort, held.Unavailable, secrets[0].By.Field)
		m.ImportedNames = append(m.ImportedNames, held.Names...)
		return true
	}
	return len(held.ARNs) > 0
}

// secretsFlag is what --import-tls-secrets calls Ingresses.
const secretsFlag = "ingress"

// heldCertificates finds what is held while a flag is missing.
func (t certificateBuilder) heldCertificates() assemble.HeldCertificates {
	return assemble.NewHeldCertificates(&t.Builder, secretsFlag, t.namesCertificate)
}

// namesCertificate reports whether a member names a certificate by ARN.
func (t certificateBuilder) namesCertificate(arn string) bool {
	return slices.ContainsFunc(t.Members, func(m *members.Member) bool { return slices.Contains(m.Set.Certificates.Value, arn) })
}

// namesSecret reports whether spec.tls names a Secret.
func namesSecret(ing *networkingv1.Ingress) bool {
	return slices.ContainsFunc(ing.Spec.TLS, func(s networkingv1.IngressTLS) bool { return s.SecretName != "" })
}

// reportNoTLS reports a member that asks for TLS in spec.tls alone, which brings no HTTPS listener about. Who names its ports
// has chosen.
func (t certificateBuilder) reportNoTLS(m *member) {
	if m.Undetermined || m.set.ListenPorts.Set || len(m.ing.Spec.TLS) == 0 || slices.ContainsFunc(m.Ports, func(p settings.ListenPort) bool { return p.TLS }) {
		return
	}
	f := finding.Finding{
		Object: m.Ref, Field: "spec.tls", Reason: finding.TLSNotServed, Severity: finding.Warning,
		Message: "spec.tls adds no HTTPS port; the Ingress is served over HTTP alone",
		Fix:     "set " + naming.SettingName(t.ID.Kind, "certificate-arn") + " to a certificate in ACM, or " + naming.SettingName(t.ID.Kind, "listen-ports") + ` to [{"HTTP": 80}, {"HTTPS": 443}] to have certificates in ACM found by host`,
	}
	if i := slices.IndexFunc(m.ing.Spec.TLS, func(s networkingv1.IngressTLS) bool { return s.SecretName != "" }); i >= 0 && !t.opt.ImportCertificates {
		f.Field = fmt.Sprintf("spec.tls[%d].secretName", i)
		f.Message = fmt.Sprintf("Secret %q is not used, because --import-tls-secrets is off, so that spec.tls adds no HTTPS port; the Ingress is served over HTTP alone",
			m.Ref.Namespace+"/"+finding.Cut(m.ing.Spec.TLS[i].SecretName))
		f.Fix += ", or ask the operator for --import-tls-secrets=ingress"
	}
	t.Found.Add(f)
}

// tlsSecrets returns the Secrets in spec.tls whose certificates may be imported: those of a member that names
// no certificate and does not request one.
func (t certificateBuilder) tlsSecrets(m *member) []assemble.TLSSecret {
	if m.set.Certificates.Fault != nil || len(m.set.Certificates.Value) > 0 || m.RequestsCertificate || m.Undetermined {
		return nil
	}
	var out []assemble.TLSSecret
	for i, s := range m.ing.Spec.TLS {
		if s.SecretName != "" {
			out = append(out, assemble.TLSSecret{
				Namespace: m.Ref.Namespace, Name: s.SecretName, Hosts: s.Hosts,
				By: finding.Origin{Object: m.Ref, Field: fmt.Sprintf("spec.tls[%d].secretName", i)},
			})
		}
	}
	return out
}

// importCertificates imports the certificates of a member that serves TLS, or holds what was imported.
func (t certificateBuilder) importCertificates(m *member) {
	if slices.ContainsFunc(m.Ports, func(p settings.ListenPort) bool { return p.TLS }) {
		secrets := t.tlsSecrets(m)
		if len(secrets) == 0 {
			return
		}
		if !t.opt.ImportCertificates {
			t.holdImports(m, secrets)
			return
		}
		claims, rank := t.claims()
		for i := range secrets {
			secrets[i].Rank = rank[m]
		}
		assemble.ImportTLSSecrets(&t.Builder, m.Member, secrets, claims, authBuilder(t).secret)
	}
}

// holdImports holds what was imported from Secrets.
func (t certificateBuilder) holdImports(m *member, secrets []assemble.TLSSecret) {
	for _, p := range m.Ports {
		if !p.TLS {
			continue
		}
		if held := t.heldCertificates().Imports(p.Port, secrets); len(held.ARNs) > 0 {
			m.HoldCertificates(p.Port, held.ARNs, secrets[0].By.Field)
			m.ImportedNames = append(m.ImportedNames, held.Names...)
		}
	}
}

// claims returns the hosts of all members, and the places of the members by age.
func (t certificateBuilder) claims() (*assemble.HostClaims, map[*member]int) {
	if t.hosts != nil {
		return t.hosts, t.ages
	}
	t.hosts, t.ages = &assemble.HostClaims{}, map[*member]int{}
	for i, m := range slices.SortedStableFunc(slices.Values(t.ingresses), func(a, b *member) int {
		switch {
		case members.IsOlder(a.Member, b.Member):
			return -1
		case members.IsOlder(b.Member, a.Member):
			return 1
		}
		return 0
	}) {
		t.ages[m] = i
		for _, h := range hostsOf(m.ing) {
			t.hosts.Add(h, m.Ref, i)
		}
	}
	return t.hosts, t.ages
}
