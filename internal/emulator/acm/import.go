package acm

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	quotaImports = "imported-certificates-per-year"
	year         = 365 * 24 * time.Hour

	// The maximum lengths of imported values in bytes, from AWS's service model.
	maxCertificateBytes = 32768
	maxKeyBytes         = 5120
	maxChainBytes       = 2097152
)

// ImportCertificate imports a certificate with its private key. It creates a new certificate, or replaces the imported
// certificate in.CertificateArn.
func (s *Service) ImportCertificate(c *store.Call, in *acm.ImportCertificateInput) (*acm.ImportCertificateOutput, error) {
	p := c.Partition
	if err := checkImport(in); err != nil {
		return nil, err
	}
	parsed, err := parseImport(in.Certificate, in.PrivateKey, in.CertificateChain)
	if err != nil {
		return nil, validationError(store.UnprovenSource, "The certificate cannot be imported: %v", err)
	}
	if c.Now.Before(parsed.NotBefore) || c.Now.After(parsed.NotAfter) {
		return nil, validationError(store.UnprovenSource, "The certificate is not valid now: it is valid from %s to %s", parsed.NotBefore, parsed.NotAfter)
	}
	if in.CertificateArn != nil {
		have, err := findCertificate(p, in.CertificateArn)
		if err != nil {
			return nil, err
		}
		if err := checkReimport(have, parsed, in); err != nil {
			return nil, err
		}
		if err := s.countImport(p, c.Now); err != nil {
			return nil, err
		}
		parsed.ARN, parsed.Created, parsed.Imported, parsed.Issued, parsed.Tags = have.ARN, have.Created, c.Now, time.Time{}, have.Tags
		*have = *parsed
		return &acm.ImportCertificateOutput{CertificateArn: new(have.ARN)}, nil
	}
	if parsed.Tags, err = mergeTags(nil, in.Tags); err != nil {
		return nil, err
	}
	if err := s.checkQuota(p); err != nil {
		return nil, err
	}
	if err := s.countImport(p, c.Now); err != nil {
		return nil, err
	}
	parsed.ARN = p.ARN("acm", "certificate/"+s.store.RandomUUID())
	parsed.Created, parsed.Imported = c.Now, c.Now
	p.ACM.Certificates[parsed.ARN] = parsed
	return &acm.ImportCertificateOutput{CertificateArn: new(parsed.ARN)}, nil
}

// countImport counts an import at time now. It returns an error if the quota of imports within 365 days is used up. AWS
// does not document whether the quota includes imports that replace a certificate; in the emulator, it does.
func (s *Service) countImport(p *store.Partition, now time.Time) error {
	p.ACM.Imports = slices.DeleteFunc(p.ACM.Imports, func(t time.Time) bool { return now.Sub(t) >= year })
	if len(p.ACM.Imports) >= s.store.Quota(quotaImports, 5000) {
		return store.Errorf(store.DocumentSource("acm-import-troubleshooting"), "LimitExceededException",
			"You have reached the maximum number of certificates. Delete certificates that are not in use, or contact AWS Support to request an increase.")
	}
	p.ACM.Imports = append(p.ACM.Imports, now)
	return nil
}

