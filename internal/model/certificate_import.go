package model

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// CertificateImport is what is imported into ACM from a TLS Secret.
type CertificateImport struct {
	// Secret is namespace and name of the Secret.
	Secret string
	// Uses are the members that name the Secret, each with its field, in group order.
	Uses []finding.Origin
	// Content is what the Secret holds; nil if it cannot be used, so that what was imported last stays.
	Content *CertificateContent
	// Claimed are names that are for hosts of other objects, which came first. Such a certificate is imported only in place
	// of one that has these names already.
	Claimed []ClaimedName
}

// ClaimedName is a name of a certificate, and an object that serves a host with it.
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

// CertificateIdentity is what is public of a certificate. A certificate has one key, so that another key
// is another certificate.
type CertificateIdentity struct {
	Fingerprint string // hash of the certificate and its chain
	Names       []string
	Algorithm   string // of the key, with its size, as ACM names it
	// KeyUsages are the bits of the extension, ExtendedKeyUsages the sorted object identifiers of the other.
	KeyUsages         int
	ExtendedKeyUsages []string
	NotBefore         int64 // seconds since 1970
	NotAfter          int64
}

// clientAuth is the usage that ACM lets an import drop, from one import to the next.
const clientAuth = "1.3.6.1.5.5.7.3.2"

// TakesPlaceOf reports whether ACM imports a certificate in place of another, so that it keeps its ARN: with a
// key of the same type and size, and with all usages that the other one has.
func (c CertificateIdentity) TakesPlaceOf(live CertificateIdentity) bool {
	return c.Algorithm == live.Algorithm && c.KeyUsages&live.KeyUsages == live.KeyUsages &&
		!slices.ContainsFunc(live.ExtendedKeyUsages, func(u string) bool {
			return u != clientAuth && !slices.Contains(c.ExtendedKeyUsages, u)
		})
}
