package dataplane

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func pemOf(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// dialTLS performs a TLS handshake with the first listener and returns the state of the connection.
func dialTLS(t *testing.T, p *Plane, cfg *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	cfg.InsecureSkipVerify = true
	conn, err := tls.Dial("tcp", firstListenerAddress(t, p), cfg)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState(), nil
}

func httpsListener(ca *issuer, t *testing.T) Listener {
	return Listener{
		Port: 443, Protocol: HTTPS, Certificates: []Certificate{{ARN: "default", TLS: ca.issue(t, 0, "default.org")}},
		DefaultRule: Rule{Action: forwardTo("g")},
	}
}

// httpsClient returns a client that uses only HTTP/2 or only HTTP/1.1. certs are its client certificates.
func httpsClient(t *testing.T, http2 bool, certs ...tls.Certificate) *http.Client {
	t.Helper()
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	tr := &http.Transport{
		Protocols:       &protocols,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certs},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: conditionTimeout, CheckRedirect: client.CheckRedirect}
}

func TestCertificateBySNI(t *testing.T) {
	ca := newIssuer(t)
	p := startPlane(t)
	l := httpsListener(ca, t)
	l.DefaultRule = Rule{Action: FixedResponse{Status: 200}}
	l.Certificates = append(l.Certificates,
		Certificate{TLS: ca.issue(t, 2048, "rsa.example.com", "both.example.com")},
		Certificate{TLS: ca.issue(t, 0, "*.example.com", "both.example.com")},
	)
	apply(t, p, albConfig(l))
	for name, want := range map[string]string{
		"":                 "default.org",
		"unknown.org":      "default.org",
		"www.example.com":  "*.example.com",
		"WWW.Example.com":  "*.example.com",
		"a.b.example.com":  "default.org",
		"both.example.com": "*.example.com",
		"rsa.example.com":  "*.example.com", // the wildcard certificate also matches and has the better key
		"example.com":      "default.org",
	} {
		s, err := dialTLS(t, p, &tls.Config{ServerName: name})
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if got := s.PeerCertificates[0].Subject.CommonName; got != want {
			t.Errorf("%q: want %s, got %s", name, want, got)
		}
	}
	s, err := dialTLS(t, p, &tls.Config{ServerName: "rsa.example.com", MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.PeerCertificates[0].Subject.CommonName; got != "rsa.example.com" {
		t.Errorf("a client without ECDSA got %s", got)
	}
}

func TestPolicyFollowsApply(t *testing.T) {
	ca := newIssuer(t)
	p := startPlane(t)
	l := httpsListener(ca, t)
	l.DefaultRule = Rule{Action: FixedResponse{Status: 200}}
	cfg := albConfig(l)
	for _, c := range []struct {
		policy string
		want   uint16
	}{
		{"", tls.VersionTLS12}, {"ELBSecurityPolicy-TLS13-1-2-2021-06", tls.VersionTLS13}, {"ELBSecurityPolicy-TLS13-1-3-2021-06", tls.VersionTLS13},
	} {
		policy, want := c.policy, c.want
		cfg.LoadBalancers[0].Listeners[0].SSLPolicy = policy
		apply(t, p, cfg)
		s, err := dialTLS(t, p, &tls.Config{NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		if s.Version != want || s.NegotiatedProtocol != "h2" {
			t.Errorf("%q: version %x, protocol %s", policy, s.Version, s.NegotiatedProtocol)
		}
	}
	if _, err := dialTLS(t, p, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	cfg.LoadBalancers[0].Attributes = map[string]string{"routing.http2.enabled": "false"}
	apply(t, p, cfg)
	s, err := dialTLS(t, p, &tls.Config{NextProtos: []string{"h2", "http/1.1"}})
	if err != nil || s.NegotiatedProtocol != "http/1.1" {
		t.Errorf("HTTP/2 switched off: %v, protocol %s", err, s.NegotiatedProtocol)
	}
}

func TestEveryPolicyNameIsKnown(t *testing.T) {
	names := strings.Fields(`TLS13-1-3-2021-06 TLS13-1-2-2021-06 TLS13-1-2-Res-2021-06 TLS13-1-2-Ext1-2021-06
		TLS13-1-2-Ext2-2021-06 TLS13-1-1-2021-06 TLS13-1-0-2021-06 TLS13-1-3-FIPS-2023-04 TLS13-1-2-Ext0-FIPS-2023-04
		TLS13-1-0-FIPS-2023-04 TLS13-1-3-PQ-2025-09 TLS13-1-2-Ext2-FIPS-PQ-2025-09 FS-1-2-Res-2020-10 FS-1-2-Res-2019-08
		FS-1-2-2019-08 FS-1-1-2019-08 FS-2018-06 TLS-1-2-Ext-2018-06 TLS-1-2-2017-01 TLS-1-1-2017-01 2016-08
		TLS-1-0-2015-04 2015-05`)
	type versions struct{ Min, Max uint16 }
	got := map[string]versions{}
	for _, n := range names {
		p, err := parseSSLPolicy("ELBSecurityPolicy-" + n)
		if err != nil {
			t.Errorf("%s: %v", n, err)
			continue
		}
		got[n] = versions{p.min, p.max}
	}
	for n, want := range map[string]versions{
		"2016-08":           {tls.VersionTLS10, tls.VersionTLS12},
		"FS-2018-06":        {tls.VersionTLS10, tls.VersionTLS12},
		"TLS-1-0-2015-04":   {tls.VersionTLS10, tls.VersionTLS12},
		"FS-1-1-2019-08":    {tls.VersionTLS11, tls.VersionTLS12},
		"TLS-1-2-2017-01":   {tls.VersionTLS12, tls.VersionTLS12},
		"TLS13-1-0-2021-06": {tls.VersionTLS10, tls.VersionTLS13},
		"TLS13-1-3-2021-06": {tls.VersionTLS13, tls.VersionTLS13},
	} {
		if diff := cmp.Diff(want, got[n]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", n, diff)
		}
	}
	if _, err := parseSSLPolicy("ELBSecurityPolicy-Nonsense"); err == nil {
		t.Error("an unknown policy was accepted")
	}
}

func TestHTTPSForwarding(t *testing.T) {
	ca := newIssuer(t)
	b := startBackend(t, "b")
	p := startPlane(t)
	cfg := albConfig(httpsListener(ca, t), targetGroupOf("g", b))
	cfg.LoadBalancers[0].Attributes = map[string]string{"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "true"}
	cfg.LoadBalancers[0].Listeners[0].SSLPolicy = "ELBSecurityPolicy-TLS13-1-2-2021-06"
	apply(t, p, cfg)
	for _, http2 := range []bool{false, true} {
		got := send(t, httpsClient(t, http2), newTestRequest(t, http.MethodGet, "https://"+firstListenerAddress(t, p)+"/x", nil))
		e := got.parseEcho(t)
		if e.Proto != "HTTP/1.1" || e.Header.Get("X-Forwarded-Proto") != "https" || e.Header.Get("X-Forwarded-Port") != "443" ||
			e.Header.Get("X-Amzn-Tls-Version") != "TLSv1.3" || e.Header.Get("X-Amzn-Tls-Cipher-Suite") == "" {
			t.Errorf("over %s: %+v", got.Proto, e)
		}
	}
	plain := sendRaw(t, firstListenerAddress(t, p), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(plain, "HTTP/1.1 400 ") || !strings.Contains(plain, "awselb/2.0") {
		t.Errorf("plain HTTP on a TLS port: %q", plain)
	}
}

func TestMutualTLS(t *testing.T) {
	ca, stranger := newIssuer(t), newIssuer(t)
	mine, revoked := ca.issue(t, 0, "client"), ca.issue(t, 0, "revoked")
	leaf, err := x509.ParseCertificate(revoked.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	crl, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: time.Now(), NextUpdate: time.Now().Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: leaf.SerialNumber, RevocationTime: time.Now()}},
	}, ca.cert, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	b := startBackend(t, "b")
	p := startPlane(t)
	l := httpsListener(ca, t)
	l.MutualTLS = &MutualTLS{Mode: Verify, CABundle: pemOf(ca.cert), RevocationLists: [][]byte{crl}}
	cfg := albConfig(l, targetGroupOf("g", b))
	apply(t, p, cfg)

	ask := func(certs ...tls.Certificate) (echoResponse, error) {
		req := newTestRequest(t, http.MethodGet, "https://"+firstListenerAddress(t, p)+"/", nil)
		req.Header.Set("X-Amzn-Mtls-Clientcert-Subject", "forged")
		resp, err := httpsClient(t, false, certs...).Do(req)
		if err != nil {
			return echoResponse{}, err
		}
		_ = resp.Body.Close()
		return send(t, httpsClient(t, false, certs...), req).parseEcho(t), nil
	}
	if _, err := ask(); err == nil {
		t.Error("no certificate was accepted")
	}
	if _, err := ask(stranger.issue(t, 0, "client")); err == nil {
		t.Error("a certificate of another issuer was accepted")
	}
	if _, err := ask(revoked); err == nil {
		t.Error("a revoked certificate was accepted")
	}
	e, err := ask(mine)
	if err != nil {
		t.Fatal(err)
	}
	if e.Header.Get("X-Amzn-Mtls-Clientcert-Subject") != "CN=client" || e.Header.Get("X-Amzn-Mtls-Clientcert-Issuer") != "CN=test issuer" ||
		e.Header.Get("X-Amzn-Mtls-Clientcert-Serial-Number") == "" || !strings.HasPrefix(e.Header.Get("X-Amzn-Mtls-Clientcert-Leaf"), "-----BEGIN%20CERTIFICATE-----%0A") ||
		!strings.HasPrefix(e.Header.Get("X-Amzn-Mtls-Clientcert-Validity"), "NotBefore=") {
		t.Errorf("headers: %v", e.Header)
	}

	cfg.LoadBalancers[0].Listeners[0].MutualTLS = &MutualTLS{Mode: Passthrough}
	apply(t, p, cfg)
	e, err = ask(stranger.issue(t, 0, "anybody"))
	if err != nil || e.Header.Get("X-Amzn-Mtls-Clientcert") == "" {
		t.Errorf("passthrough: %v %v", err, e.Header)
	}
	e, err = ask()
	if err != nil || e.Header.Get("X-Amzn-Mtls-Clientcert-Subject") != "" {
		t.Errorf("passthrough without certificate: %v %v", err, e.Header)
	}
}