// checkImport checks the lengths of the values, that the certificate field contains exactly one certificate, and that each
// certificate of the chain has signed the previous certificate. A certificate without a chain must be self-signed.
func checkImport(in *acm.ImportCertificateInput) error {
	for _, x := range []struct {
		name  string
		blob  []byte
		limit int
	}{{"certificate", in.Certificate, maxCertificateBytes}, {"privateKey", in.PrivateKey, maxKeyBytes}, {"certificateChain", in.CertificateChain, maxChainBytes}} {
		if len(x.blob) > x.limit {
			return validationError(store.UnprovenSource, "1 validation error detected: Value at '%s' failed to satisfy constraint: Member must have length less than or equal to %d", x.name, x.limit)
		}
	}
	body, other := parseCertificates(in.Certificate)
	switch {
	case len(body) == 0 || other:
		return validationError(store.UnprovenSource, "The certificate field contains no certificate in PEM format")
	case len(body) > 1:
		return validationError(store.ReportSource("aws/aws-cli#6569"), "The certificate field contains more than one certificate. You can specify only one certificate in this field.")
	}
	chain, other := parseCertificates(in.CertificateChain)
	switch {
	case other:
		return validationError(store.UnprovenSource, "The certificate chain is not in PEM format")
	case len(chain) == 0 && !bytes.Equal(body[0].RawIssuer, body[0].RawSubject):
		return validationError(store.UnprovenSource, "Provided certificate is not a valid self signed. Please provide either a valid self-signed certificate or certificate chain.")
	}
	for last := body[0]; len(chain) > 0; last, chain = chain[0], chain[1:] {
		if last.CheckSignatureFrom(chain[0]) != nil {
			return validationError(store.ReportSource("go-acme/lego#1506"), "Could not validate the certificate with the certificate chain.")
		}
	}
	if body[0].Issuer.String() == "" {
		return validationError(store.UnprovenSource, "The Issuer field of the certificate must not be empty")
	}
	return nil
}

// parseCertificates returns the certificates in a PEM text, up to the first block that is not a certificate. other reports
// whether the text contains anything else.
func parseCertificates(text []byte) (out []*x509.Certificate, other bool) {
	for {
		block, after := pem.Decode(text)
		if block == nil {
			return out, len(bytes.TrimSpace(text)) > 0
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return out, true
		}
		out, text = append(out, c), after
	}
}

// checkReimport returns an error if AWS does not let certificate next replace certificate have.
func checkReimport(have, next *store.Certificate, in *acm.ImportCertificateInput) error {
	if have.Type != types.CertificateTypeImported {
		return validationError(store.UnprovenSource, "The certificate %s was not imported", have.ARN)
	}
	if len(in.Tags) > 0 {
		return validationError(store.ReportSource("hashicorp/terraform-provider-aws#15055"), "Tagging is not permitted on re-import.")
	}
	if have.Algorithm != next.Algorithm {
		return validationError(store.UnprovenSource, "The key type and size cannot be changed: the certificate has %s", have.Algorithm)
	}
	if len(have.Names) > 0 && len(next.Names) == 0 {
		return validationError(store.UnprovenSource, "You cannot remove all of the domain names from a certificate")
	}
	previous, _ := parseCertificates([]byte(have.CertificatePEM))
	replacement, _ := parseCertificates([]byte(next.CertificatePEM))
	if len(previous) == 0 || len(replacement) == 0 {
		return nil
	}
	usageRemoved := previous[0].KeyUsage&^replacement[0].KeyUsage != 0
	usages := extendedUsages(replacement[0])
	for _, u := range extendedUsages(previous[0]) {
		usageRemoved = usageRemoved || !slices.ContainsFunc(usages, u.Equal) && !u.Equal(clientAuthUsage)
	}
	if usageRemoved {
		return validationError(store.UnprovenSource, "You cannot remove existing values of Key Usage or Extended Key Usage extensions")
	}
	return nil
}

var (
	extendedKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}
	// clientAuthUsage is the extended key usage for TLS clients. A certificate may lack it although the certificate that it
	// replaces has it, because public certificate authorities no longer issue it.
	clientAuthUsage = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 2}
)

// extendedUsages returns the values of the Extended Key Usage extension of certificate c, or nil if the extension is absent
// or invalid.
func extendedUsages(c *x509.Certificate) (out []asn1.ObjectIdentifier) {
	for _, e := range c.Extensions {
		if e.Id.Equal(extendedKeyUsage) {
			if _, err := asn1.Unmarshal(e.Value, &out); err != nil {
				return nil
			}
		}
	}
	return out
}
