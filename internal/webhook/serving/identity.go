package serving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// maxAuthorities is the maximum number of CAs in a bundle. Without a maximum, each failed replacement of the certificate
// could enlarge the bundle.
const maxAuthorities = 4

// servingCertificate is a serving certificate with its key, and the CAs that clients have to trust. All fields are in PEM
// format.
type servingCertificate struct{ CA, Cert, Key []byte }

// newServingCertificate creates a CA and a certificate for the host names. Valid CAs of the bundle previous are also
// included in the new bundle, because replicas serve the previous certificate until they read the new certificate.
func newServingCertificate(names []string, previous []byte, now time.Time) (servingCertificate, error) {
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: "fulcrum-webhook-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	leaf := &x509.Certificate{
		Subject: pkix.Name{CommonName: "fulcrum-webhook"}, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, c := range []*x509.Certificate{ca, leaf} {
		serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
		if err != nil {
			return servingCertificate{}, fmt.Errorf("serial number: %w", err)
		}
		c.SerialNumber, c.NotBefore, c.NotAfter = serial, now.Add(-durations.EventRetention), now.Add(durations.CertificateLifetime)
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return servingCertificate{}, fmt.Errorf("key of the CA: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return servingCertificate{}, fmt.Errorf("key: %w", err)
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return servingCertificate{}, fmt.Errorf("sign the CA: %w", err)
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return servingCertificate{}, fmt.Errorf("read the CA: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return servingCertificate{}, fmt.Errorf("sign the certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return servingCertificate{}, fmt.Errorf("encode the key: %w", err)
	}
	bundle := encodePEM("CERTIFICATE", caDER)
	for i, old := range parseCACertificates(previous) {
		if i+1 < maxAuthorities && old.NotAfter.After(now) {
			bundle = append(bundle, encodePEM("CERTIFICATE", old.Raw)...)
		}
	}
	return servingCertificate{CA: bundle, Cert: encodePEM("CERTIFICATE", der), Key: encodePEM("PRIVATE KEY", keyDER)}, nil
}

// encodePEM returns DER as PEM.
func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// parseCACertificates returns the certificates of a PEM bundle. It skips certificates that cannot be parsed.
func parseCACertificates(bundle []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return out
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
}

// parse returns the certificate with its key. It fails if the key does not belong to the certificate.
func (i servingCertificate) parse() (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(i.Cert, i.Key)
	return &c, err
}

// isUsable reports whether a certificate covers the names, does not expire soon, and is signed by a CA of the bundle.
func (i servingCertificate) isUsable(c *tls.Certificate, names []string, now time.Time) bool {
	// A certificate is replaced when less than a third of its lifetime remains.
	if c.Leaf.NotAfter.Sub(now) < durations.CertificateLifetime/3 || now.Before(c.Leaf.NotBefore) {
		return false
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(i.CA)
	for _, n := range names {
		if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: n, CurrentTime: now}); err != nil {
			return false
		}
	}
	return true
}
