package assemble

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/members"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// The kinds of requested certificates, as they stand in their ids.
const (
	publicCertificate  = "amazon_issued"
	privateCertificate = "private"
)

// RequestCertificate settles whether a member gets a certificate of its own: if it asks for one
// and names none.
func (b *Builder) RequestCertificate(m *members.Member) {
	chosen := m.Set.CreateCertificate
	if m.Lost || !chosen.Or(false) || len(m.Set.Certificates.Value) > 0 {
		return
	}
	if !b.ManageCertificates {
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldOn(m.Ref, chosen.Origin), Reason: finding.FeatureDisabled,
			Message: "certificates are not requested here; existing ones are looked for by host",
			Fix:     "ask the operator for feature gate EnableCertificateManagement, or remove the setting",
		})
		return
	}
	hosts := m.Hosts
	m.Secure = true
	if len(hosts) == 0 {
		m.Blocked = true
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldOn(m.Ref, chosen.Origin), Reason: finding.CertificateMissing,
			Message: "a certificate is to be requested, but there is no host to request it for",
			Fix:     "give the rules hosts", Blocks: finding.BlocksMember,
		})
		return
	}
	ca := cmp.Or(settings.Text(m.Set.CertificateCA).Value, b.DefaultCA)
	kind := publicCertificate
	if ca != "" {
		kind = privateCertificate
	}
	m.Certificate = &model.ManagedCertificate{
		ID: naming.CertificateID(kind, m.Ref, hosts[0]), Member: m.Ref, CA: ca, Domain: hosts[0], Hosts: hosts,
		Tags: Overlay(m.Tags, b.DefaultTags), Of: chosen.Origin,
	}
}

// Requested lists the certificates of all members.
func (b *Builder) Requested() {
	if !b.ManageCertificates {
		return
	}
	for _, m := range b.Members {
		if m.Certificate != nil {
			b.Stack.Certificates = append(b.Stack.Certificates, *m.Certificate)
		}
		b.Stack.Held.Certificates = b.Stack.Held.Certificates || m.Lost || m.Secure && m.Certificate == nil
	}
	slices.SortFunc(b.Stack.Certificates, func(a, b model.ManagedCertificate) int { return cmp.Compare(a.ID, b.ID) })
}

// certificates are a member's contribution to a secure listener.
func certificates(m *members.Member) model.CertChoice {
	if c := m.Set.Certificates; len(c.Value) > 0 {
		return model.CertARNs{Member: m.Ref, ARNs: c.Value, Field: members.FieldOn(m.Ref, c.Origin)}
	}
	if m.Certificate != nil {
		return model.CertManaged{Member: m.Ref, ID: m.Certificate.ID}
	}
	if len(m.Hosts) > 0 {
		return model.CertHosts{Member: m.Ref, Hosts: m.Hosts, Fields: m.HostFields}
	}
	return nil
}
