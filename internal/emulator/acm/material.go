package acm

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// parseImport returns the certificate that the PEM texts of an import describe. It returns an error if the private key does
// not belong to the certificate.
func parseImport(certificate, key, chain []byte) (*store.Certificate, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate and the private key cannot be used: %w", err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be read: %w", err)
	}
	algorithm, err := algorithmOf(leaf.PublicKey)
	if err != nil {
		return nil, err
	}
	out := &store.Certificate{
		Domain: leaf.Subject.CommonName, Type: types.CertificateTypeImported, Status: types.CertificateStatusIssued,
		Algorithm: algorithm, Signature: strings.ReplaceAll(leaf.SignatureAlgorithm.String(), "-", "WITH"),
		Issuer: leaf.Issuer.CommonName, Subject: leaf.Subject.String(), Serial: formatSerial(fmt.Sprintf("%032x", leaf.SerialNumber)),
		NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		CertificatePEM: string(certificate), ChainPEM: string(chain), KeyPEM: string(key),
	}
	out.Names = slices.Clone(leaf.DNSNames)
	if out.Domain == "" && len(out.Names) > 0 {
		out.Domain = out.Names[0]
	}
	if out.Domain != "" && !slices.Contains(out.Names, out.Domain) {
		out.Names = append([]string{out.Domain}, out.Names...)
	}
	return out, nil
}

// algorithmOf returns ACM's name of the type and size of a public key, such as "RSA_2048". It returns an error for a key
// that ACM does not support.
func algorithmOf(key any) (types.KeyAlgorithm, error) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		name := types.KeyAlgorithm(fmt.Sprintf("RSA_%d", k.N.BitLen()))
		if slices.Contains(name.Values(), name) {
			return name, nil
		}
		return "", fmt.Errorf("RSA keys of %d bits are not supported", k.N.BitLen())
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return types.KeyAlgorithmEcPrime256v1, nil
		case elliptic.P384():
			return types.KeyAlgorithmEcSecp384r1, nil
		case elliptic.P521():
			return types.KeyAlgorithmEcSecp521r1, nil
		}
	}
	return "", errors.New("the type of the key is not supported")
}

// GenerateContent generates the key and the self-signed certificate of a requested certificate, and stores them as PEM in
// c, unless c already has them. Callers call it only when they need the key or the certificate, because generating an RSA
// key is slow.
func GenerateContent(c *store.Certificate) error {
	if c.CertificatePEM != "" {
		return nil
	}
	key, err := newKey(c.Algorithm)
	if err != nil {
		return err
	}
	number, ok := new(big.Int).SetString(strings.ReplaceAll(c.Serial, ":", ""), 16)
	if !ok {
		return fmt.Errorf("invalid serial number %q of certificate %s", c.Serial, c.ARN)
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: c.Domain}, DNSNames: c.Names,
		NotBefore: c.NotBefore, NotAfter: c.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("issue certificate %s: %w", c.ARN, err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("issue certificate %s: %w", c.ARN, err)
	}
	c.CertificatePEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	c.KeyPEM = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
	return nil
}

func newKey(algorithm types.KeyAlgorithm) (crypto.Signer, error) {
	switch algorithm {
	case types.KeyAlgorithmRsa3072:
		return rsa.GenerateKey(rand.Reader, 3072)
	case types.KeyAlgorithmRsa4096:
		return rsa.GenerateKey(rand.Reader, 4096)
	case types.KeyAlgorithmEcPrime256v1:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case types.KeyAlgorithmEcSecp384r1:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case types.KeyAlgorithmEcSecp521r1:
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	}
	return rsa.GenerateKey(rand.Reader, 2048)
}
