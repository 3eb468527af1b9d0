package model

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// CertificateImport describes the import of a certificate into ACM from a TLS Secret.
type CertificateImport struct {
	// Secret is the name of the Secret as "namespace/name".
	Secret string
	// Uses are the members that name the Secret, each with its field, in the order of the members of the stack.
	Uses []finding.Origin
	// Content is the certificate in the Secret; nil if the certificate cannot be used, so that the certificate that was
	// imported last stays.
	Content *CertificateContent
	// Claimed are those DNS names of the certificate that cover hosts which other objects claimed earlier. A certificate
	// with such names is imported only if it replaces a certificate that already has these names.
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

// CertificateIdentity has the public properties of a certificate. They also identify its private key, because a certificate
// belongs to exactly one private key.
type CertificateIdentity struct {
	Fingerprint string // hash of the certificate and its chain
	Names       []string
	Algorithm   string // algorithm and size of the key, as ACM names them
	// KeyUsages are the bits of the extension KeyUsage. ExtendedKeyUsages are the object identifiers of the extension
	// ExtendedKeyUsage, sorted.
	KeyUsages         int
	ExtendedKeyUsages []string
	NotBefore         int64 // Unix time in seconds
	NotAfter          int64
}

// clientAuthUsage is the object identifier of the extended key usage for TLS client authentication. A certificate may lack
// it even if the certificate that it replaces has it.
const clientAuthUsage = "1.3.6.1.5.5.7.3.2"

// CanReplace reports whether ACM permits importing certificate c under the ARN of certificate live. Both keys must have the
// same type and size, and c must have all key usages of live except TLS client authentication.
func (c CertificateIdentity) CanReplace(live CertificateIdentity) bool {
	return c.Algorithm == live.Algorithm && c.KeyUsages&live.KeyUsages == live.KeyUsages &&
		!slices.ContainsFunc(live.ExtendedKeyUsages, func(u string) bool {
			return u != clientAuthUsage && !slices.Contains(c.ExtendedKeyUsages, u)
		})
}
