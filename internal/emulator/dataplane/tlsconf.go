package dataplane

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// tlsConfig returns the TLS configuration of an HTTPS listener.
func tlsConfig(l Listener, lb lbAttributes) (*tls.Config, error) {
	policy, err := parseSSLPolicy(l.SSLPolicy)
	if err != nil {
		return nil, err
	}
	chooser, err := newCertificateSelector(l.Certificates)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{
		MinVersion:     policy.min,
		MaxVersion:     policy.max,
		CipherSuites:   policy.suites,
		GetCertificate: chooser.choose,
		NextProtos:     []string{"http/1.1"},
	}
	if lb.http2 {
		cfg.NextProtos = []string{"h2", "http/1.1"}
	}
	if l.MutualTLS != nil {
		if err := requestClientCertificates(cfg, *l.MutualTLS); err != nil {
			return nil, err
		}
	}
	return cfg, nil
}

// certificateSelector selects a certificate of a listener for a TLS handshake.
type certificateSelector struct {
	defaultCertificate *tls.Certificate
	candidates         []servingCertificate // the best first
}

type servingCertificate struct {
	pair    *tls.Certificate
	domains []string // in lower case
}

func newCertificateSelector(all []Certificate) (*certificateSelector, error) {
	if len(all) == 0 {
		return nil, errors.New("the listener has no certificate")
	}
	c := &certificateSelector{}
	for _, one := range all {
		pair := one.TLS
		leaf, err := leafCertificate(&pair)
		if err != nil {
			return nil, fmt.Errorf("certificate %s: %w", one.ARN, err)
		}
		if pair.PrivateKey == nil {
			return nil, fmt.Errorf("certificate %s has no private key", one.ARN)
		}
		pair.Leaf = leaf
		domains := slices.Clone(one.Domains)
		if len(domains) == 0 {
			domains = append(domains, leaf.DNSNames...)
			if len(domains) == 0 && leaf.Subject.CommonName != "" {
				domains = append(domains, leaf.Subject.CommonName)
			}
		}
		for i := range domains {
			domains[i] = strings.ToLower(domains[i])
		}
		if c.defaultCertificate == nil {
			c.defaultCertificate = &pair
		}
		c.candidates = append(c.candidates, servingCertificate{pair: &pair, domains: domains})
	}
	slices.SortStableFunc(c.candidates, func(a, b servingCertificate) int { return compareCertificates(a.pair.Leaf, b.pair.Leaf) })
	return c, nil
}

// choose returns the best certificate that covers the server name of the client and has a key type that the client supports.
// If no certificate covers the name, it returns the default certificate.
func (c *certificateSelector) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if name == "" {
		return c.defaultCertificate, nil
	}
	var fallback *tls.Certificate
	for _, one := range c.candidates {
		if !slices.ContainsFunc(one.domains, func(d string) bool { return coversName(d, name) }) {
			continue
		}
		if hello.SupportsCertificate(one.pair) == nil {
			return one.pair, nil
		}
		if fallback == nil {
			fallback = one.pair
		}
	}
	return cmp.Or(fallback, c.defaultCertificate), nil
}

// coversName reports whether a domain name in a certificate covers a host name. The domain may have the wildcard "*" as its
// first label.
func coversName(domain, name string) bool {
	if domain == name {
		return true
	}
	suffix, wild := strings.CutPrefix(domain, "*")
	if !wild || !strings.HasPrefix(suffix, ".") {
		return false
	}
	i := strings.IndexByte(name, '.')
	return i > 0 && name[i:] == suffix
}

// compareCertificates orders certificates by key type, hash algorithm, key length and validity period, the best first.
func compareCertificates(a, b *x509.Certificate) int {
	return cmp.Or(
		cmp.Compare(keyRank(b), keyRank(a)),
		cmp.Compare(hashRank(b), hashRank(a)),
		cmp.Compare(keyBits(b), keyBits(a)),
		cmp.Compare(b.NotAfter.Sub(b.NotBefore), a.NotAfter.Sub(a.NotBefore)),
	)
}

func keyRank(c *x509.Certificate) int {
	if _, ok := c.PublicKey.(*ecdsa.PublicKey); ok {
		return 1
	}
	return 0
}

func hashRank(c *x509.Certificate) int {
	switch c.SignatureAlgorithm {
	case x509.SHA512WithRSA, x509.ECDSAWithSHA512, x509.SHA512WithRSAPSS:
		return 3
	case x509.SHA384WithRSA, x509.ECDSAWithSHA384, x509.SHA384WithRSAPSS:
		return 2
	case x509.SHA256WithRSA, x509.ECDSAWithSHA256, x509.SHA256WithRSAPSS:
		return 1
	}
	return 0
}

func keyBits(c *x509.Certificate) int {
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen()
	case *ecdsa.PublicKey:
		return k.Curve.Params().BitSize
	}
	return 0
}
