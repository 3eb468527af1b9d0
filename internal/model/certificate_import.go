package model

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// CertificateImport is the import of a certificate into ACM from a TLS Secret.
type CertificateImport struct {
	// Secret is namespace and name of the Secret.
	Secret string
	// Uses are the members that name the Secret, each with its field, in group order.
	Uses []finding.Origin
	// Content is the certificate in the Secret; nil if it cannot be used, so that the one that was imported last stays.
	Content *CertificateContent
	// Claimed are DNS names of the certificate for hosts that other objects claimed earlier. A certificate with such names
	// is imported only in place of a certificate that already has these names.
	Claimed []ClaimedName
}

// ClaimedName is a DNS name of a certificate, with an object that claims a host which the name covers.
type ClaimedName struct {
	Name, Host string
	By         finding.Ref
}

// Members returns the members that name the Secret, in group order.
func (c CertificateImport) Members() []finding.Ref {
	var out []finding.Ref
	for _, u := range c.Uses {
		if !slices.Contains(out, u.Object) {
			out = append(out, u.Object)
		}
	}
	return out
}

// CertificateContent is a certificate with its private key.
type CertificateContent struct {
	Body, Chain string // PEM
	Key         Secret // PEM
	Is          CertificateIdentity
}

// CertificateIdentity are the public properties of a certificate. They also identify the private key, because a certificate
// belongs to exactly one key.
type CertificateIdentity struct {
	Fingerprint string // hash of the certificate and its chain
	Names       []string
	Algorithm   string // of the key, with its size, as ACM names it
	// KeyUsages are the bits of the extension KeyUsage, ExtendedKeyUsages the sorted object identifiers of the extension
	// ExtendedKeyUsage.
	KeyUsages         int
	ExtendedKeyUsages []string
	NotBefore         int64 // seconds since 1970
	NotAfter          int64
}

// clientAuthUsage is the extended key usage that an import into ACM may lack although the previous certificate had it.
const clientAuthUsage = "1.3.6.1.5.5.7.3.2"

// CanReplace reports whether ACM permits to import a certificate under the ARN of another one: whether its key has the
// same type and size, and it has all usages of the other one.
func (c CertificateIdentity) CanReplace(live CertificateIdentity) bool {
	return c.Algorithm == live.Algorithm && c.KeyUsages&live.KeyUsages == live.KeyUsages &&
		!slices.ContainsFunc(live.ExtendedKeyUsages, func(u string) bool {
			return u != clientAuthUsage && !slices.Contains(c.ExtendedKeyUsages, u)
		})
}
