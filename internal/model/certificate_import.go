package model

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// CertificateImport describes the import of a certificate into ACM from a TLS Secret.
type CertificateImport struct {
	// Secret is the Secret as namespace/name.
	Secret string
	// Uses are the members that name the Secret, each with its field, in the order of the members of the stack.
	Uses []finding.Origin
	// Content is the certificate in the Secret; nil if it cannot be used, so that the certificate that was imported last
	// stays.
	Content *CertificateContent
	// Claimed are the DNS names of the certificate for hosts that other objects claimed earlier. A certificate with such
	// names is imported only if it replaces a certificate that already has these names.
	Claimed []ClaimedName
}

// ClaimedName is a DNS name of a certificate, with a host that it covers and the object that claims this host.
type ClaimedName struct {
	Name, Host string
	By         finding.Ref
}

// Members returns the members that name the Secret, in the order of the members of the stack.
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

// CertificateIdentity has the public properties of a certificate. They also identify the private key, because a certificate
// belongs to exactly one key.
type CertificateIdentity struct {
	Fingerprint string // hash of the certificate and its chain
	Names       []string
	Algorithm   string // algorithm and size of the key, as ACM names them
	// KeyUsages are the bits of the extension KeyUsage, ExtendedKeyUsages the sorted object identifiers of the extension
	// ExtendedKeyUsage.
	KeyUsages         int
	ExtendedKeyUsages []string
	NotBefore         int64 // Unix time in seconds
	NotAfter          int64
}

// clientAuthUsage is the extended key usage (TLS client authentication) that a certificate may lack although the certificate
// that it replaces has it.
const clientAuthUsage = "1.3.6.1.5.5.7.3.2"

// CanReplace reports whether ACM permits to import the certificate under the ARN of another one: its key must have the same
// type and size, and it must have all key usages of the other one.
func (c CertificateIdentity) CanReplace(live CertificateIdentity) bool {
	return c.Algorithm == live.Algorithm && c.KeyUsages&live.KeyUsages == live.KeyUsages &&
		!slices.ContainsFunc(live.ExtendedKeyUsages, func(u string) bool {
			return u != clientAuthUsage && !slices.Contains(c.ExtendedKeyUsages, u)
		})
}
