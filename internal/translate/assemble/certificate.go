package assemble

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Types of requested certificates, as they appear in resource IDs of certificates.
const (
	publicCertificate  = "amazon_issued"
	privateCertificate = "private"
)

// RequestCertificate sets Certificate of a member with the setting create-acm-cert that names no certificate. If no
// certificate can be requested for such a member, it reports the reason.
func (b *Builder) RequestCertificate(m *members.Member) {
	chosen := m.Set.CreateCertificate
	if m.Undetermined || !chosen.ValueOr(false) || len(m.Set.Certificates.Value) > 0 {
		return
	}
	if !b.ManageCertificates {
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldForObject(m.Ref, chosen.Origin), Reason: finding.FeatureDisabled,
			Message: "the controller does not request certificates; it searches existing certificates by host",
			Fix:     "ask the operator to enable feature gate EnableCertificateManagement, or remove the setting",
		})
		return
	}
	hosts := m.Hosts
	m.RequestsCertificate = true
	if len(hosts) == 0 {
		m.Blocked = true
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldForObject(m.Ref, chosen.Origin), Reason: finding.CertificateMissing,
			Message: fmt.Sprintf("no certificate can be requested, because there is no host; the existing rules of the %s stay unchanged", m.Ref.Kind),
			Fix:     "add hosts to the rules", Blocks: finding.BlocksMember,
		})
		return
	}
	ca := cmp.Or(settings.UnsetIfEmpty(m.Set.CertificateCA).Value, b.DefaultCA)
	kind := publicCertificate
	if ca != "" {
		kind = privateCertificate
	}
	m.Certificate = &model.ManagedCertificate{
		ID: naming.CertificateID(kind, m.Ref, hosts[0]), Member: m.Ref, CA: ca, Domain: mainDomain(hosts), Hosts: hosts,
		Tags: MergeMaps(m.Tags, b.DefaultTags), Of: chosen.Origin,
	}
}

// mainDomain returns the host that becomes the common name of a requested certificate. It is the first host that ACM accepts
// as common name, which has at most 64 characters. The other hosts become alternative names. If ACM accepts no host as
// common name, ACM refuses the request.
// https://docs.aws.amazon.com/acm/latest/APIReference/API_RequestCertificate.html
func mainDomain(hosts []string) string {
	if i := slices.IndexFunc(hosts, func(host string) bool { return len(host) <= 64 }); i >= 0 {
		return hosts[i]
	}
	return hosts[0]
}

// AddManagedCertificates adds the certificates that are requested or imported for all members to the stack. Members with
// the same imported certificate share it.
func (b *Builder) AddManagedCertificates() {
	if !b.ManageCertificates && !b.ImportCertificates {
		return
	}
	imports := map[string]*model.CertificateImport{}
	for _, m := range b.Members {
		if m.Certificate != nil {
			b.Stack.Certificates = append(b.Stack.Certificates, *m.Certificate)
		}
		for _, c := range m.Imports {
			if known := imports[c.ID]; known != nil {
				known.Uses = append(known.Uses, c.Import.Uses...)
				if known.Content == nil || c.Import.Content != nil && len(c.Import.Claimed) == 0 {
					known.Content, known.Claimed = c.Import.Content, c.Import.Claimed
				}
				continue
			}
			imports[c.ID] = c.Import
			b.Stack.Certificates = append(b.Stack.Certificates, c)
		}
		b.Stack.Held.Certificates = b.Stack.Held.Certificates || m.Undetermined || m.RequestsCertificate && m.Certificate == nil
	}
	slices.SortFunc(b.Stack.Certificates, func(a, b model.ManagedCertificate) int { return cmp.Compare(a.ID, b.ID) })
}

// certificates returns the certificates of a member for the TLS listener of a port. These are the certificates that the
// member names, or else the requested certificate. A member with neither of them uses the certificates of its TLS Secrets,
// held certificates, and certificates in ACM for its other hosts.
func certificates(m *members.Member, port int32) []model.CertChoice {
	if c := m.Set.Certificates; len(c.Value) > 0 {
		return []model.CertChoice{model.CertARNs{Member: m.Ref, ARNs: c.Value, Field: members.FieldForObject(m.Ref, c.Origin)}}
	}
	if c := m.Certificate; c != nil {
		return []model.CertChoice{model.CertManaged{Member: m.Ref, IDs: []string{c.ID}, Field: members.FieldForObject(m.Ref, c.Of)}}
	}
	var out []model.CertChoice
	if len(m.Imports) > 0 {
		own := model.CertManaged{Member: m.Ref, Field: m.Imports[0].Of.Field}
		for _, c := range m.Imports {
			if !slices.Contains(own.IDs, c.ID) {
				own.IDs = append(own.IDs, c.ID)
			}
		}
		out = append(out, own)
	}
	if held := m.HeldCertificates[port]; len(held) > 0 {
		out = append(out, model.CertARNs{Member: m.Ref, ARNs: held, Field: m.HeldField, Live: true})
	}
	found := model.CertHosts{Member: m.Ref}
	for i, h := range m.Hosts {
		if slices.ContainsFunc(m.ImportedNames, func(name string) bool { return plan.DomainCovers(name, h) }) {
			continue
		}
		found.Hosts, found.Fields = append(found.Hosts, h), append(found.Fields, m.HostFields[i])
	}
	if len(found.Hosts) > 0 {
		out = append(out, found)
	}
	return out
}
