package ingress

import (
	"cmp"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// The kinds of requested certificates, as they stand in their ids.
const (
	publicCertificate  = "amazon_issued"
	privateCertificate = "private"
)

// requestCertificate settles whether a member gets a certificate of its own: if it asks for one
// and names none.
func (t *translation) requestCertificate(m *member) {
	wish := m.set.CreateCertificate
	if m.lost || !wish.Or(false) || len(m.set.Certificates.Value) > 0 {
		return
	}
	if !t.opt.ManageCertificates {
		t.found.Add(finding.Finding{
			Object: m.ref, Field: fieldOn(m.ref, wish.Origin), Reason: finding.FeatureDisabled,
			Message: "certificates are not requested here; existing ones are looked for by host",
			Fix:     "ask the operator for feature gate EnableCertificateManagement, or remove the setting",
		})
		return
	}
	hosts := hostsOf(m.ing)
	m.secure = true
	if len(hosts) == 0 {
		m.blocked = true
		t.found.Add(finding.Finding{
			Object: m.ref, Field: fieldOn(m.ref, wish.Origin), Reason: finding.CertificateMissing,
			Message: "a certificate is to be requested, but there is no host to request it for",
			Fix:     "give the rules hosts", Blocks: finding.BlocksMember,
		})
		return
	}
	ca := cmp.Or(written(m.set.CertificateCA).Value, t.opt.DefaultCA)
	kind := publicCertificate
	if ca != "" {
		kind = privateCertificate
	}
	m.certificate = &model.ManagedCertificate{
		ID: naming.CertificateID(kind, m.ref, hosts[0]), Member: m.ref, CA: ca, Domain: hosts[0], Hosts: hosts,
		Tags: assemble.Overlay(m.tags, t.opt.DefaultTags), Of: wish.Origin,
	}
}

// requested lists the certificates of all members.
func (t *translation) requested() {
	if !t.opt.ManageCertificates {
		return
	}
	for _, m := range t.members {
		if m.certificate != nil {
			t.stack.Certificates = append(t.stack.Certificates, *m.certificate)
		}
		t.stack.Held.Certificates = t.stack.Held.Certificates || m.lost || m.secure && m.certificate == nil
	}
	slices.SortFunc(t.stack.Certificates, func(a, b model.ManagedCertificate) int { return cmp.Compare(a.ID, b.ID) })
}

// certificates are a member's contribution to a secure listener.
func certificates(m *member) model.CertChoice {
	if c := m.set.Certificates; len(c.Value) > 0 {
		return model.CertARNs{Member: m.ref, ARNs: c.Value, Field: fieldOn(m.ref, c.Origin)}
	}
	if m.certificate != nil {
		return model.CertManaged{Member: m.ref, ID: m.certificate.ID}
	}
	if hosts := hostsOf(m.ing); len(hosts) > 0 {
		return model.CertHosts{Member: m.ref, Hosts: hosts, Fields: hostFields(m.ing, hosts)}
	}
	return nil
}

// hostFields are the first fields of an Ingress that name the hosts, in their order.
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

// defaultPorts are the ports of a member that names none.
func defaultPorts(m *member) []settings.ListenPort {
	if len(m.set.Certificates.Value) > 0 || m.secure {
		return []settings.ListenPort{{Port: 443, TLS: true}}
	}
	return []settings.ListenPort{{Port: 80}}
}
