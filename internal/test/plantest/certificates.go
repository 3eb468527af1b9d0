package plantest

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// applyCertificate changes the facts as AWS would for a step that changes a certificate or its DNS records. A private
// certificate is issued immediately, a public certificate when its last DNS record is created.
func (s *simulation) applyCertificate(st plan.Step) {
	all := slices.Clone(s.have.Facts.OwnCertificates)
	switch do := st.Do.(type) {
	case plan.RequestCertificate:
		arn := st.Address.String()
		for slices.ContainsFunc(all, func(c observed.OwnCertificate) bool { return c.ARN == arn }) {
			arn += "'"
		}
		c := observed.OwnCertificate{ARN: arn, ResourceID: st.Address.ID, Domains: do.Hosts, Status: observed.CertificateIssued, Public: do.CA == ""}
		if c.Public {
			c.Status, c.Records = observed.CertificatePendingValidation, ValidationRecords(do.Hosts)
		}
		all = append(all, c)
	case plan.ImportCertificate:
		c := observed.OwnCertificate{ARN: do.ARN, ResourceID: st.Address.ID, Status: observed.CertificateIssued, Domains: do.Content.Is.Names, ImportedIdentity: &do.Content.Is}
		if c.ARN == "" {
			c.ARN = st.Address.String() + " " + do.Content.Is.Fingerprint
		}
		all = append(slices.DeleteFunc(all, func(o observed.OwnCertificate) bool { return o.ARN == c.ARN }), c)
	case plan.CreateRecord:
		for i := range all {
			validateRecord(&all[i], do)
		}
	case plan.DeleteCertificate:
		if UsesCertificate(s.have, do.ARN) {
			panic("simulate: " + do.ARN + " is in use")
		}
		all = slices.DeleteFunc(all, func(c observed.OwnCertificate) bool { return c.ARN == do.ARN })
	case plan.DeleteRecord:
		if UsesCertificate(s.have, do.Certificate) {
			panic("simulate: the certificate of " + do.Name + " is in use")
		}
	}
	s.have.Facts.OwnCertificates = all
}

// validateRecord sets SeenByACM of the DNS record that a step creates, and issues the certificate after its last record.
func validateRecord(c *observed.OwnCertificate, do plan.CreateRecord) {
	if c.Status != observed.CertificatePendingValidation {
		return
	}
	c.Records = slices.Clone(c.Records)
	seen := !c.RecordsMissing
	for i := range c.Records {
		r := &c.Records[i]
		r.SeenByACM = r.SeenByACM || r.Name == do.Name && r.Value == do.Value
		seen = seen && r.SeenByACM
	}
	if seen {
		c.Status, c.Records = observed.CertificateIssued, nil
	}
}

// ValidationRecords returns the DNS records that validate certificates for domains. As in ACM, all certificates of a
// domain have the same record.
func ValidationRecords(domains []string) (out []observed.DNSRecord) {
	for _, d := range domains {
		d = strings.TrimPrefix(strings.ToLower(d), "*.")
		out = append(out, observed.DNSRecord{Domain: d, Name: "_name." + d + ".", Value: "_value." + d + "."})
	}
	return out
}

// UsesCertificate reports whether a listener in have uses the certificate with an ARN.
func UsesCertificate(have observed.Stack, arn string) bool {
	for _, lb := range have.LoadBalancers {
		for _, l := range lb.Listeners {
			if l.HasCertificate(arn) {
				return true
			}
		}
	}
	return false
}
