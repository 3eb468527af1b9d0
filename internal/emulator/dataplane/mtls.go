package dataplane

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Headers that describe the client's certificate to targets.
const (
	headerClientCert         = "X-Amzn-Mtls-Clientcert"
	headerClientCertSerial   = "X-Amzn-Mtls-Clientcert-Serial-Number"
	headerClientCertIssuer   = "X-Amzn-Mtls-Clientcert-Issuer"
	headerClientCertSubject  = "X-Amzn-Mtls-Clientcert-Subject"
	headerClientCertValidity = "X-Amzn-Mtls-Clientcert-Validity"
	headerClientCertLeaf     = "X-Amzn-Mtls-Clientcert-Leaf"
)

var clientCertHeaders = []string{
	headerClientCert, headerClientCertSerial, headerClientCertIssuer,
	headerClientCertSubject, headerClientCertValidity, headerClientCertLeaf,
}

// maxChainDepth is the maximum number of certificates in the chain of a client certificate.
const maxChainDepth = 4

// requestClientCertificates configures TLS handshakes to request a client certificate. In mode Verify, a handshake fails
// without a valid certificate. Sessions are not resumed, so each connection presents a certificate.
func requestClientCertificates(cfg *tls.Config, m MutualTLS) error {
	cfg.SessionTicketsDisabled = true
	switch m.Mode {
	case Passthrough:
		cfg.ClientAuth = tls.RequestClientCert
		return nil
	case Verify:
	default:
		return fmt.Errorf("mutual TLS mode %q is not supported", m.Mode)
	}
	store, err := newTrustStore(m)
	if err != nil {
		return err
	}
	cfg.ClientAuth = tls.RequireAnyClientCert
	if m.AdvertiseCANames {
		cfg.ClientCAs = store.roots
	}
	cfg.VerifyConnection = func(s tls.ConnectionState) error { return store.verify(s.PeerCertificates, time.Now()) }
	return nil
}

// trustStore verifies client certificates.
type trustStore struct {
	roots          *x509.CertPool
	revokedSerials map[string]bool // the key is the issuer (DER) followed by the serial number
	ignoreExpiry   bool
}

func newTrustStore(m MutualTLS) (*trustStore, error) {
	s := &trustStore{roots: x509.NewCertPool(), revokedSerials: map[string]bool{}, ignoreExpiry: m.IgnoreExpiry}
	if !s.roots.AppendCertsFromPEM(m.CABundle) {
		return nil, errors.New("the trust store has no certificate")
	}
	for i, raw := range m.RevocationLists {
		der := raw
		if block, _ := pem.Decode(raw); block != nil {
			der = block.Bytes
		}
		list, err := x509.ParseRevocationList(der)
		if err != nil {
			return nil, fmt.Errorf("revocation list %d: %w", i+1, err)
		}
		for _, e := range list.RevokedCertificateEntries {
			s.revokedSerials[string(list.RawIssuer)+e.SerialNumber.String()] = true
		}
	}
	return s, nil
}

func (s *trustStore) verify(sent []*x509.Certificate, now time.Time) error {
	if len(sent) == 0 {
		return errors.New("no client certificate")
	}
	intermediates := x509.NewCertPool()
	for _, c := range sent[1:] {
		intermediates.AddCert(c)
	}
	if s.ignoreExpiry {
		now = sent[0].NotBefore.Add(sent[0].NotAfter.Sub(sent[0].NotBefore) / 2)
	}
	chains, err := sent[0].Verify(x509.VerifyOptions{
		Roots: s.roots, Intermediates: intermediates, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	for _, chain := range chains {
		if len(chain) <= maxChainDepth && !s.hasRevokedCertificate(chain) {
			return nil
		}
	}
	return errors.New("the client certificate is revoked, or its chain has more than 4 certificates")
}

func (s *trustStore) hasRevokedCertificate(chain []*x509.Certificate) bool {
	for _, c := range chain {
		if s.revokedSerials[string(c.RawIssuer)+c.SerialNumber.String()] {
			return true
		}
	}
	return false
}

// setTLSHeaders sets the request headers that describe the client's TLS connection and certificate. It removes certificate
// headers that the client sent.
func (x *exchange) setTLSHeaders(out http.Header) {
	l := x.route.listener
	for _, name := range clientCertHeaders {
		out.Del(l.attr.requestHeader(name))
	}
	s := x.r.TLS
	if s == nil {
		return
	}
	set := func(name, value string) { out.Set(l.attr.requestHeader(name), value) }
	if x.route.lb.attr.addTLSHeaders {
		set(headerTLSVersion, tlsVersionNames[s.Version])
		set(headerTLSCipher, cipherSuiteNames[s.CipherSuite])
	}
	if l.mutualTLS == nil || len(s.PeerCertificates) == 0 {
		return
	}
	if l.mutualTLS.Mode == Passthrough {
		set(headerClientCert, escapePEM(s.PeerCertificates...))
		return
	}
	leaf := s.PeerCertificates[0]
	set(headerClientCertSerial, strings.ToUpper(leaf.SerialNumber.Text(16)))
	set(headerClientCertIssuer, leaf.Issuer.String())
	set(headerClientCertSubject, leaf.Subject.String())
	set(headerClientCertValidity, "NotBefore="+leaf.NotBefore.UTC().Format(time.RFC3339)+";NotAfter="+leaf.NotAfter.UTC().Format(time.RFC3339))
	set(headerClientCertLeaf, escapePEM(leaf))
}

// escapePEM returns certificates in PEM format, percent-encoded except for the characters + = /.
func escapePEM(certs ...*x509.Certificate) string {
	var text bytes.Buffer
	for _, c := range certs {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // a buffer never fails
	}
	escaped := url.PathEscape(text.String())
	return strings.NewReplacer("%2F", "/", "%2B", "+", "%3D", "=").Replace(escaped)
}
