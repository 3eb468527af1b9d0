package harness

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
)

// importCertificates imports one certificate for each domain and its wildcard name. The ARNs have the same order as the
// domains, because the selection of a certificate may depend on the order.
func (s *seeder) importCertificates(ctx context.Context) error {
	client := acm.NewFromConfig(s.cfg)
	before := ""
	for _, domain := range []string{"example.com", "app.test"} {
		cert, key, err := selfSigned(domain, "*."+domain)
		if err != nil {
			return err
		}
		// ARNs are random. Import the certificate again until its ARN is greater than the previous one.
		for range 64 {
			out, err := client.ImportCertificate(ctx, &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key})
			if err != nil {
				return fmt.Errorf("%s: %w", domain, err)
			}
			arn := aws.ToString(out.CertificateArn)
			if arn > before && (before != "" || isLowARN(arn)) {
				s.out.Certs[domain] = arn
				before = arn
				break
			}
			if _, err := client.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: out.CertificateArn}); err != nil {
				return fmt.Errorf("%s: %w", domain, err)
			}
		}
		if s.out.Certs[domain] == "" {
			return fmt.Errorf("%s: no ARN of the certificate sorts after the previous ARN", domain)
		}
	}
	return nil
}

// isLowARN reports whether the random part of an ARN is in the lower half of its range. After such an ARN, the next one is
// probably greater.
func isLowARN(arn string) bool {
	const uuid = 36
	return len(arn) > uuid && arn[len(arn)-uuid] < '8'
}

// selfSigned returns a self-signed certificate for the given DNS names and its private key, both in PEM form. It is
// valid for ten years.
func selfSigned(names ...string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
